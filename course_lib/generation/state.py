"""What generation keeps between steps: the model's key-value caches."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.layers.kv_cache import GrowingCache, StaticCache, check_forget
from course_lib.text.tokenizers import PAD


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


class CachingGenerator:
    """What generators with caches share: which model reads, and how many tokens it has read.

    hidden_states: the model's function that appends tokens to caches and returns their hidden states.
    max_tokens: the most tokens to read. padding: see `Generator`.
    compiled: single tokens go through `torch.compile`, except the first, which allocates the buffers.
    """

    length = 0  # number of tokens read
    padding: int | None = PAD

    def __init__(self, model: Any, hidden_states: Callable[..., Tensor], max_tokens: int, compiled: bool):
        self.model, self.max_tokens, self.static_batch = model, max_tokens, compiled
        self.read_some = hidden_states
        self.read_one = torch.compile(hidden_states, dynamic=False) if compiled else hidden_states

    def next_step(self, tokens: int) -> Callable[..., Tensor]:
        """Count tokens to be read, and return what reads them. Raises ValueError if they do not fit."""
        if self.length + tokens > self.max_tokens:
            raise ValueError(
                f"{self.length} + {tokens} tokens do not fit into a cache of max_tokens={self.max_tokens}"
            )
        first, self.length = self.length == 0, self.length + tokens
        return self.read_some if first or tokens > 1 else self.read_one


class TextGenerator(CachingGenerator):
    """A `GPT` during generation: the model and the key-value cache of each block.

    Raises ValueError for a model without blocks: each token would be read as the first.

    >>> from course_lib.models import GPT, GPTConfig
    >>> generator = TextGenerator(GPT(GPTConfig(vocab=65)).eval())  # or GPT.generator()
    >>> logits = generator.read(torch.tensor([[1, 2, 3]]))  # the prompt
    >>> generator.read(torch.tensor([[4]])).shape  # and one more token, which attends to the cached ones
    torch.Size([1, 65])
    """

    def __init__(self, model: LanguageModel, compiled: bool = False):
        super().__init__(model, model.hidden_states, model.config.max_tokens, compiled)
        self.padding = getattr(model, "padding", PAD)
        self.reset()

    def reset(self) -> None:
        """Empty the caches."""
        self.length = 0
        self.caches = new_caches(self.model.config.layers, self.max_tokens, self.static_batch)

    def read(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch vocab"]:
        """Append tokens; return the logits of the next one. Raises ValueError beyond max_tokens."""
        step = self.next_step(ids.shape[1])
        return self.model.output_logits(step(ids, caches=self.caches)[:, -1])

    def read_all(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch tokens vocab"]:
        """Append tokens; return the logits after each of them. Raises ValueError beyond max_tokens."""
        step = self.next_step(ids.shape[1])
        return self.model.output_logits(step(ids, caches=self.caches))

    def forget(self, tokens: int) -> None:
        """Drop the newest tokens from the caches. Raises ValueError if there are fewer."""
        check_forget(tokens, self.length)
        self.length -= tokens
        for cache in self.caches:
            cache.forget(tokens)

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these rows of the batch, in this order."""
        for cache in self.caches:
            cache.select(rows)


def new_caches(layers: int, max_tokens: int, static: bool) -> list[GrowingCache]:
    """A cache of self-attention for each block. Raises ValueError if there are none to keep the tokens."""
    if layers == 0:
        raise ValueError("layers=0: a model without blocks has no cache to generate with")
    kind = StaticCache if static else GrowingCache
    return [kind(max_tokens) for _ in range(layers)]
