"""Encoder-only Transformer for text: BERT, or the same with pre-norm blocks."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.layers.blocks import EncoderBlock
from course_lib.layers.linear import linear
from course_lib.layers.masks import Mask, causal_mask, padding_mask
from course_lib.layers.positions import LearnedPositions, NoPositions, SinusoidalPositions
from course_lib.text.tokenizers import PAD

POSITIONS = {
    "learned": LearnedPositions,
    "sinusoidal": SinusoidalPositions,
    "none": lambda max_tokens, d_model: NoPositions(),
}


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """Configuration of a `TextEncoder`; norm="post", types=2, epsilon=1e-12 make it a BERT.

    max_tokens: length of the longest text. d_ff: width inside the feed-forward layers; 0 means 4·d_model.
    types: token types (segments), such as first and second sentence; 0: no type embeddings.
    dropout: probability, on the embeddings and on the output of each sublayer. epsilon: of every LayerNorm.
    positions: "learned", "sinusoidal" or "none". norm: "pre" or "post". causal: use a causal mask.
    """

    vocab: int
    d_model: int = 64
    heads: int = 4
    layers: int = 2
    d_ff: int = 0
    max_tokens: int = 64
    types: int = 0
    dropout: float = 0.0
    positions: str = "learned"
    norm: str = "pre"
    causal: bool = False
    epsilon: float = 1e-5


class TextEncoder(nn.Module):
    """Encoder-only Transformer: a contextual hidden state for each token.

    Its own LayerNorm comes after the blocks with norm="pre", and before them with norm="post".
    Raises ValueError for unknown positions.
    Source: Devlin et al. 2019, section 3.
    """

    def __init__(self, config: EncoderConfig):
        super().__init__()
        self.config = c = config
        if c.positions not in POSITIONS:
            raise ValueError(f"positions={c.positions!r} is none of {sorted(POSITIONS)}")
        self.embedding = nn.Embedding(c.vocab, c.d_model)
        self.positions = POSITIONS[c.positions](c.max_tokens, c.d_model)
        self.types = nn.Embedding(c.types, c.d_model) if c.types else None
        self.dropout = nn.Dropout(c.dropout)
        sizes = (c.d_model, c.heads, c.d_ff or 4 * c.d_model, c.dropout, c.norm, F.gelu)
        self.blocks = nn.ModuleList(EncoderBlock(*sizes) for _ in range(c.layers))
        self.norm = nn.LayerNorm(c.d_model)
        for module in self.modules():
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)
            elif isinstance(module, nn.LayerNorm):
                module.eps = c.epsilon

    def hidden_states(
        self,
        ids: Int[Tensor, "batch tokens"],
        mask: Mask | None = None,
        types: Int[Tensor, "batch tokens"] | None = None,
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Hidden state of each token.

        mask: by default the padding mask, combined with the causal mask if `causal`.
        types: token type of each token, 0 by default.
        Raises ValueError for more tokens than max_tokens.
        """
        tokens, c = ids.shape[1], self.config
        if tokens > c.max_tokens:
            raise ValueError(f"{tokens} tokens exceed max_tokens={c.max_tokens}")
        if mask is None:
            mask = padding_mask(ids, PAD)
            mask = mask & causal_mask(tokens, device=ids.device) if c.causal else mask
        x = self.positions(self.embedding(ids))
        if self.types is not None:
            x = x + self.types(torch.zeros_like(ids) if types is None else types)
        x = self.dropout(self.norm(x) if c.norm == "post" else x)
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x) if c.norm == "pre" else x

    def output_logits(self, hidden_states: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
        """Logits over the vocabulary, for masked language modeling."""
        return linear(hidden_states, self.embedding.weight)
