"""The encoder that reads a whole text: BERT's form, or the same with pre-norm blocks."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.blocks import EncoderBlock
from course_lib.masks import Mask, causal_mask, padding_mask
from course_lib.positions import LearnedPositions, NoPositions, SinusoidalPositions
from course_lib.tokens import PAD

POSITIONS = {
    "learned": LearnedPositions,
    "sinusoidal": SinusoidalPositions,
    "none": lambda max_tokens, d_model: NoPositions(),
}


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """Sizes of a text encoder, and its form; with norm="post", types=2, epsilon=1e-12 that of BERT.

    max_tokens: of the longest text. d_ff: width inside the feed-forward layers, 4·d_model where it is 0.
    types: kinds of tokens, such as those of a first and of a second sentence; 0: they have no vectors.
    dropout: probability, on the embeddings and on what each sublayer adds. epsilon: of every LayerNorm.
    positions: "learned", "sinusoidal" or "none". norm: "pre" or "post". causal: whether the future is hidden.
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
    """Gives each token of a text a state that knows of the others: encoder blocks over embedded ids.

    Its own LayerNorm stands after the blocks with norm="pre", and before them with "post".
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

    def states(
        self,
        ids: Int[Tensor, "batch tokens"],
        mask: Mask | None = None,
        types: Int[Tensor, "batch tokens"] | None = None,
    ) -> Float[Tensor, "batch tokens d_model"]:
        """The state of each token.

        mask: which tokens may look at which; by default all at all but padding, with `causal` none ahead.
        types: the kind of each token, 0 by default.
        Raises ValueError for more tokens than max_tokens.
        """
        tokens, c = ids.shape[1], self.config
        if tokens > c.max_tokens:
            raise ValueError(f"{tokens} tokens are more than max_tokens={c.max_tokens}")
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

    def unembed(self, states: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
        """How well each token of the vocabulary fits each state: logits, for learning by masked tokens."""
        return F.linear(states, self.embedding.weight)
