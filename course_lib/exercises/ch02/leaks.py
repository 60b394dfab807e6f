"""A gradient test that finds leaks."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal
from course_lib.layers.masks import causal_mask
from course_lib.layers.multi_head_attention import attention


class Causal:
    """Causal self-attention."""

    def __call__(self, x: Tensor) -> Tensor:
        return attention(x, x, x, causal_mask(len(x)))[0]


class MaskedAfterSoftmax:
    """Self-attention that is masked after the softmax, too late."""

    def __call__(self, x: Tensor) -> Tensor:
        return attention(x, x, x)[1].masked_fill(~causal_mask(len(x)), 0.0) @ x


class EachAlone:
    """A layer that does not mix tokens."""

    def __call__(self, x: Tensor) -> Tensor:
        return x.sin()


class NextOnly:
    """Layer whose output is the first feature of the next token; the last token keeps its own."""

    def __call__(self, x: Tensor) -> Tensor:
        return torch.cat([x[1:, :1], x[-1:, :1]])


class BothSides:
    """Layer whose second output feature mixes the difference in the previous token with the next one."""

    def __call__(self, x: Tensor) -> Tensor:
        before = torch.cat([torch.zeros_like(x[:1]), x[:-1]])
        after = torch.cat([x[1:], torch.zeros_like(x[:1])])
        return torch.stack([x[:, 0], before[:, 0] - before[:, 1] + after[:, 0]], dim=-1)


class MiddleOfNext:
    """Layer whose output adds to each token only the middle feature of the next one."""

    def __call__(self, x: Tensor) -> Tensor:
        after = torch.cat([x[1:], torch.zeros_like(x[:1])])
        return torch.stack([x[:, 0], after[:, 1], x[:, 2]], dim=-1)


class Opposites:
    """Layer with two output features that mix in the next token and always sum to 0."""

    def __call__(self, x: Tensor) -> Tensor:
        mixed = x[:, 0] + torch.cat([x[1:, 1], x[:1, 1] * 0])
        return torch.stack([mixed, -mixed], dim=-1)


class Faint:
    """Layer that adds a millionth of the previous token to each token."""

    def __call__(self, x: Tensor) -> Tensor:
        return x + 1e-6 * torch.cat([torch.zeros_like(x[:1]), x[:-1]])


def _probed(row: Tensor) -> Tensor:
    """Sum of the features of an output, each with a random weight, the same for every row."""
    return row @ normal(len(row))


def _gradients(layer: Answer, x: Tensor, reduced: Answer = _probed) -> Tensor:
    """Gradients of each output row, reduced to a number, with respect to x: (rows, tokens, d)."""
    x = x.detach().requires_grad_()
    return torch.stack([torch.autograd.grad(reduced(row), x, retain_graph=True)[0] for row in layer(x)])


def _table(layer: Answer, x: Tensor, reduced: Answer = _probed) -> Tensor:
    return (_gradients(layer, x, reduced) != 0).any(dim=-1)


def _both(table: Answer) -> tuple[Answer, ...]:
    """Answers that make this table from the gradients of a probe, and from those of a plain sum."""
    return (
        lambda layer, x: table(_gradients(layer, x)),
        lambda layer, x: table(_gradients(layer, x, torch.sum)),
    )


def _larger_than(small: float) -> Answer:
    return lambda gradients: (gradients.abs() > small).any(-1)


def _after_change(layer: Answer, x: Tensor, change: Tensor) -> Tensor:
    """Table from adding `change` to one token at a time, without gradients."""
    steps = torch.eye(len(x))[..., None] * change  # (changed token, tokens, d)
    return torch.stack([(layer(x + step) != layer(x)).any(dim=-1) for step in steps], dim=1)


DEPENDS = Exercise(
    id="02.depends",
    reference=lambda layer, x: _table(layer, x),
    inputs=(
        (EachAlone(), torch.tensor([[1.0], [2.0]])),
        (Causal(), normal(3, 3)),
        (NextOnly(), normal(4, 3)),
        (MiddleOfNext(), normal(3, 3)),
        (BothSides(), normal(3, 2)),
        (MaskedAfterSoftmax(), normal(4, 5)),
        (Opposites(), normal(3, 2)),
        (Faint(), normal(3, 4)),
    ),
    mistakes=(
        mistake(
            "your code takes the gradient of a plain sum over the features of an output",
            "If the features of an output always add up to the same number, the gradient of their sum is 0. "
            "Give each feature its own weight: (layer(x)[i] * probe).sum().",
            lambda layer, x: _table(layer, x, torch.sum),
        ),
        mistake(
            "your code takes small derivatives for none",
            "However weak, a dependence is a leak that training can make stronger. Derivatives of hidden "
            "tokens are exactly 0: compare with != 0.",
            *(one for small in (1e-5, 1e-4, 1e-3, 1e-2) for one in _both(_larger_than(small))),
        ),
        mistake(
            "your code sums all rows before taking the gradient",
            "The gradient of layer(x).sum() mixes all outputs. Each row of the table needs the "
            "gradient of its own output, (layer(x)[i] * probe).sum().",
            *_both(lambda gradients: (gradients.sum(0) != 0).any(-1).expand(len(gradients), -1).clone()),
        ),
        mistake(
            "your code accumulates gradients from row to row",
            "backward() adds to x.grad. Set x.grad to None before each row, or use torch.autograd.grad.",
            *_both(lambda gradients: (gradients.cumsum(0) != 0).any(-1)),
        ),
        mistake(
            "your code swaps outputs and inputs",
            "Row i tells which inputs output i depends on. Column j belongs to input token j.",
            *_both(lambda gradients: (gradients != 0).any(-1).T),
        ),
        mistake(
            "your code counts only positive gradients",
            "A negative derivative is a dependence too. Compare with != 0, not > 0.",
            *_both(lambda gradients: (gradients > 0).any(-1)),
            *_both(lambda gradients: gradients.sum(-1) > 0),
        ),
        mistake(
            "your code checks only the first feature of each output",
            "An output has several features, and any of them may depend on other tokens. Use "
            "(layer(x)[i] * probe).sum(), not layer(x)[i, 0].",
            lambda layer, x: _table(lambda y: layer(y)[:, :1], x),
        ),
        mistake(
            "your code checks only the last feature of each output",
            "An output has several features, and any of them may depend on other tokens. Use "
            "(layer(x)[i] * probe).sum(), not layer(x)[i, -1].",
            lambda layer, x: _table(lambda y: layer(y)[:, -1:], x),
        ),
        mistake(
            "your code looks at only one feature of each token",
            "A token can leak through any of its features. Use (gradient != 0).any(dim=-1), which looks at "
            "all of them.",
            *_both(lambda gradients: gradients[..., 0] != 0),
            *_both(lambda gradients: gradients[..., -1] != 0),
            lambda layer, x: _after_change(layer, x, torch.eye(x.shape[-1])[0]),
        ),
        mistake(
            "your code lets derivatives of opposite sign cancel",
            "They cancel in a sum over the features of a token, and also if you change all its features by "
            "the same amount. Look at each feature: (gradient != 0).any(dim=-1).",
            *_both(lambda gradients: gradients.sum(-1) != 0),
            lambda layer, x: _after_change(layer, x, torch.ones(x.shape[-1])),
        ),
        mistake(
            "your code requires all features of a token instead of any",
            "One feature of token j that matters is enough for a leak. Use any(dim=-1), not all(dim=-1).",
            *_both(lambda gradients: (gradients != 0).all(-1)),
        ),
        mistake(
            "your code reduces over the tokens instead of the features",
            "The gradient has the shape of x, (tokens, d). Reduce over d, the last axis.",
            *_both(lambda gradients: (gradients != 0).any(-2)),
        ),
    ),
)
