"""DLStudio's `TransformerFG` and `TransformerPreLN`, rebuilt: encoder, decoder, log-probabilities."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.lectures.dlstudio.blocks import BasicDecoder, BasicEncoder, DLStudioConfig, keep_first
from course_lib.lectures.dlstudio.embeddings import EmbeddingsGenerator
from course_lib.lectures.dlstudio.oddities import Oddities
from course_lib.lectures.dlstudio.words import EOS, SOS, real_words
from course_lib.masks import Mask, causal_mask

States = Float[Tensor, "batch tokens d_model"]
CORRECT = Oddities()


class MasterEncoder(nn.Module):
    """A stack of Basic Encoders. Source: Kak slide 43."""

    def __init__(self, config: DLStudioConfig, oddities: Oddities, norm: str):
        super().__init__()
        self.blocks = nn.ModuleList(
            BasicEncoder(config, oddities, norm) for _ in range(config.encoder_layers)
        )
        self.norm = last_norm(config, oddities, norm)

    def forward(self, x: States, mask: Mask | None = None) -> States:
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x)


class MasterDecoder(nn.Module):
    """A stack of Basic Decoders and the output layer. Source: Kak slides 57-59."""

    def __init__(self, config: DLStudioConfig, oddities: Oddities, norm: str):
        super().__init__()
        self.oddities = oddities
        self.blocks = nn.ModuleList(
            BasicDecoder(config, oddities, norm) for _ in range(config.decoder_layers)
        )
        self.norm = last_norm(config, oddities, norm)
        self.out = nn.Linear(config.d_model, config.target_vocab, bias=oddities.untied_output)

    def forward(
        self,
        x: States,
        memory: Float[Tensor, "batch source d_model"],
        mask: Mask | None,
        memory_mask: Mask | None,
        slots: Sequence[int],
    ) -> Float[Tensor, "batch slots target_vocab"]:
        """Log-probabilities of the words in these slots of the output, slot 1 being the first after SOS."""
        at = [slot if self.oddities.no_shift else slot - 1 for slot in slots]  # where each is predicted
        if self.oddities.pass_per_position:
            # one whole pass for each word; where nothing is zeroed, every time the same one
            states = [self.stack(x, memory, mask, memory_mask, slot) for slot in slots]
            states = torch.stack([state[:, i] for state, i in zip(states, at, strict=True)], dim=1)
        else:
            states = self.stack(x, memory, mask, memory_mask, None)[:, at]
        return self.out(states).log_softmax(dim=-1)

    def stack(
        self, x: States, memory: Tensor, mask: Mask | None, memory_mask: Mask | None, slot: int | None
    ) -> States:
        """One pass through the blocks. slot: whose word is wanted, so that the words before it are seen."""
        visible = slot if self.oddities.zeroing else None
        if visible is not None:
            x = keep_first(x, visible, dim=1)
        for block in self.blocks:
            x = block(x, memory, mask, memory_mask, visible)
        return self.norm(x)


class TransformerFG(nn.Module):
    """The first-generation Transformer: a LayerNorm after each residual sum.

    Without oddities, embeddings are scaled, dropped out and tied to the output layer, masks stand in the
    scores, and one pass predicts each word one position before it.
    Source: DLStudio 2.4.3; Vaswani et al. 2017.
    """

    place_of_norm = "post"

    def __init__(self, config: DLStudioConfig, oddities: Oddities = CORRECT):
        super().__init__()
        self.config, self.oddities = config, oddities
        self.embed_source = EmbeddingsGenerator(config.source_vocab, config, oddities)
        self.embed_target = EmbeddingsGenerator(config.target_vocab, config, oddities)
        self.encoder = MasterEncoder(config, oddities, self.place_of_norm)
        self.decoder = MasterDecoder(config, oddities, self.place_of_norm)
        if not oddities.untied_output:
            self.decoder.out.weight = self.embed_target.embedding.weight

    def encode(self, source: Int[Tensor, "batch source"]) -> Float[Tensor, "batch source d_model"]:
        """The encoder's memory of the source sentences."""
        return self.encoder(self.embed_source(source), self.padding(source))

    def decode(
        self,
        target: Int[Tensor, "batch target"],
        memory: Float[Tensor, "batch source d_model"],
        source: Int[Tensor, "batch source"],
        slots: Sequence[int],
    ) -> Float[Tensor, "batch slots target_vocab"]:
        """Log-probabilities of the words in some slots, given those of `target` that may be seen."""
        if self.oddities.unmasked or self.oddities.mask_by_zeroing:
            mask = self.padding(target)
        else:  # it hides the padding too, which comes after all words
            mask = causal_mask(target.shape[1], device=target.device)
        return self.decoder(self.embed_target(target), memory, mask, self.padding(source), slots)

    def padding(self, ids: Int[Tensor, "batch tokens"]) -> Mask | None:
        return None if self.oddities.padding_attended else real_words(ids)[:, None, None, :]

    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> tuple[Float[Tensor, "batch target target_vocab"], Int[Tensor, "batch target"]]:
        """Log-probabilities of each word of the target, and the most probable words.

        Nothing is predicted for slot 0: its log-probabilities are 0, its word is SOS, or EOS as an oddity.
        """
        predicted = self.decode(target, self.encode(source), source, range(1, target.shape[1]))
        first = torch.full_like(target[:, :1], EOS if self.oddities.starts_with_eos else SOS)
        return F.pad(predicted, (0, 0, 1, 0)), torch.cat([first, predicted.argmax(-1)], dim=1)


class TransformerPreLN(TransformerFG):
    """The same with a LayerNorm before each sublayer, and a last one after each stack.

    Source: DLStudio 2.4.3; Xiong et al. 2020.
    """

    place_of_norm = "pre"


def last_norm(config: DLStudioConfig, oddities: Oddities, norm: str) -> nn.Module:
    if norm == "post" or oddities.no_final_norm:
        return nn.Identity()
    return nn.LayerNorm(config.d_model)
