"""GPT: the decoder-only Transformer."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.generation.state import TextGenerator
from course_lib.layers.blocks import EncoderBlock
from course_lib.layers.kv_cache import GrowingCache
from course_lib.layers.masks import Mask, causal_mask
from course_lib.models.common import POSITIONS, BlockConfig, zero_outputs
from course_lib.text.tokenizers import PAD
from course_lib.utils.ranges import check_axes, check_names, check_whole_numbers


@dataclass(frozen=True, kw_only=True)
class GPTConfig(BlockConfig):
    """Configuration of a `GPT`; the defaults of the options are GPT-2's.

    max_tokens: context length. positions: "learned", "rotary", "sinusoidal" or "none".
    zero_outputs: initialize the output of every sublayer to zero. Other fields: see `BlockConfig`.

    >>> GPTConfig(vocab=65, d_model=64, heads=5)
    Traceback (most recent call last):
    ValueError: heads=5 does not divide d_model=64
    """

    vocab: int
    layers: int = 4
    max_tokens: int = 64
    positions: str = "learned"
    zero_outputs: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names(self, positions=POSITIONS, zero_outputs=(True, False))
        check_whole_numbers(self, 1, "vocab", "max_tokens")
        check_whole_numbers(self, 0, "layers")


class GPT(nn.Module):
    """Decoder-only language model: blocks with causal self-attention, and a tied embedding matrix.

    Source: Radford et al. 2019, section 2.3 (also the initialization); Press and Wolf 2017 (weight tying).

    >>> model = GPT(GPTConfig(vocab=65))
    >>> model(torch.tensor([[1, 2, 3]])).shape  # logits of the token after each of the three
    torch.Size([1, 3, 65])
    """

    padding: int | None = PAD  # not in prompts; None if the vocabulary has no PAD, as GPT-2's

    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = c = config
        self.embedding = nn.Embedding(c.vocab, c.d_model)
        self.positions = POSITIONS[c.positions](c.max_tokens, c.d_model)
        self.dropout = nn.Dropout(c.dropout)
        block = c.block(c.rotary(c.positions, c.max_tokens))
        self.blocks = nn.ModuleList(EncoderBlock(**block) for _ in range(c.layers))
        self.norm = c.last_norm()
        self.scale = c.d_model**0.5 if c.positions == "sinusoidal" else 1.0  # to match sines of size 1
        self.init_weights()

    def init_weights(self) -> None:
        """Standard deviation 0.02; 0.02 / √(2·layers) for the matrices that write to the residual stream."""
        for name, p in self.named_parameters():
            if p.ndim == 2:
                last = name.endswith(("w_o.weight", "w_out.weight"))
                nn.init.normal_(p, std=0.02 / (2 * len(self.blocks)) ** 0.5 if last else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(p)
        if self.config.zero_outputs:
            zero_outputs(self)

    def hidden_states(
        self,
        ids: Int[Tensor, "batch tokens"],
        custom_mask: Mask | None = None,
        caches: Sequence[GrowingCache] | None = None,
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Hidden states after the final LayerNorm, from which the next tokens are predicted.

        custom_mask: replaces the causal mask, as a prefix language model does.
        caches: one per block, with the earlier tokens; `ids` then has only new ones.
        Raises ValueError for no tokens, and for more than max_tokens.
        """
        check_axes(ids, "batch, tokens")
        start, tokens, most = caches[0].length if caches else 0, ids.shape[1], self.config.max_tokens
        if tokens == 0 or (isinstance(start, int) and start + tokens > most):
            raise ValueError(f"{start} + {tokens} tokens: the model takes 1 to max_tokens={most}")
        mask = custom_mask
        if mask is None:
            mask = caches[0].mask(tokens, ids.device) if caches else causal_mask(tokens, device=ids.device)
        x = self.embedding(ids) * self.scale  # (batch, tokens, d_model)
        x = self.dropout(self.positions(x, start))
        for block, cache in zip(self.blocks, caches or repeat(None), strict=False):
            x = block(x, mask, cache)  # (batch, tokens, d_model)
        return self.norm(x)

    def output_logits(self, hidden_states: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
        """Logits of the next token."""
        return F.linear(hidden_states, self.embedding.weight)  # the embedding matrix again: weight tying

    def forward(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch tokens vocab"]:
        """Logits of the token after each token of `ids`."""
        return self.output_logits(self.hidden_states(ids))

    def generator(self, compiled: bool = False) -> TextGenerator:
        """The model during generation. compiled: see `Seq2Seq.generator`."""
        return TextGenerator(self, compiled)
