"""What the models share: the configuration of their blocks, its ranges, positions by name, initialization."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from course_lib.layers.blocks import ACTIVATIONS
from course_lib.layers.multi_head_attention import head_width
from course_lib.layers.positions import LearnedPositions, NoPositions, RotaryPositions, SinusoidalPositions
from course_lib.utils.ranges import check_names, check_numbers, check_whole_numbers

POSITIONS: dict[str, Callable[[int, int], nn.Module]] = {  # of max_tokens, d_model
    "learned": LearnedPositions,
    "sinusoidal": SinusoidalPositions,
    "rotary": NoPositions,  # the attention layers rotate queries and keys instead
    "none": NoPositions,
}


@dataclass(frozen=True, kw_only=True)
class BlockConfig:
    """Configuration of a model's blocks, shared by all models; each has its own defaults.

    d_model: width of the hidden states. heads: must divide it. kv_heads, qk_norm: see `MultiHeadAttention`.
    d_ff: width inside the feed-forward networks; 0 means 4·d_model.
    dropout: probability, on the embeddings and on the output of each sublayer; 0 to below 1.
    norm: "pre" or "post". activation: "relu", "gelu" (the tanh form), "exact gelu" or "squared relu".
    epsilon: of every LayerNorm.
    Raises ValueError for a value outside its range.
    """

    d_model: int = 128
    heads: int = 4
    kv_heads: int | None = None
    d_ff: int = 0
    dropout: float = 0.0
    norm: str = "pre"
    activation: str = "gelu"
    qk_norm: bool = False
    epsilon: float = 1e-5

    def __post_init__(self) -> None:
        check_names(self, norm=("pre", "post"), activation=ACTIVATIONS, qk_norm=(True, False))
        check_whole_numbers(self, 1, "d_model", "heads", *(["kv_heads"] if self.kv_heads is not None else []))
        check_whole_numbers(self, 0, "d_ff")
        head_width(self.d_model, self.heads)
        if self.heads % (self.kv_heads or self.heads):
            raise ValueError(f"kv_heads={self.kv_heads} does not divide heads={self.heads}")
        check_numbers(self, "[0, 1)", "dropout")
        check_numbers(self, "(0, inf)", "epsilon")

    def block(self, rotary: RotaryPositions | None = None) -> dict[str, Any]:
        """Arguments of an `EncoderBlock` or a `DecoderBlock`."""
        return {
            "d_model": self.d_model,
            "heads": self.heads,
            "kv_heads": self.kv_heads,
            "d_ff": self.d_ff or 4 * self.d_model,
            "dropout": self.dropout,
            "norm": self.norm,
            "activation": ACTIVATIONS[self.activation],
            "qk_norm": self.qk_norm,
            "epsilon": self.epsilon,
            "rotary": rotary,
        }

    def last_norm(self) -> nn.Module:
        """What follows the last block: LayerNorm for pre-norm blocks, whose sum nothing else normalizes."""
        return nn.LayerNorm(self.d_model, self.epsilon) if self.norm == "pre" else nn.Identity()

    def rotary(self, positions: str, max_tokens: int) -> RotaryPositions | None:
        """Rotary positions for all blocks, if `positions` is "rotary"."""
        return RotaryPositions(max_tokens, self.d_model // self.heads) if positions == "rotary" else None


def init_weights(module: nn.Module) -> None:
    """Xavier initialization of matrices; embeddings get variance 1 after a scaling by √d_model.

    Source: Glorot and Bengio 2010, equation (16).
    """
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
