"""Transformer block step by step: the shape and values of the tensor, and the operation."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import ipywidgets
import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.chapters.ch05_blocks.block_picture import plan, tensor
from course_lib.layers.blocks import DecoderBlock, EncoderBlock, FeedForward
from course_lib.layers.masks import Mask, causal_mask
from course_lib.layers.multi_head_attention import MultiHeadAttention, attention
from course_lib.widgets.attention_map import AttentionMap
from course_lib.widgets.explorer import slider
from course_lib.widgets.heatmap import Place
from course_lib.widgets.map_explorer import MapExplorer

SOURCE = ("Carmen", "doesn't", "like", "coffee", ".")
TARGET = ("[BOS]", "A", "Carmen", "no")
D_MODEL, D_FF, HEADS = 8, 16, (1, 2, 4)
STEPS = {"encoder": 11, "decoder": 17}
SEQUENCE = "batch, tokens, d_model"

Values = Float[Tensor, "..."]
Sequence = Float[Tensor, "batch tokens d_model"]
Memory = Float[Tensor, "batch source d_model"]


@dataclass(frozen=True)
class Step:
    """Tensor after one step of a block.

    part: its sublayer. axes: names of its dimensions. does: explanation of the step.
    """

    part: str
    name: str
    axes: str
    does: str
    value: Values


def block_explorer() -> MapExplorer:
    """Steps of five tokens through an encoder block, or four through a decoder block.

    A click on a step goes to it.
    """
    step = slider(ipywidgets.IntSlider, "step", value=1, min=1, max=STEPS["encoder"])
    block = slider(ipywidgets.Dropdown, "block", options=list(STEPS))
    block.observe(lambda change: setattr(step, "max", STEPS[change["new"]]), names="value")
    controls = {
        "block": block,
        "norm": slider(ipywidgets.Dropdown, "norm", options=["pre", "post"]),
        "heads": slider(ipywidgets.SelectionSlider, "heads", options=HEADS, value=2),
        "step": step,
    }
    return MapExplorer(
        controls,
        block_picture,
        "sliders for the step and the number of heads, and menus for the block (encoder, decoder) and the "
        "norm (pre, post), above the block's steps with its residual connections, and the tensor's values "
        "after the step; a click on a step goes to it.",
        size=(7.0, 4.2),
        widths=(3.7, 4.2),
        cell=96,
    )


def block_picture(maps: AttentionMap) -> Callable[..., str]:
    """Steps of the block on the left, the tensor on the right."""

    def update(block: str, norm: str, heads: int, step: int, selected: Place) -> str:
        steps = example(block, norm, heads)
        step = min(step, len(steps))
        seen = steps[step - 1]
        tokens = SOURCE if block == "encoder" else TARGET
        keys = SOURCE if seen.part == "cross-attention" else tokens
        kind = f"{norm}-norm, {heads} head{'s' * (heads > 1)}"
        maps.show_maps([plan(steps, step - 1, f"{block}, {kind}"), tensor(seen, tokens, keys)])
        return (
            f"{block.capitalize()} block, {kind}. "
            f"Step {step} of {len(steps)}, {seen.part}: {seen.name}. {seen.does} "
            f"Shape: ({seen.axes}) = {tuple(seen.value.shape)}."
        )

    return update


@lru_cache(maxsize=12)
@torch.inference_mode()
def example(block: str, norm: str, heads: int) -> list[Step]:
    """Steps of one sentence through a block with random weights from a fixed seed."""
    torch.manual_seed(1)
    x, memory = torch.randn(1, len(SOURCE), D_MODEL), torch.randn(1, len(SOURCE), D_MODEL)
    kind = {"encoder": EncoderBlock, "decoder": DecoderBlock}[block]
    model = kind(D_MODEL, heads, D_FF, norm=norm).eval()
    for matrix in (p for p in model.parameters() if p.ndim == 2):
        nn.init.normal_(matrix, std=matrix.shape[1] ** -0.5)
    if block == "encoder":
        return walk(model, x)
    return walk(model, x[:, : len(TARGET)], memory, causal_mask(len(TARGET)))


def walk(
    block: EncoderBlock | DecoderBlock, x: Sequence, memory: Memory | None = None, mask: Mask | None = None
) -> list[Step]:
    """Steps of the forward pass of `x` through a block, with `memory` if it is a decoder block."""
    if isinstance(block, DecoderBlock) == (memory is None):
        raise ValueError(
            f"{type(block).__name__}: a decoder block needs a memory, an encoder block takes none"
        )
    ways = [lambda y: attend(block.attention, y, None, mask)]
    if memory is not None:
        ways.append(lambda y: attend(block.cross_attention, y, memory, None))
    ways.append(lambda y: feed(block.feed_forward, y))
    steps = [
        Step("input", "x", SEQUENCE, "One vector per token; every token goes through the same steps.", x)
    ]
    for i, way in enumerate(ways, start=1):
        norm = block.get_submodule(f"norm_{i}")
        steps += around(norm, block.pre_norm, steps[-1].value, way)
    return steps


def around(
    norm: nn.Module, pre: bool, x: Sequence, way: Callable[[Sequence], Iterator[Step]]
) -> Iterator[Step]:
    """Steps of a sublayer with its residual connection and norm, in pre-norm or post-norm order."""
    if pre:
        yield (first := norm_of(norm, x, "The sublayer reads normalized vectors; x itself bypasses it."))
    for step in way(first.value if pre else x):
        yield step
    total = x + step.value
    does = "The residual connection adds the sublayer's output to x, which bypassed it unchanged."
    yield Step("residual", "x + sublayer", SEQUENCE, does, total)
    if not pre:
        yield norm_of(norm, total, "The sum itself is normalized: nothing bypasses this norm.")


def norm_of(norm: nn.Module, x: Sequence, where: str) -> Step:
    does = f"Each token's {x.shape[-1]} features get mean 0 and variance 1. {where}"
    return Step("norm", "LayerNorm", SEQUENCE, does, norm(x))


def attend(layer: MultiHeadAttention, x: Sequence, memory: Memory | None, mask: Mask | None):
    """Steps of self-attention, or of cross-attention if there is a memory."""
    part, keys = ("self-attention", "tokens") if memory is None else ("cross-attention", "source")
    q = layer.split(layer.w_q(x))
    k, v = layer.split(layer.w_kv(x if memory is None else memory)).chunk(2, dim=1)
    averages, weights = attention(q, k, v, mask)
    whence = "come from the same tokens" if memory is None else "come from the encoder's memory"
    does = f"Queries: a linear projection, split into heads. Keys and values {whence}."
    yield Step(part, "queries", "batch, heads, tokens, d_head", does, q)
    hidden = "" if mask is None else " The causal mask gives later tokens weight 0."
    does = f"Softmax of the scaled scores: the weights of each query sum to 1.{hidden}"
    yield Step(part, "weights", f"batch, heads, tokens, {keys}", does, weights)
    does = "Each query gets the weighted average of the values. Only here do tokens exchange information."
    yield Step(part, "head outputs", "batch, heads, tokens, d_head", does, averages)
    does = "The heads are concatenated again, and W_O mixes them."
    yield Step(part, "output", SEQUENCE, does, layer.w_o(averages.transpose(1, 2).flatten(-2)))


def feed(layer: FeedForward, x: Sequence) -> Iterator[Step]:
    """Steps of the feed-forward layer."""
    hidden = layer.activation(layer.w_in(x))
    does = "A wider vector for each token, with negative values set to 0. Each token is processed alone."
    yield Step("feed-forward", "hidden", "batch, tokens, d_ff", does, hidden)
    does = "Projection back to d_model, still one token at a time."
    yield Step("feed-forward", "output", SEQUENCE, does, layer.w_out(hidden))
