"""Inference engine: an encoder-decoder as a short list of operations, for speed alone.

It computes what the blocks in `layers/blocks.py` compute, up to rounding; to learn how a Transformer works,
read those. A small model that generates spends much of its time on the way through its modules, on padding,
and on rearranging the same weights for every product. The engine saves these.
"""

import math
import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.layers.attention import MultiHeadAttention, cpu_bf16_attention
from course_lib.layers.blocks import DecoderBlock, EncoderBlock, FeedForward, Residual
from course_lib.layers.kv_cache import DecoderCache, GrowingCache, KeysValues, MemoryCache
from course_lib.layers.linear import Linear, onednn_is_there
from course_lib.layers.masks import Mask, nonpad_indices
from course_lib.layers.positions import RotaryPositions, Start

PACK_AFTER = 64  # rows after which packing the weights has paid off
ONEDNN_FROM = {torch.float32: 4, torch.bfloat16: 1}  # rows at a time from which oneDNN is the faster one
FORMULA_FROM = 16  # sequences from which a CPU attends faster by the formula, with one query each
PLAIN = {Linear, nn.Linear, nn.LayerNorm, nn.Identity, nn.Dropout, nn.ModuleList, RotaryPositions}
PLAIN |= {MultiHeadAttention, FeedForward, Residual, EncoderBlock, DecoderBlock}


class Product:
    """The product of a linear layer, x Wᵀ + bias; relu: then ReLU.

    On x86 CPUs, the weights are packed as soon as that pays off: for oneDNN, which would otherwise rearrange
    them every time (and is much faster than the plain product in fp32 on AMD's processors), or transposed for
    the products of few rows, because memory is read faster that way.
    """

    def __init__(
        self,
        weight: Float[Tensor, "outputs inputs"],
        bias: Float[Tensor, " outputs"] | None = None,
        relu: bool = False,
    ):
        self.weight, self.bias, self.relu = weight.detach(), None if bias is None else bias.detach(), relu
        self.columns = self.weight.t()
        self.packable, self.few, self.many = can_pack(weight), 0, 0  # rows so far, by the few and by the many
        self.packed: Tensor | None = None

    def __call__(self, x: Float[Tensor, "rows inputs"]) -> Float[Tensor, "rows outputs"]:
        if self.packs(len(x)):
            then = "relu" if self.relu else "none"
            return torch.ops.mkldnn._linear_pointwise(x, self.packed, self.bias, then, [], "")
        y = x.mm(self.columns) if self.bias is None else torch.addmm(self.bias, x, self.columns)
        return y.relu_() if self.relu else y

    def plus(
        self, x: Float[Tensor, "rows inputs"], residual: Float[Tensor, "rows outputs"]
    ) -> Float[Tensor, "rows outputs"]:
        """The product plus a residual."""
        if self.packs(len(x)):
            return torch.ops.mkldnn._linear_pointwise.binary(x, residual, self.packed, self.bias, "add")
        return self(x).add_(residual)

    def packs(self, rows: int) -> bool:
        """Whether oneDNN computes a product of so many rows. Packs the weights when it is time."""
        if not self.packable:
            return False
        if rows < ONEDNN_FROM[self.weight.dtype]:
            self.few += rows
            if self.few >= PACK_AFTER:
                self.columns = self.columns.contiguous()  # copies them only once
            return False
        if self.packed is None:
            self.many += rows
            if self.many < PACK_AFTER:
                return False
            self.packed = torch.ops.mkldnn._reorder_linear_weight(self.weight, rows)
        return True


def can_pack(weight: Tensor) -> bool:
    """Whether oneDNN multiplies by packed weights of this format on this machine."""
    x86 = weight.device.type == "cpu" and platform.machine() in ("x86_64", "AMD64")
    if not (x86 and onednn_is_there() and torch.backends.mkldnn.enabled):
        return False
    bf16 = weight.dtype == torch.bfloat16 and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return weight.dtype == torch.float32 or bf16


def product(linear: nn.Linear, relu: bool = False) -> Product:
    return Product(linear.weight, linear.bias, relu)


