"""What an attention layer has projected before, kept so that no token is projected twice."""

from collections.abc import Callable
from typing import TypeAlias

from jaxtyping import Float, Int
from torch import Tensor

KeysValues: TypeAlias = tuple[
    Float[Tensor, "batch heads keys d_head"], Float[Tensor, "batch heads keys d_head"]
]
Project: TypeAlias = Callable[[Tensor], KeysValues]


class GrowingCache:
    """Keys and values of the tokens read so far (self-attention), in a buffer of fixed size.

    max_tokens: the most tokens it can hold.
    """

    def __init__(self, max_tokens: int):
        self.max_tokens, self.length = max_tokens, 0
        self.buffer: KeysValues | None = None

    def extend(self, new: Float[Tensor, "batch tokens d_model"], project: Project) -> KeysValues:
        """Project the new tokens, store them behind the old ones, and return all.

        Raises ValueError where they do not fit.
        """
        end = self.length + new.shape[1]
        if end > self.max_tokens:
            raise ValueError(f"{end} tokens do not fit into a cache of max_tokens={self.max_tokens}")
        k, v = project(new)
        if self.buffer is None:
            shape = (*k.shape[:2], self.max_tokens, k.shape[3])
            self.buffer = (k.new_empty(shape), v.new_empty(shape))
        for old, fresh in zip(self.buffer, (k, v), strict=True):
            old[:, :, self.length : end] = fresh
        self.length = end
        return self.buffer[0][:, :, :end], self.buffer[1][:, :, :end]

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these sentences of the batch, in this order."""
        if self.buffer is not None:
            self.buffer = (self.buffer[0][rows], self.buffer[1][rows])


class MemoryCache:
    """Keys and values of a memory that stays the same while the output grows (cross-attention)."""

    def __init__(self) -> None:
        self.buffer: KeysValues | None = None

    def extend(self, memory: Float[Tensor, "batch keys d_model"], project: Project) -> KeysValues:
        """Project the memory at the first call; return the same keys and values at every later one."""
        if self.buffer is None:
            self.buffer = project(memory)
        return self.buffer

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these sentences of the batch, in this order."""
        if self.buffer is not None:
            self.buffer = (self.buffer[0][rows], self.buffer[1][rows])


Cache: TypeAlias = GrowingCache | MemoryCache


class DecoderCache:
    """One cache for each attention layer of a stack of decoder blocks."""

    def __init__(self, layers: int, max_tokens: int):
        self.tokens = [GrowingCache(max_tokens) for _ in range(layers)]
        self.memory = [MemoryCache() for _ in range(layers)]

    def layer(self, i: int) -> tuple[GrowingCache, MemoryCache]:
        """The caches of block `i`: self-attention, cross-attention."""
        return self.tokens[i], self.memory[i]

    @property
    def length(self) -> int:
        """How many tokens have been read."""
        return self.tokens[0].length

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these sentences of the batch, in this order."""
        for cache in (*self.tokens, *self.memory):
            cache.select(rows)
