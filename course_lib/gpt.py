"""The decoder-only Transformer that continues a text: GPT."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.blocks import ACTIVATIONS, EncoderBlock
from course_lib.cache import GrowingCache
from course_lib.masks import Mask, causal_mask
from course_lib.positions import LearnedPositions, NoPositions, RotaryPositions, SinusoidalPositions
from course_lib.text_generator import TextGenerator

POSITIONS = {"learned": LearnedPositions, "rotary": NoPositions, "sinusoidal": SinusoidalPositions}


@dataclass(frozen=True, kw_only=True)
class GPTConfig:
    """Sizes of a language model, and what has changed since GPT-2, whose form is the default.

    max_tokens: of the longest text. dropout: probability, on the embeddings and on what each sublayer adds.
    positions: "learned", "rotary" or "sinusoidal". activation: "gelu", "relu" or "squared relu".
    normalise: queries and keys, in attention. zero_outputs: every sublayer begins by adding nothing.
    """

    vocab: int
    d_model: int = 128
    heads: int = 4
    layers: int = 4
    max_tokens: int = 64
    dropout: float = 0.0
    positions: str = "learned"
    activation: str = "gelu"
    normalise: bool = False
    zero_outputs: bool = False


class GPT(nn.Module):
    """Says what may follow each token of a text: encoder blocks under a causal mask, one table of vectors.

    Source: Radford et al. 2019, section 2.3, also for the first weights; Press and Wolf 2017 (one table).
    """

    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = c = config
        for field, known in (("positions", POSITIONS), ("activation", ACTIVATIONS)):
            if getattr(c, field) not in known:
                raise ValueError(f"{field}={getattr(c, field)!r} is none of {sorted(known)}")
        rotary = RotaryPositions(c.max_tokens, c.d_model // c.heads) if c.positions == "rotary" else None
        sizes = (c.d_model, c.heads, 4 * c.d_model, c.dropout, "pre", ACTIVATIONS[c.activation], rotary)
        self.embedding = nn.Embedding(c.vocab, c.d_model)
        self.positions = POSITIONS[c.positions](c.max_tokens, c.d_model)
        self.dropout = nn.Dropout(c.dropout)
        self.blocks = nn.ModuleList(EncoderBlock(*sizes, normalise=c.normalise) for _ in range(c.layers))
        self.norm = nn.LayerNorm(c.d_model)
        self.scale = c.d_model**0.5 if c.positions == "sinusoidal" else 1.0  # sines have size 1
        self.initialise()

    def initialise(self) -> None:
        """Spread 0.02, and less in the matrices that add to the residual sum, the more blocks there are."""
        last = 0.0 if self.config.zero_outputs else 0.02 / (2 * len(self.blocks)) ** 0.5
        for name, p in self.named_parameters():
            if p.ndim == 2:
                nn.init.normal_(p, std=last if name.endswith(("w_o.weight", "w_out.weight")) else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def states(
        self,
        ids: Int[Tensor, "batch tokens"],
        mask: Mask | None = None,
        caches: Sequence[GrowingCache] | None = None,
    ) -> Float[Tensor, "batch tokens d_model"]:
        """What the last LayerNorm leaves of each token: from this the next one is predicted.

        mask: which tokens may look at which; by default each at itself and those before it.
        caches: one for each block, of the tokens read before; then `ids` holds only the new ones.
        Raises ValueError where there are no tokens, and where there are more than max_tokens.
        """
        start, tokens, most = caches[0].length if caches else 0, ids.shape[1], self.config.max_tokens
        if tokens == 0 or (isinstance(start, int) and start + tokens > most):
            raise ValueError(f"{start} + {tokens} tokens: it takes 1 to max_tokens={most}")
        if mask is None:
            mask = caches[0].mask(tokens, ids.device) if caches else causal_mask(tokens, device=ids.device)
        x = self.dropout(self.positions(self.embedding(ids) * self.scale, start))
        for block, cache in zip(self.blocks, caches or repeat(None), strict=False):
            x = block(x, mask, cache)
        return self.norm(x)

    def unembed(self, states: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
        """How well each token of the vocabulary fits each state: logits."""
        return F.linear(states, self.embedding.weight)

    def forward(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch tokens vocab"]:
        """Logits of the token that follows each token of `ids`."""
        return self.unembed(self.states(ids))

    def generator(self, compiled: bool = False) -> TextGenerator:
        """The model about to write. compiled: see `Seq2Seq.generator`."""
        return TextGenerator(self, compiled)
