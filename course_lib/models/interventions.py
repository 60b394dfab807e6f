"""Interventions in a GPT: its residual stream and its heads, read and replaced."""

from collections.abc import Callable, Iterable, Iterator, Sequence
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

    >>> from course_lib.models import GPTConfig
    >>> model = GPT(GPTConfig(vocab=65, layers=2))
    >>> residual_stream(model, torch.tensor([[1, 2, 3]])).shape  # the embedding, then after each block
    torch.Size([3, 1, 3, 128])
    """
    return inputs_of(readers(model), model, ids)


@contextmanager
def patch_residuals(
    model: GPT, depth: int, positions: int | slice | Sequence[int], stream: Stream
) -> Iterator[None]:
    """Activation patching: within a `with` block, replace vectors of the residual stream.

    positions: the tokens whose vectors are replaced. stream: the `residual_stream` of another run, which
    has as many sequences and tokens; its vectors at the same depth and positions are put in.
    Raises ValueError for an unknown depth, and if the two runs differ in shape.
    Source: Vig et al. 2020; Meng et al. 2022 (causal tracing).

    >>> from course_lib.models import GPTConfig
    >>> model = GPT(GPTConfig(vocab=65))
    >>> clean, corrupted = torch.tensor([[1, 2, 3]]), torch.tensor([[1, 9, 3]])
    >>> with patch_residuals(model, depth=0, positions=1, stream=residual_stream(model, clean)):
    ...     patched = model(corrupted)
    >>> torch.allclose(patched, model(clean), atol=1e-5)  # the patch undoes the corruption
    True
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

    >>> from course_lib.models import GPTConfig
    >>> model = GPT(GPTConfig(vocab=65, layers=2))
    >>> stream = residual_stream(model, torch.tensor([[1, 2, 3]]))
    >>> patching_map(model, torch.tensor([[1, 9, 3]]), stream, lambda logits: logits[0, -1, 7]).shape
    torch.Size([3, 3])
    """
    effects = torch.empty(len(stream), ids.shape[1])
    for depth in range(len(stream)):
        for position in range(ids.shape[1]):
            with patch_residuals(model, depth, position, stream):
                effects[depth, position] = measure(model(ids))
    return effects


@torch.no_grad()
def head_outputs(model: GPT, ids: Ids) -> Float[Tensor, "blocks batch tokens heads d_head"]:
    """What each attention head of a forward pass computes, before the output projection merges the heads.

    >>> from course_lib.models import GPTConfig
    >>> head_outputs(GPT(GPTConfig(vocab=65, layers=2)), torch.tensor([[1, 2, 3]])).shape
    torch.Size([2, 1, 3, 4, 32])
    """
    projections = [model.get_submodule(f"blocks.{block}.attention.w_o") for block in range(len(model.blocks))]
    return inputs_of(projections, model, ids).unflatten(-1, (model.config.heads, -1))


def inputs_of(
    modules: Iterable[nn.Module], model: GPT, ids: Ids
) -> Float[Tensor, "modules batch tokens d_model"]:
    """What these modules of the model read in a forward pass."""
    seen: list[Tensor] = []
    handles = [m.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0])) for m in modules]
    try:
        model.hidden_states(ids)
    finally:
        for handle in handles:
            handle.remove()
    return torch.stack(seen)


@contextmanager
def ablate_head(model: GPT, block: int, head: int, instead: Tensor | float = 0.0) -> Iterator[None]:
    """Ablation: within a `with` block, one attention head gives `instead`.

    instead: 0 for zero ablation; the mean of `head_outputs` for mean ablation; those of other inputs for
    resample ablation, and of a clean run for activation patching. It broadcasts to (batch, tokens, d_head).
    The output projection keeps its bias. Raises ValueError for a block or a head that does not exist.

    >>> from course_lib.models import GPTConfig
    >>> model, ids = GPT(GPTConfig(vocab=65)), torch.tensor([[1, 2, 3]])
    >>> with ablate_head(model, block=0, head=1):
    ...     ablated = model(ids)
    >>> torch.equal(ablated, model(ids))
    False
    """
    blocks, heads = len(model.blocks), model.config.heads
    if not (0 <= block < blocks and 0 <= head < heads):
        raise ValueError(f"block={block}, head={head}: the model has {blocks} blocks with {heads} heads each")

    def replace(_: nn.Module, inputs: tuple) -> Tensor:
        outputs = inputs[0].unflatten(-1, (heads, -1)).clone()
        outputs[..., head, :] = instead
        return outputs.flatten(-2)

    output = model.get_submodule(f"blocks.{block}.attention.w_o")
    handle = output.register_forward_pre_hook(replace)
    try:
        yield
    finally:
        handle.remove()
