"""Seq2Seq: the encoder-decoder Transformer."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.generation.state import CachingGenerator, new_caches
from course_lib.layers.blocks import DecoderBlock, EncoderBlock
from course_lib.layers.kv_cache import GrowingCache, MemoryCache, check_forget
from course_lib.layers.masks import causal_mask, padding_mask
from course_lib.layers.positions import Start
from course_lib.models.common import POSITIONS, BlockConfig, init_weights, zero_outputs
from course_lib.text.tokenizers import PAD
from course_lib.utils.ranges import check_axes, check_names, check_whole_numbers


@dataclass(frozen=True, kw_only=True)
class Seq2SeqConfig(BlockConfig):
    """Configuration of a `Seq2Seq`; the defaults of the options are those of the original paper.

    vocab: size of the vocabulary shared by both languages.
    max_tokens: length of the longest sequence, special tokens included.
    positions: "sinusoidal", "learned", "rotary" or "none".
    zero_outputs: as in `GPTConfig`. The other fields are those of `BlockConfig`.

    >>> Seq2SeqConfig(vocab=100, positions="relative")
    Traceback (most recent call last):
    ValueError: positions='relative' is none of ['learned', 'none', 'rotary', 'sinusoidal']
    """

    vocab: int
    d_model: int = 256
    d_ff: int = 1024
    encoder_layers: int = 2
    decoder_layers: int = 2
    max_tokens: int = 128
    dropout: float = 0.1
    positions: str = "sinusoidal"
    activation: str = "relu"
    zero_outputs: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names(self, positions=POSITIONS, zero_outputs=(True, False))
        check_whole_numbers(self, 1, "vocab", "max_tokens")
        check_whole_numbers(self, 0, "encoder_layers", "decoder_layers")


@dataclass(frozen=True)
class Encoded:
    """A batch of source sequences after the encoder.

    memory: the encoder's output. mask: the padding mask over it.
    """

    memory: Float[Tensor, "batch source d_model"]
    mask: Bool[Tensor, "batch 1 1 source"]

    def select(self, rows: Int[Tensor, " rows"]) -> "Encoded":
        """These rows of the batch, in this order."""
        return Encoded(self.memory[rows], self.mask[rows])


class Seq2Seq(nn.Module):
    """Encoder-decoder Transformer: reads a source sequence and predicts a target sequence.

    Weight tying: source, target and output layer share one embedding matrix. With norm="pre", each stack
    ends in a LayerNorm; otherwise the last residual sum would never be normalized.
    Source: Vaswani et al. 2017; Press and Wolf 2017 (weight tying); Xiong et al. 2020 (final LayerNorm).

    >>> model = Seq2Seq(Seq2SeqConfig(vocab=100, d_model=32))
    >>> source, target = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[1, 9, 10]])
    >>> model(source, target).shape  # logits of the token after each target token
    torch.Size([1, 3, 100])
    """

    def __init__(self, config: Seq2SeqConfig):
        super().__init__()
        self.config = c = config
        block = c.block(c.rotary(c.positions, c.max_tokens))
        self.embedding = nn.Embedding(c.vocab, c.d_model)
        self.positions = POSITIONS[c.positions](c.max_tokens, c.d_model)
        self.dropout = nn.Dropout(c.dropout)
        self.encoder = nn.ModuleList(EncoderBlock(**block) for _ in range(c.encoder_layers))
        self.decoder = nn.ModuleList(DecoderBlock(**block) for _ in range(c.decoder_layers))
        self.encoder_norm, self.decoder_norm = c.last_norm(), c.last_norm()
        self.apply(init_weights)
        if c.zero_outputs:
            zero_outputs(self)

    def embed(
        self, ids: Int[Tensor, "batch tokens"], start: Start = 0
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Token embeddings, scaled by √d_model to match the position encodings, plus these."""
        scaled = self.embedding(ids) * math.sqrt(self.config.d_model)
        return self.dropout(self.positions(scaled, start))

    def encode(self, source: Int[Tensor, "batch source"]) -> Encoded:
        """Run the encoder on source ids, padded with PAD."""
        check_axes(source, "batch, tokens")
        mask = padding_mask(source, PAD)  # (batch, 1, 1, source)
        x = self.embed(source)  # (batch, source, d_model)
        for block in self.encoder:
            x = block(x, mask)  # (batch, source, d_model)
        return Encoded(self.encoder_norm(x), mask)

    def decode(
        self,
        target: Int[Tensor, "batch target"],
        encoded: Encoded,
        caches: Sequence[tuple[GrowingCache, MemoryCache]] | None = None,
    ) -> Float[Tensor, "batch target d_model"]:
        """Run the decoder on target ids; returns the hidden states from which the next tokens are predicted.

        Attention is causal; padding is on the right, where no other token attends to it.
        caches: a pair per block, for self-attention and cross-attention, with the earlier tokens; `target`
        then has only new ones.
        """
        check_axes(target, "batch, tokens")
        tokens, device, first = target.shape[1], target.device, caches[0][0] if caches else None
        mask = first.mask(tokens, device) if first else causal_mask(tokens, device=device)
        x = self.embed(target, first.length if first else 0)  # (batch, target, d_model)
        for block, pair in zip(self.decoder, caches or repeat((None, None)), strict=False):
            x = block(x, encoded.memory, mask, encoded.mask, pair)  # (batch, target, d_model)
        return self.decoder_norm(x)

    def output_logits(self, hidden_states: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
        """Logits of the next token."""
        return F.linear(hidden_states, self.embedding.weight)  # the embedding matrix again: weight tying

    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocab"]:
        """Logits of the token after each token of `target` (teacher forcing: all positions in one pass)."""
        return self.output_logits(self.decode(target, self.encode(source)))

    def generator(
        self, source: Int[Tensor, "batch source"], max_tokens: int | None = None, compiled: bool = False
    ) -> "TranslationGenerator":
        """The model during generation, for these source sequences.

        max_tokens: the most target tokens that will be read; by default that of the configuration.
        compiled: single tokens go through `torch.compile`. Compiling takes a while and pays off for many
        batches of one size. Sources are padded to multiples of 16 tokens, so that few shapes are compiled.
        """
        if compiled:
            source = F.pad(source, (0, -source.shape[1] % 16), value=PAD)
        return TranslationGenerator(self, source, max_tokens or self.config.max_tokens, compiled)


class TranslationGenerator(CachingGenerator):
    """A `Seq2Seq` during generation: the encoder's memory and the decoder's key-value caches."""

    def __init__(
        self, model: Seq2Seq, source: Int[Tensor, "batch source"], max_tokens: int, compiled: bool = False
    ):
        super().__init__(model, model.decode, max_tokens, compiled)
        own = new_caches(model.config.decoder_layers, max_tokens, compiled)
        self.caches = [(cache, MemoryCache()) for cache in own]
        self.sources, self.encoded = len(source), model.encode(source)

    def read(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch vocab"]:
        """Append target tokens; return the logits of the next one."""
        step = self.next_step(ids.shape[1])
        return self.model.output_logits(step(ids, self.encoded, self.caches)[:, -1])

    def read_all(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch tokens vocab"]:
        """Append target tokens; return the logits after each of them."""
        step = self.next_step(ids.shape[1])
        return self.model.output_logits(step(ids, self.encoded, self.caches))

    def forget(self, tokens: int) -> None:
        """Drop the newest target tokens from the caches. Raises ValueError if there are fewer."""
        check_forget(tokens, self.length)
        self.length -= tokens
        for own, _ in self.caches:
            own.forget(tokens)

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these rows of the batch, in this order."""
        self.encoded, self.sources = self.encoded.select(rows), len(rows)
        for own, cross in self.caches:
            own.select(rows)
            cross.select(rows)