@dataclass(frozen=True)
class Layout:
    """Which tokens of a batch the rows of a matrix are: those with the indices `nonpad`; None means all."""

    batch: int
    tokens: int
    nonpad: Int[Tensor, " rows"] | None = None

    def pick(self, x: Float[Tensor, "batch tokens width"]) -> Float[Tensor, "rows width"]:
        """The rows."""
        rows = x.view(self.batch * self.tokens, -1)
        return rows if self.nonpad is None else rows[self.nonpad]

    def place(self, rows: Float[Tensor, "rows width"]) -> Float[Tensor, "batch tokens width"]:
        """The rows in their places; zeros elsewhere."""
        if self.nonpad is not None:
            zeros = rows.new_zeros(self.batch * self.tokens, rows.shape[1])
            rows = zeros.index_copy_(0, self.nonpad, rows)
        return rows.view(self.batch, self.tokens, -1)


def batched_attention(
    q: Float[Tensor, "batch heads 1 d_head"],
    k: Float[Tensor, "batch heads keys d_head"],
    v: Float[Tensor, "batch heads keys d_head"],
    mask: Mask | None,
) -> Float[Tensor, "batch heads 1 d_head"]:
    """`attention` with few operations; every query has a key that the mask allows."""
    scores = (q @ k.transpose(-2, -1)).mul_(q.shape[-1] ** -0.5)
    if mask is not None:
        scores.masked_fill_(~mask, -math.inf)
    return scores.softmax(dim=-1) @ v


class FastAttention:
    """A `MultiHeadAttention` on rows, with the residual sum."""

    def __init__(self, layer: MultiHeadAttention):
        self.layer, self.d_head = layer, layer.d_head
        self.w_q, self.w_kv, self.w_o = map(product, (layer.w_q, layer.w_kv, layer.w_o))
        self.changes = layer.qk_norm or layer.rotary is not None  # whether `apply_rotary` does anything

    def heads(
        self, rows: Float[Tensor, "rows width"], layout: Layout
    ) -> Float[Tensor, "batch heads tokens d_head"]:
        if layout.tokens == 1:
            return rows.view(layout.batch, -1, 1, self.d_head)
        return layout.place(rows).unflatten(-1, (-1, self.d_head)).transpose(1, 2)

    def keys_values(self, x: Float[Tensor, "rows d_model"], layout: Layout, start: Start = 0) -> KeysValues:
        """Keys and values of each head."""
        k, v = self.heads(self.w_kv(x), layout).chunk(2, dim=1)
        return (self.layer.apply_rotary(k, start) if self.changes else k), v

    def __call__(
        self,
        residual: Float[Tensor, "rows d_model"],
        x: Float[Tensor, "rows d_model"],
        layout: Layout,
        keys_values: KeysValues,
        mask: Mask | None = None,
        start: Start = 0,
    ) -> Float[Tensor, "rows d_model"]:
        """Attend from `x`, and add the residual."""
        q = self.heads(self.w_q(x), layout)
        if self.changes:
            q = self.layer.apply_rotary(q, start)
        k, v = keys_values
        if layout.tokens == 1 and layout.batch >= FORMULA_FROM and q.device.type == "cpu":
            heads = batched_attention(q, k, v, mask)
        else:
            heads = self.layer.attend(q, k, v, attn_mask=mask)
        merged = heads.transpose(1, 2).reshape(layout.batch, layout.tokens, -1)
        return self.w_o.plus(layout.pick(merged), residual)


def norm_of(layer: nn.LayerNorm) -> Callable[[Tensor], Tensor]:
    """A LayerNorm as a function: `nn.LayerNorm` takes more time to be called than to compute."""
    return partial(
        torch.layer_norm,
        normalized_shape=layer.normalized_shape,
        weight=layer.weight,
        bias=layer.bias,
        eps=layer.eps,
    )


