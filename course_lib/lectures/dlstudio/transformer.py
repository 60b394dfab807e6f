"""DLStudio's `TransformerFG` and `TransformerPreLN`, reimplemented with switches for their deviations."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.layers.blocks import is_pre_norm
from course_lib.layers.masks import Mask, causal_mask
from course_lib.lectures.dlstudio.blocks import BasicDecoder, BasicEncoder, DLStudioConfig, keep_first
from course_lib.lectures.dlstudio.deviations import Deviations
from course_lib.lectures.dlstudio.embeddings import EmbeddingsGenerator
from course_lib.lectures.dlstudio.words import EOS, SOS, real_words

States = Float[Tensor, "batch tokens d_model"]
CORRECT = Deviations()


class MasterEncoder(nn.Module):
    """A stack of Basic Encoders. Source: Kak slide 43."""

    def __init__(self, config: DLStudioConfig, deviations: Deviations, norm: str):
        super().__init__()
        self.blocks = nn.ModuleList(
            BasicEncoder(config, deviations, norm) for _ in range(config.encoder_layers)
        )
        self.norm = last_norm(config, deviations, norm)

    def forward(self, x: States, mask: Mask | None = None) -> States:
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x)


class MasterDecoder(nn.Module):
    """A stack of Basic Decoders and the output layer. Source: Kak slides 57-59."""

    def __init__(self, config: DLStudioConfig, deviations: Deviations, norm: str):
        super().__init__()
        self.deviations = deviations
        self.blocks = nn.ModuleList(
            BasicDecoder(config, deviations, norm) for _ in range(config.decoder_layers)
        )
        self.norm = last_norm(config, deviations, norm)
        self.out = nn.Linear(config.d_model, config.target_vocab, bias=deviations.untied_output)

    def forward(
        self,
        x: States,
        memory: Float[Tensor, "batch source d_model"],
        mask: Mask | None,
        memory_mask: Mask | None,
        slots: Sequence[int],
    ) -> Float[Tensor, "batch slots target_vocab"]:
        """Log-probabilities of the words in these output slots; slot 1 is the first after SOS."""
        at = [
            slot if self.deviations.no_shift else slot - 1 for slot in slots
        ]  # positions at which they are predicted
        if self.deviations.pass_per_position:
            # one full pass per word; without zeroing, all passes are identical
            states = [self.stack(x, memory, mask, memory_mask, slot) for slot in slots]
            states = torch.stack([state[:, i] for state, i in zip(states, at, strict=True)], dim=1)
        else:
            states = self.stack(x, memory, mask, memory_mask, None)[:, at]
        return self.out(states).log_softmax(dim=-1)

    def stack(
        self, x: States, memory: Tensor, mask: Mask | None, memory_mask: Mask | None, slot: int | None
    ) -> States:
        """One pass through the blocks. slot: to predict; with zeroing, only earlier words are visible."""
        visible = slot if self.deviations.zeroing else None
        if visible is not None:
            x = keep_first(x, visible, dim=1)
        for block in self.blocks:
            x = block(x, memory, mask, memory_mask, visible)
        return self.norm(x)


class TransformerFG(nn.Module):
    """First-generation Transformer, post-norm: a LayerNorm after each residual addition.

    Without deviations, embeddings are scaled, have dropout and share weights with the output layer, masks
    apply to the scores, and one pass predicts each word one position before it.
    Source: DLStudio 2.4.3; Vaswani et al. 2017.
    """

    place_of_norm = "post"

    def __init__(self, config: DLStudioConfig, deviations: Deviations = CORRECT):
        super().__init__()
        self.config, self.deviations = config, deviations
        self.embed_source = EmbeddingsGenerator(config.source_vocab, config, deviations)
        self.embed_target = EmbeddingsGenerator(config.target_vocab, config, deviations)
        self.encoder = MasterEncoder(config, deviations, self.place_of_norm)
        self.decoder = MasterDecoder(config, deviations, self.place_of_norm)
        if not deviations.untied_output:
            self.decoder.out.weight = self.embed_target.embedding.weight

    def encode(self, source: Int[Tensor, "batch source"]) -> Float[Tensor, "batch source d_model"]:
        """Encoder output for the source sentences."""
        return self.encoder(self.embed_source(source), self.padding(source))

    def decode(
        self,
        target: Int[Tensor, "batch target"],
        memory: Float[Tensor, "batch source d_model"],
        source: Int[Tensor, "batch source"],
        slots: Sequence[int],
    ) -> Float[Tensor, "batch slots target_vocab"]:
        """Log-probabilities of the words in these slots, given the visible words of `target`."""
        if self.deviations.unmasked or self.deviations.mask_by_zeroing:
            mask = self.padding(target)
        else:  # also hides the padding, which comes after all words
            mask = causal_mask(target.shape[1], device=target.device)
        return self.decoder(self.embed_target(target), memory, mask, self.padding(source), slots)

    def padding(self, ids: Int[Tensor, "batch tokens"]) -> Mask | None:
        return None if self.deviations.padding_attended else real_words(ids)[:, None, None, :]

    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> tuple[Float[Tensor, "batch target target_vocab"], Int[Tensor, "batch target"]]:
        """Log-probabilities for each target position, and the most probable words.

        Slot 0 is not predicted: its log-probabilities are 0 and its word is SOS (EOS with `starts_with_eos`).
        """
        predicted = self.decode(target, self.encode(source), source, range(1, target.shape[1]))
        first = torch.full_like(target[:, :1], EOS if self.deviations.starts_with_eos else SOS)
        return F.pad(predicted, (0, 0, 1, 0)), torch.cat([first, predicted.argmax(-1)], dim=1)


class TransformerPreLN(TransformerFG):
    """Pre-norm version: a LayerNorm before each sublayer, and a final one after each stack.

    Source: DLStudio 2.4.3; Xiong et al. 2020.
    """

    place_of_norm = "pre"


def last_norm(config: DLStudioConfig, deviations: Deviations, norm: str) -> nn.Module:
    if deviations.no_final_norm or not is_pre_norm(norm):
        return nn.Identity()
    return nn.LayerNorm(config.d_model)
