"""Key-value caches: the keys and values of earlier tokens, so that no token is projected twice."""

from typing import ClassVar, TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.layers.masks import Mask, causal_mask
from course_lib.layers.positions import Start

NewTensor: TypeAlias = Float[Tensor, "batch heads tokens d_head"]
KeysValues: TypeAlias = tuple[
    Float[Tensor, "batch heads keys d_head"], Float[Tensor, "batch heads keys d_head"]
]


class GrowingCache:
    """Key-value cache of self-attention, in a buffer of fixed size.

    max_tokens: capacity. length: number of tokens stored. complete: None, as there may always be more tokens.

    >>> cache = GrowingCache(max_tokens=8)
    >>> k, v = cache.append(torch.randn(1, 2, 3, 4), torch.randn(1, 2, 3, 4))  # three tokens
    >>> k, v = cache.append(torch.randn(1, 2, 1, 4), torch.randn(1, 2, 1, 4))  # and one more
    >>> k.shape  # (batch, heads, keys, d_head)
    torch.Size([1, 2, 4, 4])
    """

    complete: ClassVar[None] = None

    def __init__(self, max_tokens: int):
        self.max_tokens, self.length = max_tokens, 0
        self.buffer: KeysValues | None = None

    def append(self, k: NewTensor, v: NewTensor) -> KeysValues:
        """Append keys and values of new tokens; return those of all tokens.

        Raises ValueError if they do not fit, and for another number of rows than before.
        """
        if self.buffer is not None and len(k) != len(self.buffer[0]):
            raise ValueError(f"{len(k)} rows for a cache of {len(self.buffer[0])}")
        end = self.length + k.shape[2]
        if end > self.max_tokens:
            raise ValueError(f"{end} tokens do not fit into a cache of max_tokens={self.max_tokens}")
        if self.buffer is None:
            self.buffer = empty_buffers(k, self.max_tokens)
        for old, new in zip(self.buffer, (k, v), strict=True):
            old[:, :, self.length : end] = new
        self.length = end
        return self.buffer[0][:, :, :end], self.buffer[1][:, :, :end]

    def mask(self, tokens: int, device: torch.device) -> Mask | None:
        """Causal mask of the next `tokens` tokens over all tokens; None for a single one, which sees all."""
        return causal_mask(tokens, self.length + tokens, device) if tokens > 1 else None

    def forget(self, tokens: int) -> None:
        """Drop the newest tokens; their slots will be overwritten. Raises ValueError if there are fewer."""
        check_forget(tokens, self.length)
        self.length = self.length - tokens

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these rows of the batch, in this order."""
        if self.buffer is not None:
            self.buffer = (self.buffer[0][rows], self.buffer[1][rows])


class StaticCache(GrowingCache):
    """Key-value cache for `torch.compile`: no shape depends on the number of stored tokens.

    It always returns the whole buffer; `mask` hides the empty slots. Its `length` is a tensor.
    It does not notice when it is full; `CachingGenerator` counts.

    >>> cache = StaticCache(max_tokens=8)
    >>> k, v = cache.append(torch.randn(1, 2, 3, 4), torch.randn(1, 2, 3, 4))
    >>> k.shape, cache.length  # all eight slots, three of them filled
    (torch.Size([1, 2, 8, 4]), tensor(3))
    """

    # An int would be compiled into the code, which would be compiled again for each further token.
    length: Start  # type: ignore[assignment]

    def append(self, k: NewTensor, v: NewTensor) -> KeysValues:
        """Append keys and values of new tokens; return the whole buffer."""
        if self.buffer is None:
            self.buffer = empty_buffers(k, self.max_tokens)
            self.length = torch.zeros((), dtype=torch.long, device=k.device)
        places = self.length + torch.arange(k.shape[2], device=k.device)
        for old, new in zip(self.buffer, (k, v), strict=True):
            old.index_copy_(2, places, new)
        self.length = self.length + k.shape[2]
        return self.buffer

    def mask(self, tokens: int, device: torch.device) -> Mask:
        """Causal mask of the next `tokens` tokens over all slots."""
        last = self.length + torch.arange(tokens, device=device)
        return torch.arange(self.max_tokens, device=device) <= last[:, None]


def check_forget(tokens: int, length: Start) -> None:
    """Raise ValueError unless so many tokens can be dropped from `length` tokens."""
    if not 0 <= tokens <= length:
        raise ValueError(f"{int(length)} tokens are stored: forget({tokens}) is impossible")


def empty_buffers(like: Float[Tensor, "batch heads tokens d_head"], max_tokens: int) -> KeysValues:
    """Buffers for keys and values; zeros, because masked slots must still hold finite numbers."""
    shape = (*like.shape[:2], max_tokens, like.shape[3])
    return like.new_zeros(shape), like.new_zeros(shape)


class MemoryCache:
    """Key-value cache of cross-attention: the encoder's memory, projected once.

    complete: keys and values of the whole memory, once they are there. length: 0; queries have no position in
    the memory.

    >>> cache = MemoryCache()
    >>> k, v = cache.append(torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 4))
    >>> cache.complete[0] is k, cache.length
    (True, 0)
    """

    length: ClassVar[int] = 0
    complete: KeysValues | None = None

    def append(self, k: NewTensor, v: NewTensor) -> KeysValues:
        """Keep the keys and values of the memory, and return them."""
        self.complete = (k.contiguous(), v.contiguous())  # once here instead of at every step
        return self.complete

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these rows of the batch, in this order."""
        if self.complete is not None:
            self.complete = (self.complete[0][rows], self.complete[1][rows])


Cache: TypeAlias = GrowingCache | MemoryCache
