"""Activation patching: one vector of the residual stream, taken from another run."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Arguments, Exercise, mistake, normal

Block = Callable[[Tensor], Tensor]


def double(x: Tensor) -> Tensor:
    """A stand-in for a block that can be computed by hand."""
    return 2 * x


def add_token_before(x: Tensor) -> Tensor:
    """Another one, in which each token reads the one before it."""
    return x + torch.cat([torch.zeros_like(x[:1]), x[:-1]])


_COLUMN = torch.tensor([[1.0], [2.0], [3.0]])


def _block(seed: int, d_model: int) -> Block:
    """A stand-in for a block: each token adds something that depends on itself and on all earlier tokens."""
    weight = normal(d_model, d_model, seed=seed)

    def block(x: Tensor) -> Tensor:
        mean = x.cumsum(dim=0) / torch.arange(1, len(x) + 1)[:, None]
        return x + torch.tanh(mean @ weight)

    return block


def _case(blocks: int, tokens: int, depth: int, position: int, seed: int) -> Arguments:
    stack = [_block(seed + i, 3) for i in range(blocks)]
    return stack, normal(tokens, 3, seed=seed + 10), normal(tokens, 3, seed=seed + 11), depth, position


def _put(x: Tensor, other: Tensor, position: int | slice) -> Tensor:
    patched = x.clone()
    patched[position] = other[position]
    return patched


def _run(
    patched_at: Callable[[int, int], bool] = lambda i, depth: i == depth,
    everywhere: bool = False,
    from_embedding: bool = False,
) -> Answer:
    """Patching, with options for the mistakes.

    patched_at: whether to patch before block i. everywhere: patch all tokens, not only `position`.
    from_embedding: take the vectors of the other run from depth 0.
    """

    def answer(blocks: Sequence[Block], x: Tensor, other: Tensor, depth: int, position: int) -> Tensor:
        embedding = other
        for i, block in enumerate(blocks):
            if patched_at(i, depth):
                x = _put(x, embedding if from_embedding else other, slice(None) if everywhere else position)
            x, other = block(x), block(other)
        return x

    return answer


def _added(blocks: Sequence[Block], x: Tensor, other: Tensor, depth: int, position: int) -> Tensor:
    for i, block in enumerate(blocks):
        x = _put(x, x + other, position) if i == depth else x
        x, other = block(x), block(other)
    return x


def _with(vector: Callable[[Tensor, Tensor, int], Tensor]) -> Answer:
    """Patching with another vector, made of both runs."""

    def answer(blocks: Sequence[Block], x: Tensor, other: Tensor, depth: int, position: int) -> Tensor:
        for i, block in enumerate(blocks):
            if i == depth:
                x = x.clone()
                x[position] = vector(x, other, position)
            x, other = block(x), block(other)
        return x

    return answer


def _feature(blocks: Sequence[Block], x: Tensor, other: Tensor, depth: int, position: int) -> Tensor:
    for i, block in enumerate(blocks):
        x = _put(x.T, other.T, position).T if i == depth else x
        x, other = block(x), block(other)
    return x


def _from_the_end(blocks: Sequence[Block], x: Tensor, other: Tensor, depth: int, position: int) -> Tensor:
    for block in blocks:
        other = block(other)
    for i, block in enumerate(blocks):
        x = block(_put(x, other, position) if i == depth else x)
    return x


def _up_to_the_patch(blocks: Sequence[Block], x: Tensor, other: Tensor, depth: int, position: int) -> Tensor:
    for block in blocks[:depth]:
        x, other = block(x), block(other)
    return _put(x, other, position)


def _after(blocks: Sequence[Block], x: Tensor, other: Tensor, depth: int, position: int) -> Tensor:
    for i, block in enumerate(blocks):
        x, other = block(x), block(other)
        x = _put(x, other, position) if i == depth else x
    return x


PATCH = Exercise(
    id="07b.patch",
    reference=_run(),
    inputs=(
        ([add_token_before, double], _COLUMN, 10 * _COLUMN, 1, 0),
        ([add_token_before, double], _COLUMN, 10 * _COLUMN, 0, 1),
        _case(2, 2, 0, 0, seed=0),
        _case(3, 4, 1, 2, seed=20),
        _case(4, 5, 2, 1, seed=40),
        _case(3, 4, 2, 3, seed=60),
    ),
    mistakes=(
        mistake(
            "your code patches after block `depth`",
            "Depth 0 is the embedding, before block 0. So replace the vector first, and run the block "
            "afterwards.",
            _after,
        ),
        mistake(
            "your code puts in the embedding of the other run",
            "At depth 1 or later, the other run has been through blocks too. Run `other` through the same "
            "blocks, and take its vector at the same depth.",
            _run(from_embedding=True),
        ),
        mistake(
            "your result is the other run",
            "Either `other` is returned, or all of its vectors were put in. Return `x`, in which the vector "
            "at `position` alone was replaced.",
            _run(everywhere=True),
        ),
        mistake(
            "your code patches one block too early",
            "Blocks are counted from 0, so depth 0 is the embedding, before any block. Compare the number of "
            "the block with `depth` before you run it.",
            _run(lambda i, depth: i == depth - 1),
            _run(lambda i, depth: i == max(depth - 1, 0)),
        ),
        mistake(
            "your code never patches at depth 0",
            "Depth 0 is the embedding: replace x[position] before block 0, too.",
            _run(lambda i, depth: i == depth > 0),
        ),
        mistake(
            "your code adds the other vector instead of replacing",
            "After a patch, nothing of the old vector is left: x[position] = other[position].",
            _added,
        ),
        mistake(
            "your code replaces a feature of all tokens",
            "`x` is (tokens, d_model), so the position is the first index: x[position].",
            _feature,
        ),
        mistake(
            "your code takes the vector from the end of the other run",
            "Take it at the same depth, before block number `depth`: run both side by side.",
            _from_the_end,
        ),
        mistake(
            "your code stops after the patch",
            "The question is what the rest of the run makes of it. Go on with block number `depth`.",
            _up_to_the_patch,
        ),
        mistake(
            "your code patches at every depth",
            "Then you cannot tell which depth mattered. Patch once, and let the rest of the run compute.",
            _run(lambda i, depth: True),
            _run(lambda i, depth: i >= depth),
            _run(lambda i, depth: i <= depth),
        ),
        mistake(
            "your code patches the wrong run",
            "`x` is the run that is patched and continues; `other` only lends a vector.",
            lambda blocks, x, other, depth, position: _run()(blocks, other, x, depth, position),
        ),
        mistake(
            "your code returns the run without a patch",
            "Nothing of `other` has arrived. Replace `x[position]` before block number `depth`.",
            _run(lambda i, depth: False),
        ),
        mistake(
            "your code patches one block too late",
            "Block number `depth` must read the patched vector already: compare i == depth before you run "
            "block i.",
            _run(lambda i, depth: i == depth + 1),
        ),
        mistake(
            "your code puts in a mixture of the two vectors",
            "A patch is the other run's vector alone: x[position] = other[position].",
            _with(lambda x, other, position: (x[position] + other[position]) / 2),
            _with(lambda x, other, position: other[position] - x[position]),
        ),
        mistake(
            "your code takes the other run's last token",
            "Take its vector at the same `position`.",
            _with(lambda x, other, position: other[-1]),
        ),
        mistake(
            "your code puts in zeros",
            "That is an ablation. A patch takes the vector from the other run.",
            _with(lambda x, other, position: 0 * x[position]),
        ),
    ),
)
