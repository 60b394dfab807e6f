"""Seq2Seq: the encoder-decoder Transformer."""

import math
from dataclasses import dataclass

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.generation.engine import Seq2SeqEngine
from course_lib.generation.state import CompiledStep
from course_lib.layers.attention import head_width
from course_lib.layers.blocks import ACTIVATIONS, DecoderBlock, EncoderBlock
from course_lib.layers.kv_cache import DecoderCache
from course_lib.layers.linear import linear
from course_lib.layers.masks import causal_mask, nonpad_indices, padding_mask
from course_lib.layers.positions import (
    LearnedPositions,
    NoPositions,
    RotaryPositions,
    SinusoidalPositions,
    Start,
)
from course_lib.text.tokenizers import PAD

POSITIONS = {"sinusoidal": SinusoidalPositions, "learned": LearnedPositions, "rotary": NoPositions}


@dataclass(frozen=True, kw_only=True)
class Seq2SeqConfig:
    """Configuration of a `Seq2Seq`.

    vocab: size of the vocabulary shared by both languages.
    max_tokens: length of the longest sequence, special tokens included.
    dropout: probability, on the embeddings and on the output of each sublayer.
    norm: "pre" or "post". positions: "sinusoidal", "learned" or "rotary".
    activation, qk_norm, zero_outputs: as in `GPTConfig`; the defaults are those of the original paper.
    """

    vocab: int
    d_model: int = 256
    heads: int = 4
    d_ff: int = 1024
    encoder_layers: int = 2
    decoder_layers: int = 2
    max_tokens: int = 128
    dropout: float = 0.1
    norm: str = "pre"
    positions: str = "sinusoidal"
    activation: str = "relu"
    qk_norm: bool = False
    zero_outputs: bool = False


@dataclass(frozen=True)
class Memory:
    """The encoder's output for a batch of source sequences: hidden states, and the padding mask over them."""

    hidden_states: Float[Tensor, "batch source d_model"]
    mask: Bool[Tensor, "batch 1 1 source"]

    def select(self, rows: Int[Tensor, " rows"]) -> "Memory":
        return Memory(self.hidden_states[rows], self.mask[rows])


