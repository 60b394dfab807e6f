"""Encoder-only Transformer for text: BERT, or the same with pre-norm blocks."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.layers.blocks import EncoderBlock
from course_lib.layers.masks import Mask, causal_mask, padding_mask
from course_lib.models.common import POSITIONS, BlockConfig
from course_lib.text.tokenizers import PAD
from course_lib.utils.ranges import check_axes, check_names, check_whole_numbers


@dataclass(frozen=True, kw_only=True)
class EncoderConfig(BlockConfig):
    """Configuration of a `TextEncoder`; norm="post", types=2, epsilon=1e-12 make it a BERT.

    max_tokens: length of the longest text. causal: use a causal mask.
    types: token types (segments), such as first and second sentence; 0: no type embeddings.
    positions: "learned", "sinusoidal", "rotary" or "none". The other fields are those of `BlockConfig`.

    >>> config = EncoderConfig(vocab=30522, d_model=768, heads=12, layers=12, max_tokens=512, types=2)
    >>> config.d_model // config.heads  # width of one head
    64
    """

    vocab: int
    d_model: int = 64
    layers: int = 2
    max_tokens: int = 64
    types: int = 0
    positions: str = "learned"
    activation: str = "exact gelu"
    causal: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names(self, positions=POSITIONS, causal=(True, False))
        check_whole_numbers(self, 1, "vocab", "max_tokens")
        check_whole_numbers(self, 0, "layers", "types")


class TextEncoder(nn.Module):
    """Encoder-only Transformer: a contextual hidden state for each token.

    Its own LayerNorm comes after the blocks with norm="pre", and before them with norm="post".
    Source: Devlin et al. 2019, section 3.

    >>> model = TextEncoder(EncoderConfig(vocab=100))
    >>> model.hidden_states(torch.tensor([[5, 6, 7]])).shape
    torch.Size([1, 3, 64])
    """

    def __init__(self, config: EncoderConfig):
        super().__init__()
        self.config = c = config
        self.embedding = nn.Embedding(c.vocab, c.d_model)
        self.positions = POSITIONS[c.positions](c.max_tokens, c.d_model)
        self.types = nn.Embedding(c.types, c.d_model) if c.types else None
        self.dropout = nn.Dropout(c.dropout)
        block = c.block(c.rotary(c.positions, c.max_tokens))
        self.blocks = nn.ModuleList(EncoderBlock(**block) for _ in range(c.layers))
        self.norm = nn.LayerNorm(c.d_model, c.epsilon)
        for module in self.modules():
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)

    def hidden_states(
        self,
        ids: Int[Tensor, "batch tokens"],
        custom_mask: Mask | None = None,
        types: Int[Tensor, "batch tokens"] | None = None,
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Hidden state of each token.

        custom_mask: replaces the padding mask (combined with the causal mask if `causal`).
        types: token type of each token, 0 by default.
        Raises ValueError for more tokens than max_tokens.
        """
        check_axes(ids, "batch, tokens")
        tokens, c = ids.shape[1], self.config
        if tokens > c.max_tokens:
            raise ValueError(f"{tokens} tokens exceed max_tokens={c.max_tokens}")
        mask = padding_mask(ids, PAD) if custom_mask is None else custom_mask
        if c.causal and custom_mask is None:
            mask = mask & causal_mask(tokens, device=ids.device)  # (batch, 1, tokens, tokens)
        x = self.positions(self.embedding(ids))  # (batch, tokens, d_model)
        if self.types is not None:
            x = x + self.types(torch.zeros_like(ids) if types is None else types)
        x = self.dropout(self.norm(x) if c.norm == "post" else x)
        for block in self.blocks:
            x = block(x, mask)  # (batch, tokens, d_model)
        return self.norm(x) if c.norm == "pre" else x

    def output_logits(self, hidden_states: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
        """Logits over the vocabulary, for masked language modeling."""
        return F.linear(hidden_states, self.embedding.weight)
