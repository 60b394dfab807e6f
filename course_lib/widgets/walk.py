"""A tensor's way through a block, step by step: its shape, its numbers, and what is done to it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import ipywidgets
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor, nn

from course_lib.attention import MultiHeadAttention, attention
from course_lib.blocks import DecoderBlock, EncoderBlock, FeedForward, Residual
from course_lib.masks import Mask, causal_mask
from course_lib.widgets.explorer import Explorer, slider
from course_lib.widgets.walk_picture import walk_picture

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
    """What a tensor is after one step.

    part: the sublayer it belongs to. axes: the words of its shape. does: what the step has done.
    """

    part: str
    name: str
    axes: str
    does: str
    value: Values


def block_explorer() -> Explorer:
    """Five words through an encoder block, or four through a decoder block, a step at a time."""
    step = slider(ipywidgets.IntSlider, "step", value=1, min=1, max=STEPS["encoder"])
    block = slider(ipywidgets.Dropdown, "block", options=list(STEPS))
    block.observe(lambda change: setattr(step, "max", STEPS[change["new"]]), names="value")
    controls = {
        "block": block,
        "norm": slider(ipywidgets.Dropdown, "norm", options=["pre", "post"]),
        "heads": slider(ipywidgets.SelectionSlider, "heads", options=HEADS, value=2),
        "step": step,
    }
    return Explorer(
        controls,
        block_picture,
        "sliders for the step and the number of heads, and lists for the block (encoder, decoder) and the "
        "place of the norm, above a plan of the block and the tensor's numbers after the step. "
        "It answers while the notebook is running.",
        size=(7.0, 4.8),
    )


def block_picture(figure: Figure) -> Callable[..., str]:
    """The plan of the block on the left, the tensor on the right."""
    widest = max(HEADS) * (len(SOURCE) + 1) - 1  # the weights of all heads, with a gap between two
    move = walk_picture(figure, max(STEPS.values()), columns=widest, rows=len(SOURCE))

    def update(block: str, norm: str, heads: int, step: int) -> str:
        steps = example(block, norm, heads)
        step = min(step, len(steps))
        seen = steps[step - 1]
        title = f"{block} block, {norm}-norm, {heads} head{'s' * (heads > 1)}"
        move(steps, step - 1, SOURCE if block == "encoder" else TARGET, title)
        return (
            f"{title.capitalize()}. Step {step} of {len(steps)}, {seen.part}: {seen.name}. {seen.does} "
            f"Shape: ({seen.axes}) = {tuple(seen.value.shape)}."
        )

    return update


@lru_cache(maxsize=12)
@torch.inference_mode()
def example(block: str, norm: str, heads: int) -> list[Step]:
    """The steps of one sentence through a block with random weights, the same for every choice."""
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
    """The steps of `x` through the block; the last one holds what `block(x, …)` returns.

    memory: of the encoder, for a decoder block. mask: among the tokens of `x`.
    Raises ValueError where a decoder block has no memory or an encoder block has one.
    """
    if isinstance(block, DecoderBlock) == (memory is None):
        raise ValueError(f"{type(block).__name__} with memory={memory is not None}: only a decoder has one")
    ways = [lambda y: attend(block.attention, y, None, mask)]
    if memory is not None:
        ways.append(lambda y: attend(block.cross_attention, y, memory, None))
    ways.append(lambda y: feed(block.feed_forward, y))
    steps = [Step("input", "x", SEQUENCE, "A vector for each token; the way is the same for all.", x)]
    for residual, way in zip(block.residuals, ways, strict=True):
        steps += around(residual, steps[-1].value, way)
    return steps


def around(residual: Residual, x: Sequence, way: Callable[[Sequence], Iterator[Step]]) -> Iterator[Step]:
    """A sublayer with its residual and its norm; the norm's place is all that pre and post differ in."""
    pre = residual.place == "pre"
    if pre:
        yield (first := norm_of(residual, x, "The sublayer reads normed vectors; x itself goes round it."))
    for step in way(first.value if pre else x):
        yield step
    total = x + step.value
    does = "What the sublayer says is added to x, which came round it unchanged: the residual."
    yield Step("residual", "x + sublayer", SEQUENCE, does, total)
    if not pre:
        yield norm_of(residual, total, "The sum itself is normed: nothing goes round this norm.")


def norm_of(residual: Residual, x: Sequence, where: str) -> Step:
    does = f"Each token's {x.shape[-1]} numbers get mean 0 and variance 1. {where}"
    return Step("norm", "LayerNorm", SEQUENCE, does, residual.norm(x))


def attend(layer: MultiHeadAttention, x: Sequence, memory: Memory | None, mask: Mask | None):
    """The steps of attention to itself, or to a memory where there is one."""
    part, keys = ("self-attention", "tokens") if memory is None else ("cross-attention", "source")
    q = layer.split(layer.w_q(x))
    k, v = layer.keys_values(x if memory is None else memory)
    averages, weights = attention(q, k, v, mask)
    whence = "come from the same tokens" if memory is None else "come from the encoder's memory"
    does = f"Queries: a projection, split into heads. Keys and values {whence}."
    yield Step(part, "queries", "batch, heads, tokens, d_head", does, q)
    hidden = "" if mask is None else " The mask hides later tokens from each query: weight 0."
    does = f"Softmax of scaled scores: each query shares out 1 among the keys.{hidden}"
    yield Step(part, "weights", f"batch, heads, tokens, {keys}", does, weights)
    does = "Each query receives the average of the values with its weights. Only here do tokens meet."
    yield Step(part, "averages", "batch, heads, tokens, d_head", does, averages)
    does = "The heads are laid side by side again, and a matrix mixes them."
    yield Step(part, "joined", SEQUENCE, does, layer.w_o(averages.transpose(1, 2).flatten(-2)))


def feed(layer: FeedForward, x: Sequence) -> Iterator[Step]:
    """The steps of the feed-forward layer."""
    hidden = layer.activation(layer.w_in(x))
    does = "A wider vector for each token, negative numbers set to 0. No token sees another."
    yield Step("feed-forward", "hidden", "batch, tokens, d_ff", does, hidden)
    does = "Back to the width of the model, still each token by itself."
    yield Step("feed-forward", "back", SEQUENCE, does, layer.w_out(hidden))
