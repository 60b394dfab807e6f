"""Token embeddings with sinusoidal positions: DLStudio's EmbeddingsGenerator."""

import math
from functools import partial

from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.layers.positions import sinusoidal
from course_lib.layers.tables import ComputedTable
from course_lib.lectures.dlstudio.blocks import DLStudioConfig
from course_lib.lectures.dlstudio.deviations import Deviations
from course_lib.utils.ranges import check_axes


class EmbeddingsGenerator(ComputedTable):
    """Embedding matrix plus sinusoidal position encodings.

    The slides' 100^(2·arange(0, M, 2)/M) is 10000^(2i/M), so the positions are those of the paper.
    Source: Kak slides 61-64.
    """

    positions: Tensor

    def __init__(self, vocab: int, config: DLStudioConfig, deviations: Deviations):
        super().__init__("positions", partial(sinusoidal, config.tokens, config.d_model))
        self.embedding = nn.Embedding(vocab, config.d_model)
        self.dropout = nn.Dropout(0.0 if deviations.no_dropout else config.dropout)
        self.scale = 1.0 if deviations.unscaled_embeddings else math.sqrt(config.d_model)
        self.fixed_length = deviations.flat
        # variance 1 after scaling; small values also suit the output layer when weights are tied
        lecture = deviations.unscaled_embeddings and deviations.untied_output
        self.deviation = 1.0 if lecture else config.d_model**-0.5
        self.draw()

    def draw(self) -> None:
        """Draw new random embeddings for all words."""
        nn.init.normal_(self.embedding.weight, std=self.deviation)

    def forward(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch tokens d_model"]:
        """Embed ids. Raises ValueError for too many tokens, or too few if layers read flattened sentences."""
        check_axes(ids, "batch, tokens")
        tokens, most = ids.shape[1], len(self.positions)
        if tokens > most or (self.fixed_length and tokens < most):
            raise ValueError(f"sentences of {tokens} tokens do not fit a model of tokens={most}")
        scaled = self.embedding(ids) * self.scale
        return self.dropout(scaled + self.positions[:tokens].to(scaled.dtype))
