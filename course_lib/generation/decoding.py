"""Decoding: greedy and by sampling, one token at a time."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Protocol, TypeAlias, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.generation.constraints import Constraint, TokenIds, constrained, token_ids
from course_lib.generation.sampling import next_token_probabilities
from course_lib.utils.ranges import check_whole

Choose: TypeAlias = Callable[[Float[Tensor, "batch vocab"]], Int[Tensor, "batch 1"]]


@runtime_checkable
class Generator(Protocol):
    """A model during generation, with its key-value caches (`Seq2Seq.generator`, `GPT.generator`).

    It reads one text (or batch) and then is used up. Optional attributes:
    static_batch: True if finished rows must stay in the batch, because compiled code would be compiled again
    for a smaller one.
    length: number of tokens read, so that a used generator is refused.
    sources: number of source sequences, one per row of the batch.
    padding: the id of PAD, so that padded prompts are refused; None if no id is.
    """

    def read(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch vocab"]:
        """Append tokens; return the logits of the next one."""
        ...

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these rows of the batch, in this order."""
        ...


def greedy_decode(
    generator: Generator,
    start: Int[Tensor, "batch tokens"],
    end: TokenIds,
    max_tokens: int,
    constraints: Iterable[Constraint] = (),
) -> list[list[int]]:
    """Greedy decoding: always take the most likely token.

    generator: a new one for each call. start: the prompts, of equal length; those of different lengths are
    decoded apart, because padding is not supported.
    end: the id that ends a sequence (not returned), or several; None to always generate max_tokens.
    max_tokens: the most tokens to generate.
    constraints: applied to the logits in this order: `repetition_penalty`, `no_repeat_ngram`, `min_length`,
    `force_prefix`, `suppress`, or any function of this form.
    Raises ValueError for a used generator, padded or empty prompts, an `end` that is no id, `max_tokens` that
    is not positive, and constraints that leave no token.

    >>> from types import SimpleNamespace
    >>> counter = SimpleNamespace(read=lambda ids: torch.eye(10)[ids[:, -1] + 1])  # after i comes i + 1
    >>> greedy_decode(counter, torch.tensor([[3]]), end=7, max_tokens=20)
    [[4, 5, 6]]
    """
    likeliest = partial(torch.argmax, dim=-1, keepdim=True)
    return generate(generator, start, end, max_tokens, likeliest, constraints)


def sample(
    generator: Generator,
    start: Int[Tensor, "batch tokens"],
    end: TokenIds,
    max_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    rng: torch.Generator | None = None,
    constraints: Iterable[Constraint] = (),
) -> list[list[int]]:
    """Sampling: draw each token from `next_token_probabilities`.

    rng: the random generator, on the device of the logits. Other arguments: as in `greedy_decode`, or in
    `next_token_probabilities`, which follows the constraints. Raises ValueError as both do.

    >>> from course_lib.models import GPT, GPTConfig
    >>> model, rng = GPT(GPTConfig(vocab=65)).eval(), torch.Generator().manual_seed(0)
    >>> ids = sample(model.generator(), torch.tensor([[1, 2]]), end=None, max_tokens=5, top_k=10, rng=rng)
    >>> len(ids), len(ids[0])
    (1, 5)
    """

    def draw(logits: Float[Tensor, "batch vocab"]) -> Int[Tensor, "batch 1"]:
        probabilities = next_token_probabilities(logits, temperature, top_k, top_p, min_p)
        return probabilities.multinomial(1, generator=rng)

    return generate(generator, start, end, max_tokens, draw, constraints)


@torch.inference_mode()
def stream(
    generator: Generator,
    start: Int[Tensor, "1 tokens"],
    end: TokenIds,
    max_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    rng: torch.Generator | None = None,
) -> Iterator[tuple[int, float]]:
    """Streaming: `sample` for one prompt, which yields each token as soon as it is drawn.

    Yields the id, and the probability that the model gives it: at temperature 1, nothing truncated.
    Arguments and errors: as in `sample`. Stop iterating to end the text early.

    >>> from course_lib.models import GPT, GPTConfig
    >>> generator = GPT(GPTConfig(vocab=65)).eval().generator()
    >>> [token for token, probability in stream(generator, torch.tensor([[1, 2]]), None, 3, temperature=0)]
    [2, 2, 2]
    """
    ends, ids = token_ids("end", end), start
    check_start(generator, start, max_tokens=max_tokens)
    for _ in range(max_tokens):
        logits = generator.read(ids)
        probabilities = next_token_probabilities(logits, temperature, top_k, top_p, min_p)
        ids = probabilities.multinomial(1, generator=rng)
        if (token := ids.item()) in ends:
            return
        yield int(token), logits.float().softmax(dim=-1)[0, int(token)].item()


