"""The encoder-decoder Transformer that translates."""

import math
from dataclasses import dataclass

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.blocks import DecoderBlock, EncoderBlock
from course_lib.cache import DecoderCache, Reader
from course_lib.masks import causal_mask, padding_mask, real_tokens
from course_lib.positions import LearnedPositions, NoPositions, RotaryPositions, SinusoidalPositions, Start
from course_lib.tokens import PAD


@dataclass(frozen=True, kw_only=True)
class Seq2SeqConfig:
    """Sizes of a translation model.

    vocab: tokens of the vocabulary that both languages share.
    max_tokens: the longest sentence, control tokens included.
    dropout: probability, on the embeddings and on what each sublayer adds.
    norm: "pre" or "post". positions: "sinusoidal", "learned" or "rotary".
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


@dataclass(frozen=True)
class Memory:
    """A batch of source sentences as the encoder leaves them, and which of their tokens are real."""

    states: Float[Tensor, "batch source d_model"]
    mask: Bool[Tensor, "batch 1 1 source"]

    def select(self, rows: Int[Tensor, " rows"]) -> "Memory":
        return Memory(self.states[rows], self.mask[rows])


class Seq2Seq(nn.Module):
    """Reads a source sentence, writes a target sentence.

    One table of vectors serves source, target and output. With norm="pre" each stack ends in a LayerNorm,
    without which its last residual sum would stay unnormalised.
    Source: Vaswani et al. 2017; Press and Wolf 2017 (one table); Xiong et al. 2020 (the last LayerNorm).
    """

    def __init__(self, config: Seq2SeqConfig):
        super().__init__()
        self.config = config
        c = config
        sizes = (c.d_model, c.heads, c.d_ff, c.dropout, c.norm)
        kinds = {"sinusoidal": SinusoidalPositions, "learned": LearnedPositions, "rotary": NoPositions}
        if c.positions not in kinds:
            raise ValueError(f"positions={c.positions!r} is none of {sorted(kinds)}")
        rotary = RotaryPositions(c.max_tokens, c.d_model // c.heads) if c.positions == "rotary" else None
        last = nn.LayerNorm if c.norm == "pre" else nn.Identity
        self.embedding = nn.Embedding(c.vocab, c.d_model)
        self.positions = kinds[c.positions](c.max_tokens, c.d_model)
        self.dropout = nn.Dropout(c.dropout)
        self.encoder = nn.ModuleList(EncoderBlock(*sizes, rotary=rotary) for _ in range(c.encoder_layers))
        self.decoder = nn.ModuleList(DecoderBlock(*sizes, rotary=rotary) for _ in range(c.decoder_layers))
        self.encoder_norm, self.decoder_norm = last(c.d_model), last(c.d_model)
        self.apply(initialise)

    def embed(
        self, ids: Int[Tensor, "batch tokens"], start: Start = 0
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Vectors of the tokens, scaled to the size of the positions that are added."""
        scaled = self.embedding(ids) * math.sqrt(self.config.d_model)
        return self.dropout(self.positions(scaled, start))

    def encode(self, source: Int[Tensor, "batch source"]) -> Memory:
        """Source ids, padded with PAD, to the encoder's memory."""
        mask = padding_mask(source, PAD)
        x, real = self.embed(source), without_padding(source)
        for block in self.encoder:
            x = block(x, mask, real=real)
        return Memory(self.encoder_norm(x), mask)

    def decode(
        self, target: Int[Tensor, "batch target"], memory: Memory, cache: DecoderCache | None = None
    ) -> Float[Tensor, "batch target d_model"]:
        """Target ids to the states from which the following tokens are predicted.

        A position sees itself and those before it; padding stands on the right, where no real token looks.
        cache: of the tokens read before; then `target` holds only the new ones.
        """
        tokens, device = target.shape[1], target.device
        if cache is None:
            start, mask, real = 0, causal_mask(tokens, device=device), without_padding(target)
        else:
            start, mask, real = cache.length, cache.mask(tokens, device), None
        x = self.embed(target, start)
        for i, block in enumerate(self.decoder):
            caches = cache.layer(i) if cache else (None, None)
            x = block(x, memory.states, mask, memory.mask, caches, real)
        return self.decoder_norm(x)

    def unembed(self, states: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
        """How well each token of the vocabulary fits each state: logits."""
        return F.linear(states, self.embedding.weight)

    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocab"]:
        """Logits of the token that follows each token of `target`, every position in one pass."""
        return self.unembed(self.decode(target, self.encode(source)))

    def generator(
        self, source: Int[Tensor, "batch source"], room: int | None = None, compiled: bool = False
    ) -> "TranslationGenerator":
        """The model in the middle of translating these sentences.

        room: the most tokens that will be read, by default max_tokens.
        compiled: single tokens are read by code that `torch.compile` makes at the first one. That takes a
        while and is worth it for much text in batches of one size. Sources are padded to multiples of 16
        tokens, so that few shapes need code of their own.
        """
        if compiled:
            source = F.pad(source, (0, -source.shape[1] % 16), value=PAD)
        return TranslationGenerator(self, source, room or self.config.max_tokens, compiled)


class TranslationGenerator:
    """A `Seq2Seq` in the middle of writing: encoder's memory and decoder's cache."""

    def __init__(self, model: Seq2Seq, source: Int[Tensor, "batch source"], room: int, compiled: bool):
        self.model, self.memory = model, model.encode(source)
        self.cache = DecoderCache(model.config.decoder_layers, room, static=compiled)
        self.reader = Reader(next_logits, room, compiled)
        self.fixed = compiled

    def read(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch vocab"]:
        """Read some more tokens of the target; the logits of the one that follows."""
        return self.reader(ids, self.model, self.memory, self.cache)

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Go on with these sentences of the batch, in this order."""
        self.memory = self.memory.select(rows)
        self.cache.select(rows)


def next_logits(
    ids: Int[Tensor, "batch tokens"], model: Seq2Seq, memory: Memory, cache: DecoderCache
) -> Float[Tensor, "batch vocab"]:
    """The logits of the token that follows what is in the cache and `ids`."""
    return model.unembed(model.decode(ids, memory, cache)[:, -1])


def without_padding(ids: Int[Tensor, "batch tokens"]) -> Int[Tensor, " real"] | None:
    """`real_tokens`, or None where they save no work: in a batch with little padding, and on a GPU.

    A GPU does the superfluous work in less time than it takes to wait for the number of tokens.
    """
    if ids.device.type != "cpu":
        return None
    real = real_tokens(ids, PAD)
    return real if len(real) < ids.numel() else None


def initialise(module: nn.Module) -> None:
    """Xavier for matrices; embeddings so small that, scaled by √d_model, they have variance 1."""
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
