"""What generation keeps between steps: key-value caches, and the compiled step."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.layers.kv_cache import GrowingCache, StaticCache


@runtime_checkable
class LanguageModel(Protocol):
    """A model that `TextGenerator` can run: what it needs of a `GPT`."""

    config: Any  # with `layers` and `max_tokens`

    def hidden_states(
        self, ids: Int[Tensor, "batch tokens"], *, caches: Sequence[GrowingCache]
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Hidden states of the tokens `ids`, which are appended to the caches."""
        ...

    def output_logits(self, hidden_states: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
        """Logits of the token after each hidden state."""
        ...


class TextGenerator:
    """A `GPT` during generation: the model and the key-value cache of each block."""

    def __init__(self, model: LanguageModel, compiled: bool = False):
        self.model, self.static_batch = model, compiled
        self.reset()

    def reset(self) -> None:
        """Empty the caches."""
        config, kind = self.model.config, StaticCache if self.static_batch else GrowingCache
        self.caches = [kind(config.max_tokens) for _ in range(config.layers)]
        self.reader = CompiledStep(next_logits, config.max_tokens, self.static_batch)

    def read(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch vocab"]:
        """Append tokens; return the logits of the next one. Raises ValueError beyond max_tokens."""
        return self.reader(ids, self.model, self.caches)

    def read_all(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch tokens vocab"]:
        """Append tokens; return the logits after each of them. Raises ValueError beyond max_tokens."""
        self.reader.reserve(ids.shape[1])
        return self.model.output_logits(self.model.hidden_states(ids, caches=self.caches))

    def forget(self, tokens: int) -> None:
        """Drop the newest tokens from the caches."""
        self.reader.length -= tokens
        for cache in self.caches:
            cache.forget(tokens)

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these rows of the batch, in this order."""
        for cache in self.caches:
            cache.select(rows)


def next_logits(
    ids: Int[Tensor, "batch tokens"], model: LanguageModel, caches: Sequence[GrowingCache]
) -> Float[Tensor, "batch vocab"]:
    """Logits of the token after those in the caches and `ids`."""
    return model.output_logits(model.hidden_states(ids, caches=caches)[:, -1])


class CompiledStep:
    """Calls a function that appends tokens to caches; optionally compiled for single tokens.

    read: the function; its first argument is the ids. max_tokens: the most tokens it may read in all.
    The first call, which allocates the buffers, and calls with several tokens are never compiled.
    """

    def __init__(self, read: Callable[..., Tensor], max_tokens: int, compiled: bool):
        self.read, self.max_tokens, self.length = read, max_tokens, 0
        self.read_one = torch.compile(read, dynamic=False) if compiled else read

    def __call__(self, ids: Int[Tensor, "batch tokens"], *others: object) -> Tensor:
        """Raises ValueError if the tokens do not fit."""
        first, tokens = self.length == 0, ids.shape[1]
        self.reserve(tokens)
        read = self.read if first or tokens > 1 else self.read_one
        return read(ids, *others)

    def reserve(self, tokens: int) -> None:
        """Count tokens that are about to be read. Raises ValueError if they do not fit."""
        if self.length + tokens > self.max_tokens:
            raise ValueError(
                f"{self.length} + {tokens} tokens do not fit into a cache of max_tokens={self.max_tokens}"
            )
        self.length += tokens
