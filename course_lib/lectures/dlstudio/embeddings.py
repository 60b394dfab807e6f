"""Words as vectors with their positions: DLStudio's EmbeddingsGenerator."""

import math

from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.lectures.dlstudio.blocks import DLStudioConfig
from course_lib.lectures.dlstudio.oddities import Oddities
from course_lib.positions import sinusoidal


class EmbeddingsGenerator(nn.Module):
    """A table of word vectors, to which the sinusoidal positions are added.

    The slides' 100^(2·arange(0, M, 2)/M) is 10000^(2i/M), so the positions are those of the paper.
    Source: Kak slides 61-64.
    """

    def __init__(self, vocab: int, config: DLStudioConfig, oddities: Oddities):
        super().__init__()
        self.embedding = nn.Embedding(vocab, config.d_model)
        self.register_buffer("positions", sinusoidal(config.tokens, config.d_model), persistent=False)
        self.dropout = nn.Dropout(0.0 if oddities.no_dropout else config.dropout)
        self.scale = 1.0 if oddities.unscaled_embeddings else math.sqrt(config.d_model)
        self.fixed_length = oddities.flat
        # vectors of variance 1, when scaled; also small where they are the output layer's weights
        lecture = oddities.unscaled_embeddings and oddities.untied_output
        self.deviation = 1.0 if lecture else config.d_model**-0.5
        self.draw()

    def draw(self) -> None:
        """New random vectors for all words."""
        nn.init.normal_(self.embedding.weight, std=self.deviation)

    def forward(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch tokens d_model"]:
        """Raises ValueError for too many tokens, and for too few where layers read whole sentences."""
        tokens, most = ids.shape[1], len(self.positions)
        if tokens > most or (self.fixed_length and tokens < most):
            raise ValueError(f"sentences of {tokens} tokens do not fit a model of tokens={most}")
        return self.dropout(self.embedding(ids) * self.scale + self.positions[:tokens])
