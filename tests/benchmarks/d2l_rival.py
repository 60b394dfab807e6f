"""The Transformer of "Dive into Deep Learning", from the pieces that the package d2l brings.

The package has the encoder; the decoder, which stands only in the book, is put together here, and does what
the book's does: the causal mask is there in training only; a block keeps its inputs, and projects their keys
and values again at each step; every generated token gets position 0.
"""

import importlib.util
import math
import warnings

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.tokens import BOS, PAD

NEEDED = ("d2l", "torchvision")


def absent() -> str:
    """Why d2l cannot be measured here; empty where it can."""
    lacking = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    return f"{' and '.join(lacking)} not installed" if lacking else ""


def load():
    """The module d2l.torch."""
    from course_lib.torchvision_ops import import_torchvision

    import_torchvision()
    from d2l import torch as d2l

    return d2l


class DecoderBlock(nn.Module):
    """Self-attention, cross-attention, feed-forward, each followed by its sum and LayerNorm.

    number: of the block in its stack, under which the state keeps its inputs.
    """

    def __init__(self, d2l, d_model: int, d_ff: int, heads: int, dropout: float, number: int):
        super().__init__()
        self.number = number
        self.attention1 = d2l.MultiHeadAttention(d_model, heads, dropout, bias=True)
        self.attention2 = d2l.MultiHeadAttention(d_model, heads, dropout, bias=True)
        self.ffn = d2l.PositionWiseFFN(d_ff, d_model)
        self.addnorm1, self.addnorm2, self.addnorm3 = (d2l.AddNorm(d_model, dropout) for _ in range(3))

    def forward(self, x: Tensor, state: list) -> tuple[Tensor, list]:
        memory, memory_lengths, inputs = state
        earlier = inputs[self.number]
        seen = x if earlier is None else torch.cat([earlier, x], dim=1)
        inputs[self.number] = seen
        lengths = None
        if self.training:
            batch, tokens, _ = x.shape
            lengths = torch.arange(1, tokens + 1, device=x.device).repeat(batch, 1)
        x = self.addnorm1(x, self.attention1(x, seen, seen, lengths))
        x = self.addnorm2(x, self.attention2(x, memory, memory, memory_lengths))
        return self.addnorm3(x, self.ffn(x)), state


class Decoder(nn.Module):
    """Embedding, positions, blocks, and the output layer, which shares its matrix with the embedding."""

    def __init__(self, d2l, embedding: nn.Embedding, d_ff: int, heads: int, layers: int, dropout: float):
        super().__init__()
        d_model = embedding.embedding_dim
        self.embedding = embedding
        self.positions = d2l.PositionalEncoding(d_model, dropout)
        self.blocks = nn.ModuleList(
            DecoderBlock(d2l, d_model, d_ff, heads, dropout, i) for i in range(layers)
        )

    def init_state(self, memory: Tensor, memory_lengths: Tensor) -> list:
        return [memory, memory_lengths, [None] * len(self.blocks)]

    def forward(self, ids: Tensor, state: list) -> tuple[Tensor, list]:
        x = self.positions(self.embedding(ids) * math.sqrt(self.embedding.embedding_dim))
        for block in self.blocks:
            x, state = block(x, state)
        return F.linear(x, self.embedding.weight), state


class D2LTransformer(nn.Module):
    """d2l's encoder and the decoder above, in d2l's own `EncoderDecoder`, with one table of vectors."""

    def __init__(
        self,
        vocab: int,
        d_model: int = 256,
        heads: int = 4,
        d_ff: int = 1024,
        layers: int = 2,
        max_tokens: int = 128,
        dropout: float = 0.1,
    ):
        super().__init__()
        d2l = load()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Lazy modules")
            encoder = d2l.TransformerEncoder(vocab, d_model, d_ff, heads, layers, dropout, use_bias=True)
            nn.init.normal_(encoder.embedding.weight, std=d_model**-0.5)
            decoder = Decoder(d2l, encoder.embedding, d_ff, heads, layers, dropout)
            self.system = d2l.EncoderDecoder(encoder, decoder)
            ids = torch.full((1, 2), BOS)
            self(ids, ids)  # d2l's layers learn their sizes from their first input

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Logits of the token that follows each token of `target`; causal in training mode only."""
        return self.system(source, target, (source != PAD).sum(dim=1))


@torch.inference_mode()
def greedy(model: D2LTransformer, source: Tensor, tokens: int) -> Tensor:
    """Write `tokens` tokens with d2l's own `predict_step`."""
    start = torch.full((len(source), 1), BOS, device=source.device)
    batch = (source, start, (source != PAD).sum(dim=1), start)  # of the last one it makes no use
    return model.system.predict_step(batch, source.device, tokens)[0]
