"""A decoder-only model in the middle of writing."""

from collections.abc import Sequence

from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.cache import GrowingCache, Reader, StaticCache


class TextGenerator:
    """A `GPT` in the middle of writing: what its layers have kept of the text so far."""

    def __init__(self, model: nn.Module, compiled: bool = False):
        self.model, self.fixed = model, compiled
        self.start_anew()

    def start_anew(self) -> None:
        """Forget the text."""
        most = self.model.config.max_tokens
        self.caches = [StaticCache(most) if self.fixed else GrowingCache(most) for _ in self.model.blocks]
        self.reader = Reader(next_logits, most, self.fixed)

    def read(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch vocab"]:
        """Read some more tokens; the logits of the one that follows. Raises ValueError past max_tokens."""
        return self.reader(ids, self.model, self.caches)

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Go on with these texts of the batch, in this order."""
        for cache in self.caches:
            cache.select(rows)


def next_logits(
    ids: Int[Tensor, "batch tokens"], model: nn.Module, caches: Sequence[GrowingCache]
) -> Float[Tensor, "batch vocab"]:
    """The logits of the token that follows what is in the caches and `ids`."""
    return model.unembed(model.states(ids, caches=caches)[:, -1])
