"""Key-value caches: the keys and values of earlier tokens, so that no token is projected twice."""

from collections.abc import Callable
from typing import TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.layers.masks import Mask, causal_mask
from course_lib.layers.positions import Start

KeysValues: TypeAlias = tuple[
    Float[Tensor, "batch heads keys d_head"], Float[Tensor, "batch heads keys d_head"]
]


Project: TypeAlias = Callable[[Tensor], KeysValues]


class GrowingCache:
    """Key-value cache of self-attention, in a buffer of fixed size.

    max_tokens: capacity. length: number of tokens stored.
    """

    def __init__(self, max_tokens: int):
        self.max_tokens, self.length = max_tokens, 0
        self.buffer: KeysValues | None = None

    def extend(self, new: Float[Tensor, "batch tokens d_model"], project: Project) -> KeysValues:
        """Project the new tokens, append them, and return all keys and values.

        Raises ValueError if they do not fit.
        """
        end = self.length + new.shape[1]
        if end > self.max_tokens:
            raise ValueError(f"{end} tokens do not fit into a cache of max_tokens={self.max_tokens}")
        k, v = project(new)
        if self.buffer is None:
            self.buffer = empty_buffers(k, self.max_tokens)
        for old, fresh in zip(self.buffer, (k, v), strict=True):
            old[:, :, self.length : end] = fresh
        self.length = end
        return self.buffer[0][:, :, :end], self.buffer[1][:, :, :end]

    def mask(self, tokens: int, device: torch.device) -> Mask | None:
        """Causal mask of the next `tokens` tokens over all tokens; None for a single one, which sees all."""
        return causal_mask(tokens, self.length + tokens, device) if tokens > 1 else None

    def forget(self, tokens: int) -> None:
        """Drop the newest tokens; their slots will be overwritten."""
        self.length = self.length - tokens

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these rows of the batch, in this order."""
        if self.buffer is not None:
            self.buffer = (self.buffer[0][rows], self.buffer[1][rows])


class StaticCache(GrowingCache):
    """Key-value cache for `torch.compile`: no shape depends on the number of stored tokens.

    It always returns the whole buffer; `mask` hides the empty slots. Its `length` is a tensor.
    It does not notice when it is full; `CompiledStep` counts.
    """

    # An int would be compiled into the code, which would be compiled again for each further token.
    length: Start  # type: ignore[assignment]

    def extend(self, new: Float[Tensor, "batch tokens d_model"], project: Project) -> KeysValues:
        """Project the new tokens, append them, and return the whole buffer."""
        k, v = project(new)
        if self.buffer is None:
            self.buffer = empty_buffers(k, self.max_tokens)
            self.length = torch.zeros((), dtype=torch.long, device=k.device)
        places = self.length + torch.arange(new.shape[1], device=k.device)
        for old, fresh in zip(self.buffer, (k, v), strict=True):
            old.index_copy_(2, places, fresh)
        self.length = self.length + new.shape[1]
        return self.buffer

    def mask(self, tokens: int, device: torch.device) -> Mask:
        """Causal mask of the next `tokens` tokens over all slots."""
        last = self.length + torch.arange(tokens, device=device)
        return torch.arange(self.max_tokens, device=device) <= last[:, None]


def empty_buffers(like: Float[Tensor, "batch heads tokens d_head"], max_tokens: int) -> KeysValues:
    """Buffers for keys and values; zeros, because masked slots must still hold finite numbers."""
    shape = (*like.shape[:2], max_tokens, like.shape[3])
    return like.new_zeros(shape), like.new_zeros(shape)


class MemoryCache:
    """Key-value cache of cross-attention: the encoder's memory, projected once."""

    def __init__(self) -> None:
        self.buffer: KeysValues | None = None

    def extend(self, memory: Float[Tensor, "batch keys d_model"], project: Project) -> KeysValues:
        """Project the memory on the first call; return the same keys and values on later calls."""
        if self.buffer is None:
            k, v = project(memory)
            self.buffer = (k.contiguous(), v.contiguous())  # once here instead of at every step
        return self.buffer

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these rows of the batch, in this order."""
        if self.buffer is not None:
            self.buffer = (self.buffer[0][rows], self.buffer[1][rows])


Cache: TypeAlias = GrowingCache | MemoryCache


class DecoderCache:
    """Key-value caches of all attention layers in a stack of decoder blocks.

    static: use `StaticCache`, for `torch.compile`.
    """

    def __init__(self, layers: int, max_tokens: int, static: bool = False):
        kind = StaticCache if static else GrowingCache
        self.tokens = [kind(max_tokens) for _ in range(layers)]
        self.memory = [MemoryCache() for _ in range(layers)]

    def layer(self, i: int) -> tuple[GrowingCache, MemoryCache]:
        """The caches of block `i`: self-attention, cross-attention."""
        return self.tokens[i], self.memory[i]

    @property
    def length(self) -> Start:
        """Number of stored tokens."""
        return self.tokens[0].length

    def mask(self, tokens: int, device: torch.device) -> Mask | None:
        """Causal mask of the next `tokens` tokens."""
        return self.tokens[0].mask(tokens, device)

    def forget(self, tokens: int) -> None:
        """Drop the newest tokens."""
        for cache in self.tokens:
            cache.forget(tokens)

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these rows of the batch, in this order."""
        caches: list[Cache] = [*self.tokens, *self.memory]
        for cache in caches:
            cache.select(rows)
