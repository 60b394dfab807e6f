"""Activation patching: one vector of the residual stream, taken from another run."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Arguments, Exercise, mistake, normal

Block = Callable[[Tensor], Tensor]


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


def _after(blocks: Sequence[Block], x: Tensor, other: Tensor, depth: int, position: int) -> Tensor:
    for i, block in enumerate(blocks):
        x, other = block(x), block(other)
        x = _put(x, other, position) if i == depth else x
    return x


PATCH = Exercise(
    id="07b.patch",
    reference=_run(),
    inputs=(_case(2, 2, 1, 0, seed=0), _case(3, 4, 1, 2, seed=20), _case(4, 5, 2, 1, seed=40)),
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
            "your code patches all positions",
            "From there on, you only see the other run again. Replace the vector at `position` alone.",
            _run(everywhere=True),
        ),
        mistake(
            "your code patches at every depth",
            "Then you cannot tell which depth mattered. Patch once, and let the rest of the run compute.",
            _run(lambda i, depth: True),
            _run(lambda i, depth: i >= depth),
        ),
        mistake(
            "your code patches the wrong run",
            "`x` is the run that is patched and goes on; `other` only lends a vector.",
            lambda blocks, x, other, depth, position: _run()(blocks, other, x, depth, position),
        ),
        mistake(
            "your code returns the run without a patch",
            "Nothing of `other` has arrived. Replace `x[position]` before block number `depth`.",
            _run(lambda i, depth: False),
        ),
    ),
)