@torch.inference_mode()
def generate(
    generator: Generator,
    start: Int[Tensor, "batch tokens"],
    end: TokenIds,
    max_tokens: int,
    choose: Choose,
    constraints: Iterable[Constraint] = (),
) -> list[list[int]]:
    """The generation loop: read, choose the next token of each sequence, append it, repeat.

    choose: picks one token per row from the logits. The other arguments and the errors are those of
    `greedy_decode`. A finished sequence leaves the batch, so nothing more is computed for it (unless
    `static_batch`).

    >>> from course_lib.models import GPT, GPTConfig
    >>> generator, start = GPT(GPTConfig(vocab=65)).eval().generator(), torch.tensor([[1, 2]])
    >>> generate(generator, start, end=None, max_tokens=3, choose=lambda logits: torch.tensor([[9]]))
    [[9, 9, 9]]
    """
    ends, constraints = token_ids("end", end), list(constraints)
    check_start(generator, start, max_tokens=max_tokens)
    generated: list[list[int]] = [[] for _ in start]
    sentences: list[int | None] = list(range(len(start)))  # the sequence in each row; None once it has ended
    ids = read = start
    for new in range(max_tokens):
        logits = generator.read(ids)
        if constraints:
            logits = constrained(logits, read, new, constraints)
            check_some_left(logits, sentences)
        ids = choose(logits)
        for row, i in enumerate(ids.flatten().tolist()):
            if i in ends:
                sentences[row] = None
            elif (sentence := sentences[row]) is not None:
                generated[sentence].append(i)
        active = [row for row, sentence in enumerate(sentences) if sentence is not None]
        if not active:
            break
        read = torch.cat([read, ids], dim=1) if constraints else read
        if len(active) < len(sentences) and not getattr(generator, "static_batch", False):
            rows = torch.tensor(active, device=ids.device)
            generator.select(rows)
            ids, read, sentences = ids[rows], read[rows], [sentences[row] for row in active]
    return generated


def check_start(generator: Generator, start: Int[Tensor, "batch tokens"], **positive: object) -> None:
    """Raise ValueError for a used generator, empty or padded prompts, and numbers that are not positive."""
    check_whole(1, **positive)
    check_read(generator, 0)
    if start.ndim != 2 or start.shape[1] == 0:
        raise ValueError(f"start has the shape {tuple(start.shape)}; it must be (batch, tokens), not empty")
    if (sources := getattr(generator, "sources", len(start))) != len(start):
        raise ValueError(f"start has {len(start)} rows, but the generator was made for {sources} sources")
    if (padding := getattr(generator, "padding", None)) is not None:
        padded = start[:, [0, -1]] == padding
        if (padded.any(dim=0) & ~padded.all(dim=0)).any():
            raise ValueError(
                f"some prompts begin or end in PAD (id {padding}), others do not: decode each length apart, "
                f"or set generator.padding = None if {padding} is an ordinary token"
            )


def check_read(generator: object, tokens: int) -> None:
    """Raise ValueError if a generator has read more than these tokens, as part of another text."""
    if (length := getattr(generator, "length", 0)) > tokens:
        raise ValueError(
            f"the generator has read {length} tokens, not {tokens}: make a new one for every text "
            "(`model.generator(...)`), and one for model and draft each"
        )


def check_some_left(logits: Float[Tensor, "batch vocab"], sentences: Sequence[int | None]) -> None:
    """Raise ValueError if constraints leave an unfinished sequence no token."""
    none_left = (logits.amax(dim=-1) == -math.inf).tolist()
    if any(none and sentence is not None for none, sentence in zip(none_left, sentences, strict=True)):
        raise ValueError("the constraints leave no token to generate")
