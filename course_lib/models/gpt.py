"""GPT: the decoder-only Transformer."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat

from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.generation.state import TextGenerator
from course_lib.layers.attention import head_width
from course_lib.layers.blocks import ACTIVATIONS, EncoderBlock
from course_lib.layers.kv_cache import GrowingCache
from course_lib.layers.linear import linear
from course_lib.layers.masks import Mask, causal_mask
from course_lib.layers.positions import LearnedPositions, NoPositions, RotaryPositions, SinusoidalPositions

POSITIONS = {"learned": LearnedPositions, "rotary": NoPositions, "sinusoidal": SinusoidalPositions}


@dataclass(frozen=True, kw_only=True)
class GPTConfig:
    """Configuration of a `GPT`; the defaults of the options are GPT-2's.

    max_tokens: context length. dropout: probability, on the embeddings and on the output of each sublayer.
    positions: "learned", "rotary" or "sinusoidal". activation: "gelu", "relu" or "squared relu".
    qk_norm: see `MultiHeadAttention`. zero_outputs: initialize the output of every sublayer to zero.
    """

    vocab: int
    d_model: int = 128
    heads: int = 4
    layers: int = 4
    max_tokens: int = 64
    dropout: float = 0.0
    positions: str = "learned"
    activation: str = "gelu"
    qk_norm: bool = False
    zero_outputs: bool = False


class GPT(nn.Module):
    """Decoder-only language model: blocks with causal self-attention, and a tied embedding matrix.

    Source: Radford et al. 2019, section 2.3 (also the initialization); Press and Wolf 2017 (weight tying).
    """

    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = c = config
        for field, known in (("positions", POSITIONS), ("activation", ACTIVATIONS)):
            if getattr(c, field) not in known:
                raise ValueError(f"{field}={getattr(c, field)!r} is none of {sorted(known)}")
        d_head = head_width(c.d_model, c.heads)
        rotary = RotaryPositions(c.max_tokens, d_head) if c.positions == "rotary" else None
        sizes = (c.d_model, c.heads, 4 * c.d_model, c.dropout, "pre", ACTIVATIONS[c.activation], rotary)
        self.embedding = nn.Embedding(c.vocab, c.d_model)
        self.positions = POSITIONS[c.positions](c.max_tokens, c.d_model)
        self.dropout = nn.Dropout(c.dropout)
        self.blocks = nn.ModuleList(EncoderBlock(*sizes, qk_norm=c.qk_norm) for _ in range(c.layers))
        self.norm = nn.LayerNorm(c.d_model)
        self.scale = c.d_model**0.5 if c.positions == "sinusoidal" else 1.0  # to match sines of size 1
        self.init_weights()

    def init_weights(self) -> None:
        """Standard deviation 0.02; 0.02 / √(2·layers) for the matrices that write to the residual stream."""
        last = 0.0 if self.config.zero_outputs else 0.02 / (2 * len(self.blocks)) ** 0.5
        for name, p in self.named_parameters():
            if p.ndim == 2:
                nn.init.normal_(p, std=last if name.endswith(("w_o.weight", "w_out.weight")) else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def hidden_states(
        self,
        ids: Int[Tensor, "batch tokens"],
        mask: Mask | None = None,
        caches: Sequence[GrowingCache] | None = None,
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Hidden states after the final LayerNorm, from which the next tokens are predicted.

        mask: causal by default. caches: one per block, with the earlier tokens; `ids` then has only new ones.
        Raises ValueError for no tokens, and for more than max_tokens.
        """
        start, tokens, most = caches[0].length if caches else 0, ids.shape[1], self.config.max_tokens
        if tokens == 0 or (isinstance(start, int) and start + tokens > most):
            raise ValueError(f"{start} + {tokens} tokens: the model takes 1 to max_tokens={most}")
        if mask is None:
            mask = caches[0].mask(tokens, ids.device) if caches else causal_mask(tokens, device=ids.device)
        x = self.dropout(self.positions(self.embedding(ids) * self.scale, start))
        for block, cache in zip(self.blocks, caches or repeat(None), strict=False):
            x = block(x, mask, cache)
        return self.norm(x)

    def output_logits(self, hidden_states: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
        """Logits of the next token."""
        return linear(hidden_states, self.embedding.weight)

    def forward(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch tokens vocab"]:
        """Logits of the token after each token of `ids`."""
        return self.output_logits(self.hidden_states(ids))

    def generator(self, compiled: bool = False) -> TextGenerator:
        """The model during generation. compiled: see `Seq2Seq.generator`."""
        return TextGenerator(self, compiled)
