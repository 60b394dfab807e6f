"""Interventions in a GPT: its residual stream read and patched, its heads ablated."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.models.gpt import GPT

Ids: TypeAlias = Int[Tensor, "batch tokens"]
Logits: TypeAlias = Float[Tensor, "batch tokens vocab"]
Stream: TypeAlias = Float[Tensor, "depths batch tokens d_model"]


def readers(model: GPT) -> list[nn.Module]:
    """Modules that read the residual stream, one per depth: each block, then the final LayerNorm."""
    return [*model.blocks, model.norm]


@torch.no_grad()
def residual_stream(model: GPT, ids: Ids) -> Stream:
    """Residual stream of a forward pass: depth 0 is the embedding, depth i the stream after block i.

    Its next-token logits, `model.output_logits(model.norm(stream))`, are the logit lens.
    """
    seen: list[Tensor] = []
    handles = [
        module.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
        for module in readers(model)
    ]
    try:
        model.hidden_states(ids)
    finally:
        for handle in handles:
            handle.remove()
    return torch.stack(seen)


@contextmanager
def patch_residuals(
    model: GPT, depth: int, positions: int | slice | Sequence[int], stream: Stream
) -> Iterator[None]:
    """Activation patching: within a `with` block, replace vectors of the residual stream.

    positions: the tokens whose vectors are replaced. stream: the `residual_stream` of another run, which
    has as many sequences and tokens; its vectors at the same depth and positions are put in.
    Raises ValueError for an unknown depth, and if the two runs differ in shape.
    Source: Vig et al. 2020; Meng et al. 2022 (causal tracing).
    """
    if not 0 <= depth < len(readers(model)):
        raise ValueError(f"depth={depth}: the model has depths 0 to {len(model.blocks)}")

    def replace(_: nn.Module, inputs: tuple) -> tuple:
        x, other = inputs[0], stream[depth]
        if x.shape != other.shape:
            raise ValueError(f"the patched run is {tuple(x.shape)}, the other {tuple(other.shape)}")
        x = x.clone()
        x[:, positions] = other[:, positions].to(x)
        return (x, *inputs[1:])

    handle = readers(model)[depth].register_forward_pre_hook(replace)
    try:
        yield
    finally:
        handle.remove()


@torch.no_grad()
def patching_map(
    model: GPT, ids: Ids, stream: Stream, measure: Callable[[Logits], Tensor]
) -> Float[Tensor, "depths tokens"]:
    """Activation patching of one vector at a time: `measure` of the logits, for each depth and token.

    ids: the run that is patched. stream: the residual stream of the other run. measure: logits to a number.
    """
    effects = torch.empty(len(stream), ids.shape[1])
    for depth in range(len(stream)):
        for position in range(ids.shape[1]):
            with patch_residuals(model, depth, position, stream):
                effects[depth, position] = measure(model(ids))
    return effects


@contextmanager
def ablate_head(model: GPT, block: int, head: int) -> Iterator[None]:
    """Zero ablation: within a `with` block, one attention head contributes nothing to the residual stream.

    The output projection keeps its bias. Raises ValueError for a block or a head that does not exist.
    """
    blocks, heads = len(model.blocks), model.config.heads
    if not (0 <= block < blocks and 0 <= head < heads):
        raise ValueError(f"block={block}, head={head}: the model has {blocks} blocks with {heads} heads each")

    def zero(_: nn.Module, inputs: tuple) -> Tensor:
        outputs = inputs[0].unflatten(-1, (heads, -1)).clone()
        outputs[..., head, :] = 0
        return outputs.flatten(-2)

    output = model.get_submodule(f"blocks.{block}.attention.w_o")
    handle = output.register_forward_pre_hook(zero)
    try:
        yield
    finally:
        handle.remove()