class FastBlock:
    """An `EncoderBlock` or a `DecoderBlock` on rows."""

    def __init__(self, block: Any):
        self.norms = [norm_of(residual.norm) for residual in block.residuals]
        self.pre = block.residuals[0].place == "pre"
        self.attention = FastAttention(block.attention)
        if isinstance(block, DecoderBlock):
            self.cross_attention = FastAttention(block.cross_attention)
        self.activation = block.feed_forward.activation
        self.w_in = product(block.feed_forward.w_in, relu=self.activation is F.relu)
        self.w_out = product(block.feed_forward.w_out)

    def before(self, i: int, x: Float[Tensor, "rows d_model"]) -> Float[Tensor, "rows d_model"]:
        """The input of sublayer `i`."""
        return self.norms[i](x) if self.pre else x

    def after(self, i: int, x: Float[Tensor, "rows d_model"]) -> Float[Tensor, "rows d_model"]:
        """What follows the residual sum of sublayer `i`."""
        return x if self.pre else self.norms[i](x)

    def encode(
        self, x: Float[Tensor, "rows d_model"], layout: Layout, mask: Mask | None
    ) -> Float[Tensor, "rows d_model"]:
        y = self.before(0, x)
        x = self.after(0, self.attention(x, y, layout, self.attention.keys_values(y, layout), mask))
        return self.feed_forward(1, x)

    def decode(
        self,
        x: Float[Tensor, "rows d_model"],
        memory: Float[Tensor, "rows source d_model"],
        mask: Mask | None,
        caches: tuple[GrowingCache, MemoryCache],
    ) -> Float[Tensor, "rows d_model"]:
        """One token of each sequence. mask: which tokens of the memory are no padding."""
        layout, start = Layout(len(x), 1), caches[0].length
        y = self.before(0, x)
        own = caches[0].extend(y[:, None], lambda _: self.attention.keys_values(y, layout, start))
        x = self.after(0, self.attention(x, y, layout, own, start=start))
        source = caches[1].extend(memory, lambda _: self.project(memory, mask))
        x = self.after(1, self.cross_attention(x, self.before(1, x), layout, source, mask))
        return self.feed_forward(2, x)

    def project(self, memory: Float[Tensor, "batch source d_model"], mask: Mask | None) -> KeysValues:
        """Keys and values of the memory, without computing its padding."""
        nonpad = None if mask is None else nonpad_indices(mask.flatten(1).long(), pad=0)
        batch, source, _ = memory.shape
        layout = Layout(batch, source, nonpad)
        return self.cross_attention.keys_values(layout.pick(memory), layout)

    def feed_forward(self, i: int, x: Float[Tensor, "rows d_model"]) -> Float[Tensor, "rows d_model"]:
        y = self.w_in(self.before(i, x))
        y = y if self.w_in.relu else self.activation(y)
        return self.after(i, self.w_out.plus(y, x))


class Seq2SeqEngine:
    """The engine of a `Seq2Seq`, with the weights that it has now.

    `applies`: whether this engine computes what the model would compute now. It does not while somebody
    records or changes what happens inside (hooks, `record_attention`), needs gradients, trains, or uses
    autocast; nor for layers that it does not know, such as `Int8Linear`; nor on a GPU, where it has not been
    measured.
    """

    def __init__(self, model: Any):
        self.model = model
        modules = [*model.encoder.modules(), *model.decoder.modules()]
        self.known = all(type(module) in PLAIN and "forward" not in vars(module) for module in modules)
        self.hooks = [hooks for m in modules for hooks in (m._forward_hooks, m._forward_pre_hooks)]
        self.layers = [vars(m) for m in modules if isinstance(m, MultiHeadAttention)]
        if self.known:
            self.encoder, self.decoder = (
                [FastBlock(block) for block in blocks] for blocks in (model.encoder, model.decoder)
            )
            self.output = Product(model.embedding.weight)

    def applies(self) -> bool:
        device = self.model.embedding.weight.device.type
        if device != "cpu" or not self.known or self.model.training or any(self.hooks):
            return False
        if torch.is_grad_enabled() or torch.is_autocast_enabled(device):
            return False
        attends = [layer.get("attend", cpu_bf16_attention) for layer in self.layers]
        return all(attend is cpu_bf16_attention for attend in attends)

    def encode(
        self, source: Int[Tensor, "batch source"], mask: Mask | None, nonpad: Int[Tensor, " rows"] | None
    ) -> Float[Tensor, "batch source d_model"]:
        """The encoder's output.

        mask: `padding_mask`; None if there is no padding. nonpad: `nonpad_indices`; None for all tokens. The
        others get zeros.
        """
        batch, tokens = source.shape
        layout = Layout(batch, tokens, nonpad)
        x = layout.pick(self.model.embed(source))
        for block in self.encoder:
            x = block.encode(x, layout, mask)
        return layout.place(self.model.encoder_norm(x))

    def next_logits(
        self,
        ids: Int[Tensor, "batch 1"],
        memory: Float[Tensor, "batch source d_model"],
        mask: Mask | None,
        cache: DecoderCache,
    ) -> Float[Tensor, "batch vocab"]:
        """Logits of the token after those in the cache and `ids`, which are appended to the cache."""
        x = self.model.embed(ids, cache.length)[:, 0]
        for i, block in enumerate(self.decoder):
            x = block.decode(x, memory, mask, cache.layer(i))
        return self.output(self.model.decoder_norm(x))
