"""LoRA: a low-rank update of a frozen linear layer, and how few weights it trains."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Arguments, Exercise, mistake, numbered, whole


def _case(tokens: int, d_in: int, d_out: int, rank: int, alpha: float, seed: int) -> Arguments:
    w = whole(d_out, d_in, seed=seed)
    a, b = (1 + numbered(rank, d_in)).requires_grad_(), (2 - numbered(d_out, rank)).requires_grad_()
    return whole(tokens, d_in, seed=seed + 3), w, a, b, alpha


def _start(arguments: Arguments) -> Arguments:
    x, w, a, b, alpha = arguments
    return x, w, a, torch.zeros_like(b).requires_grad_(), alpha


def _update(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return x @ a.T @ b.T


def _lora(x: Tensor, w: Tensor, a: Tensor, b: Tensor, alpha: float) -> tuple[Tensor, int]:
    return x @ w.T + alpha / len(a) * _update(x, a, b), a.numel() + b.numel()


def _scaled(scale: Answer) -> Answer:
    """LoRA with another factor: a function of α and the rank."""
    return lambda x, w, a, b, alpha: (
        x @ w.T + scale(alpha, len(a)) * _update(x, a, b),
        a.numel() + b.numel(),
    )


def _counted(count: Answer) -> Answer:
    """LoRA with another count: a function of W, A and B."""
    return lambda x, w, a, b, alpha: (_lora(x, w, a, b, alpha)[0], count(w, a, b))


LORA = Exercise(
    id="09.lora",
    reference=_lora,
    inputs=(
        _start(_case(1, 2, 2, 1, 2.0, seed=0)),
        _case(1, 2, 2, 1, 3.0, seed=0),
        _case(3, 6, 4, 2, 8.0, seed=10),
        _case(5, 8, 8, 4, 2.0, seed=20),
    ),
    mistakes=(
        mistake(
            "your update lacks the factor α / r",
            "The rank r is the number of rows of `a`. Multiply the update by `alpha / len(a)`.",
            _scaled(lambda alpha, r: 1.0),
        ),
        mistake(
            "your update is multiplied by α, but not divided by r",
            "The factor is α / r, so that a larger rank does not make the update larger. r is `len(a)`.",
            _scaled(lambda alpha, r: alpha),
        ),
        mistake(
            "your factor is upside down",
            "The factor is α / r, not r / α.",
            _scaled(lambda alpha, r: r / alpha),
        ),
        mistake(
            "your factor divides α by the wrong number",
            "The rank r is the small dimension: the number of rows of `a`, len(a), and of columns of `b`.",
            lambda x, w, a, b, alpha: (
                x @ w.T + alpha / len(b) * _update(x, a, b),
                a.numel() + b.numel(),
            ),
            lambda x, w, a, b, alpha: (
                x @ w.T + alpha / a.shape[1] * _update(x, a, b),
                a.numel() + b.numel(),
            ),
            lambda x, w, a, b, alpha: (
                x @ w.T + alpha / len(x) * _update(x, a, b),
                a.numel() + b.numel(),
            ),
        ),
        mistake(
            "your factor has the square root of the rank",
            "LoRA divides α by r itself. A later variant, rsLoRA, uses the square root.",
            _scaled(lambda alpha, r: alpha / r**0.5),
        ),
        mistake(
            "your output has no gradient",
            "The value is right, but .detach() and torch.no_grad() cut it off from `a` and `b`, which are "
            "all that LoRA trains.",
            lambda x, w, a, b, alpha: (_lora(x, w, a, b, alpha)[0].detach(), a.numel() + b.numel()),
        ),
        mistake(
            "your code leaves out the frozen layer",
            "The update is added to what the layer computes already: start from `x @ w.T`.",
            lambda x, w, a, b, alpha: (alpha / len(a) * _update(x, a, b), a.numel() + b.numel()),
        ),
        mistake(
            "your code leaves out the update",
            "Only with b = 0 does the update vanish. Add (α / r) · (x Aᵀ) Bᵀ.",
            lambda x, w, a, b, alpha: (x @ w.T, a.numel() + b.numel()),
        ),
        mistake(
            "your code scales the frozen layer, too",
            "The factor α / r belongs to the update alone. W stays as it was trained.",
            lambda x, w, a, b, alpha: (
                alpha / len(a) * (x @ w.T + _update(x, a, b)),
                a.numel() + b.numel(),
            ),
        ),
        mistake(
            "your count includes the frozen weights",
            "W is frozen, so the optimizer trains only A and B. Count their entries.",
            _counted(lambda w, a, b: w.numel() + a.numel() + b.numel()),
            _counted(lambda w, a, b: w.numel()),
        ),
        mistake(
            "your count leaves out one of the two matrices",
            "Both A and B are trained. Add `a.numel()` and `b.numel()`.",
            _counted(lambda w, a, b: a.numel()),
            _counted(lambda w, a, b: b.numel()),
        ),
    ),
)
