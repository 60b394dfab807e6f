"""What an attention layer has projected before, kept so that no token is projected twice."""

from collections.abc import Callable
from typing import TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.masks import Mask, causal_mask

KeysValues: TypeAlias = tuple[
    Float[Tensor, "batch heads keys d_head"], Float[Tensor, "batch heads keys d_head"]
]
Project: TypeAlias = Callable[[Tensor], KeysValues]


class GrowingCache:
    """Keys and values of the tokens read so far (self-attention), in a buffer of fixed size.

    max_tokens: the most tokens it can hold. length: how many it holds.
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
            self.buffer = empty_buffers(k, self.max_tokens)
        for old, fresh in zip(self.buffer, (k, v), strict=True):
            old[:, :, self.length : end] = fresh
        self.length = end
        return self.buffer[0][:, :, :end], self.buffer[1][:, :, :end]

    def mask(self, tokens: int, device: torch.device) -> Mask | None:
        """Who may look at whom when so many more tokens are read: each at itself and those before it."""
        return causal_mask(tokens, self.length + tokens, device) if tokens > 1 else None

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these sentences of the batch, in this order."""
        if self.buffer is not None:
            self.buffer = (self.buffer[0][rows], self.buffer[1][rows])


class StaticCache(GrowingCache):
    """The same for `torch.compile`: no shape depends on how much has been read.

    It always returns all its places; `mask` hides those that are still empty. Its `length` is a tensor.
    It does not notice when it is full: a `Reader` counts.
    """

    def extend(self, new: Float[Tensor, "batch tokens d_model"], project: Project) -> KeysValues:
        """Project the new tokens, store them behind the old ones, and return all places."""
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
        """Who may look at whom when so many more tokens are read: each at itself and those before it."""
        last = self.length + torch.arange(tokens, device=device)
        return torch.arange(self.max_tokens, device=device) <= last[:, None]


def empty_buffers(like: Float[Tensor, "batch heads tokens d_head"], max_tokens: int) -> KeysValues:
    """Room for the keys and values of so many tokens; zeros, because hidden places must still be numbers."""
    shape = (*like.shape[:2], max_tokens, like.shape[3])
    return like.new_zeros(shape), like.new_zeros(shape)


class MemoryCache:
    """Keys and values of a memory that stays the same while the output grows (cross-attention)."""

    def __init__(self) -> None:
        self.buffer: KeysValues | None = None

    def extend(self, memory: Float[Tensor, "batch keys d_model"], project: Project) -> KeysValues:
        """Project the memory at the first call; return the same keys and values at every later one."""
        if self.buffer is None:
            k, v = project(memory)
            self.buffer = (k.contiguous(), v.contiguous())  # rather once now than at every step
        return self.buffer

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these sentences of the batch, in this order."""
        if self.buffer is not None:
            self.buffer = (self.buffer[0][rows], self.buffer[1][rows])


Cache: TypeAlias = GrowingCache | MemoryCache


class DecoderCache:
    """One cache for each attention layer of a stack of decoder blocks.

    static: of the kind that `torch.compile` wants.
    """

    def __init__(self, layers: int, max_tokens: int, static: bool = False):
        kind = StaticCache if static else GrowingCache
        self.tokens = [kind(max_tokens) for _ in range(layers)]
        self.memory = [MemoryCache() for _ in range(layers)]

    def layer(self, i: int) -> tuple[GrowingCache, MemoryCache]:
        """The caches of block `i`: self-attention, cross-attention."""
        return self.tokens[i], self.memory[i]

    @property
    def length(self) -> int | Int[Tensor, ""]:
        """How many tokens have been read."""
        return self.tokens[0].length

    def mask(self, tokens: int, device: torch.device) -> Mask | None:
        """Who may look at whom when so many more tokens are read."""
        return self.tokens[0].mask(tokens, device)

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these sentences of the batch, in this order."""
        for cache in (*self.tokens, *self.memory):
            cache.select(rows)


class Reader:
    """Calls a function that reads tokens into caches, through `torch.compile` where that is wanted.

    read: its first argument are the tokens. room: the most tokens it may read in all.
    The first call, which makes the buffers, and calls with several tokens are never compiled.
    """

    def __init__(self, read: Callable[..., Tensor], room: int, compiled: bool):
        self.read, self.room, self.length = read, room, 0
        self.read_one = torch.compile(read, dynamic=False) if compiled else read

    def __call__(self, ids: Int[Tensor, "batch tokens"], *others: object) -> Tensor:
        """Raises ValueError where the tokens do not fit."""
        first, tokens = self.length == 0, ids.shape[1]
        if self.length + tokens > self.room:
            raise ValueError(
                f"{self.length} + {tokens} tokens do not fit into a cache of max_tokens={self.room}"
            )
        self.length += tokens
        read = self.read if first or tokens > 1 else self.read_one
        return read(ids, *others)