class Seq2Seq(nn.Module):
    """Encoder-decoder Transformer: reads a source sequence and predicts a target sequence.

    Weight tying: source, target and output layer share one embedding matrix. With norm="pre", each stack
    ends in a LayerNorm; otherwise the last residual sum would never be normalized.
    Source: Vaswani et al. 2017; Press and Wolf 2017 (weight tying); Xiong et al. 2020 (final LayerNorm).
    """

    def __init__(self, config: Seq2SeqConfig):
        super().__init__()
        self.config = config
        c = config
        for field, known in (("positions", POSITIONS), ("activation", ACTIVATIONS)):
            if getattr(c, field) not in known:
                raise ValueError(f"{field}={getattr(c, field)!r} is none of {sorted(known)}")
        d_head = head_width(c.d_model, c.heads)
        rotary = RotaryPositions(c.max_tokens, d_head) if c.positions == "rotary" else None
        sizes = (c.d_model, c.heads, c.d_ff, c.dropout, c.norm, ACTIVATIONS[c.activation], rotary, c.qk_norm)
        last = nn.LayerNorm if c.norm == "pre" else nn.Identity
        self.embedding = nn.Embedding(c.vocab, c.d_model)
        self.positions = POSITIONS[c.positions](c.max_tokens, c.d_model)
        self.dropout = nn.Dropout(c.dropout)
        self.encoder = nn.ModuleList(EncoderBlock(*sizes) for _ in range(c.encoder_layers))
        self.decoder = nn.ModuleList(DecoderBlock(*sizes) for _ in range(c.decoder_layers))
        self.encoder_norm, self.decoder_norm = last(c.d_model), last(c.d_model)
        self.apply(init_weights)
        if c.zero_outputs:
            zero_outputs(self)

    def embed(
        self, ids: Int[Tensor, "batch tokens"], start: Start = 0
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Token embeddings, scaled by √d_model to match the position encodings, plus these."""
        scaled = self.embedding(ids) * math.sqrt(self.config.d_model)
        return self.dropout(self.positions(scaled, start))

    def encode(self, source: Int[Tensor, "batch source"]) -> Memory:
        """Run the encoder on source ids, padded with PAD."""
        mask = padding_mask(source, PAD)
        x, nonpad = self.embed(source), indices_without_padding(source)
        for block in self.encoder:
            x = block(x, mask, nonpad=nonpad)
        return Memory(self.encoder_norm(x), mask)

    def decode(
        self, target: Int[Tensor, "batch target"], memory: Memory, cache: DecoderCache | None = None
    ) -> Float[Tensor, "batch target d_model"]:
        """Run the decoder on target ids; returns the hidden states from which the next tokens are predicted.

        Attention is causal; padding is on the right, where no other token attends to it.
        cache: the earlier tokens; `target` then holds only the new ones.
        """
        tokens, device = target.shape[1], target.device
        if cache is None:
            start, mask = 0, causal_mask(tokens, device=device)
            nonpad = indices_without_padding(target)
        else:
            start, mask, nonpad = cache.length, cache.mask(tokens, device), None
        x = self.embed(target, start)
        for i, block in enumerate(self.decoder):
            caches = cache.layer(i) if cache else (None, None)
            x = block(x, memory.hidden_states, mask, memory.mask, caches, nonpad)
        return self.decoder_norm(x)

    def output_logits(self, hidden_states: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
        """Logits of the next token."""
        return linear(hidden_states, self.embedding.weight)

    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocab"]:
        """Logits of the token after each token of `target` (teacher forcing: all positions in one pass)."""
        return self.output_logits(self.decode(target, self.encode(source)))

    def generator(
        self,
        source: Int[Tensor, "batch source"],
        max_tokens: int | None = None,
        compiled: bool = False,
        engine: Seq2SeqEngine | None = None,
    ) -> "TranslationGenerator":
        """The model during generation, for these source sequences.

        max_tokens: the most target tokens that will be read; by default that of the configuration.
        compiled: single tokens go through `torch.compile`. Compiling takes a while and pays off for many
        batches of one size. Sources are padded to multiples of 16 tokens, so that few shapes are compiled.
        engine: that of this model, to prepare it once for several batches; by default a new one.
        """
        if compiled:
            source = F.pad(source, (0, -source.shape[1] % 16), value=PAD)
        return TranslationGenerator(self, source, max_tokens or self.config.max_tokens, compiled, engine)


class TranslationGenerator:
    """A `Seq2Seq` during generation: the encoder's memory and the decoder's key-value caches.

    Where it can, it computes with a `Seq2SeqEngine`, which is faster: the same numbers, up to rounding.
    """

    def __init__(
        self,
        model: Seq2Seq,
        source: Int[Tensor, "batch source"],
        max_tokens: int,
        compiled: bool = False,
        engine: Seq2SeqEngine | None = None,
    ):
        self.model = model
        self.cache = DecoderCache(model.config.decoder_layers, max_tokens, static=compiled)
        self.reader = CompiledStep(next_logits, max_tokens, compiled)
        self.static_batch, self.padded = compiled, True
        self.engine = None if compiled else engine or Seq2SeqEngine(model)
        if self.engine and self.engine.model is not model:
            raise ValueError("the engine is that of another model")
        if self.engine and self.engine.applies():
            mask, nonpad = padding_mask(source, PAD), indices_without_padding(source)
            self.padded = source.device.type != "cpu" or not mask.all()  # a GPU would have to wait for it
            self.memory = Memory(self.engine.encode(source, mask if self.padded else None, nonpad), mask)
        else:
            self.memory = model.encode(source)

    def read(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch vocab"]:
        """Append target tokens; return the logits of the next one."""
        if self.engine and ids.shape[1] == 1 and self.engine.applies():
            self.reader.reserve(1)
            mask = self.memory.mask if self.padded else None
            return self.engine.next_logits(ids, self.memory.hidden_states, mask, self.cache)
        return self.reader(ids, self.model, self.memory, self.cache)

    def read_all(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch tokens vocab"]:
        """Append target tokens; return the logits after each of them."""
        self.reader.reserve(ids.shape[1])
        return self.model.output_logits(self.model.decode(ids, self.memory, self.cache))

    def forget(self, tokens: int) -> None:
        """Drop the newest target tokens from the caches."""
        self.reader.length -= tokens
        self.cache.forget(tokens)

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these rows of the batch, in this order."""
        self.memory = self.memory.select(rows)
        self.cache.select(rows)


def next_logits(
    ids: Int[Tensor, "batch tokens"], model: Seq2Seq, memory: Memory, cache: DecoderCache
) -> Float[Tensor, "batch vocab"]:
    """Logits of the token after those in the cache and `ids`."""
    return model.output_logits(model.decode(ids, memory, cache)[:, -1])


def indices_without_padding(ids: Int[Tensor, "batch tokens"]) -> Int[Tensor, " nonpad"] | None:
    """`nonpad_indices`, or None if skipping the padding saves nothing: little padding, or a GPU.

    A GPU computes the padding in less time than it takes to wait for the number of indices.
    """
    if ids.device.type != "cpu":
        return None
    nonpad = nonpad_indices(ids, PAD)
    return nonpad if len(nonpad) < ids.numel() else None


def init_weights(module: nn.Module) -> None:
    """Xavier initialization of matrices; embeddings get variance 1 after the scaling by √d_model."""
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)


def zero_outputs(model: nn.Module) -> None:
    """Zero the matrices that write to the residual stream: at first, every sublayer adds nothing."""
    for name, p in model.named_parameters():
        if name.endswith(("w_o.weight", "w_out.weight")):
            nn.init.zeros_(p)
