"""Decoding: greedy and by sampling, one token at a time."""

from collections.abc import Callable
from typing import Protocol, TypeAlias, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.generation.sampling import next_token_probabilities

Choose: TypeAlias = Callable[[Float[Tensor, "batch vocab"]], Int[Tensor, "batch 1"]]


@runtime_checkable
class Generator(Protocol):
    """A model during generation, with its key-value caches (`Seq2Seq.generator`, `GPT.generator`).

    Optional attribute `static_batch`: True if finished rows must stay in the batch, because compiled code
    would be compiled again for a smaller one.
    """

    def read(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch vocab"]:
        """Append tokens; return the logits of the next one."""
        ...

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these rows of the batch, in this order."""
        ...


def greedy_decode(
    generator: Generator, start: Int[Tensor, "batch tokens"], end: int | None, max_tokens: int
) -> list[list[int]]:
    """Greedy decoding: always take the most likely token.

    start: the prompt. end: the id that ends a sequence (not returned); None to always generate max_tokens.
    max_tokens: the most tokens to generate. Raises ValueError if it is not positive.
    """
    return generate(
        generator, start, end, max_tokens, lambda logits: logits.max(dim=-1, keepdim=True).indices
    )


def sample(
    generator: Generator,
    start: Int[Tensor, "batch tokens"],
    end: int | None,
    max_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    rng: torch.Generator | None = None,
) -> list[list[int]]:
    """Sampling: draw each token from `next_token_probabilities`.

    start, end, max_tokens: as in `greedy_decode`. rng: the random generator, on the device of the logits.
    Raises ValueError if `max_tokens` is not positive, and for sampling settings outside their range.
    """

    def draw(logits: Float[Tensor, "batch vocab"]) -> Int[Tensor, "batch 1"]:
        probabilities = next_token_probabilities(logits, temperature, top_k, top_p, min_p)
        return probabilities.multinomial(1, generator=rng)

    return generate(generator, start, end, max_tokens, draw)


@torch.inference_mode()
def generate(
    generator: Generator,
    start: Int[Tensor, "batch tokens"],
    end: int | None,
    max_tokens: int,
    choose: Choose,
) -> list[list[int]]:
    """The generation loop: read, choose the next token of each sequence, append it, repeat.

    choose: picks one token per row from the logits. The other arguments are those of `greedy_decode`.
    A finished sequence leaves the batch, so nothing more is computed for it (unless `static_batch`).
    Raises ValueError if `max_tokens` is not positive.
    """
    if max_tokens < 1:
        raise ValueError(f"max_tokens={max_tokens} leaves nothing to generate")
    generated: list[list[int]] = [[] for _ in start]
    sentences: list[int | None] = list(range(len(start)))  # the sequence in each row; None once it has ended
    ids = start
    for _ in range(max_tokens):
        ids = choose(generator.read(ids))
        for row, i in enumerate(ids.flatten().tolist()):
            if i == end:
                sentences[row] = None
            elif (sentence := sentences[row]) is not None:
                generated[sentence].append(i)
        active = [row for row, sentence in enumerate(sentences) if sentence is not None]
        if not active:
            break
        if len(active) < len(sentences) and not getattr(generator, "static_batch", False):
            rows = torch.tensor(active, device=ids.device)
            generator.select(rows)
            ids, sentences = ids[rows], [sentences[row] for row in active]
    return generated
