"""Text from a model, one token at a time."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.sampling import next_token_probabilities

Choose: TypeAlias = Callable[[Float[Tensor, "batch vocab"]], Int[Tensor, "batch 1"]]


@runtime_checkable
class Generator(Protocol):
    """A model in the middle of writing: it remembers what it has read (`Seq2Seq.generator`).

    One whose batch should keep its rows, because compiled code would be made anew for fewer, says so by an
    attribute `fixed`.
    """

    def read(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch vocab"]:
        """Read some more tokens; the logits of the one that follows."""
        ...

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Go on with these sentences of the batch, in this order."""
        ...


def greedy(
    generator: Generator, start: Int[Tensor, "batch tokens"], end: int | None, max_tokens: int
) -> list[list[int]]:
    """Take the most probable token each time, until `end` has come or `max_tokens` are written.

    start: what the model reads first. end: the id that ends a sentence, and is not part of what is returned;
    None where nothing ends before `max_tokens`.
    Raises ValueError where `max_tokens` is not positive.
    """
    return write(generator, start, end, max_tokens, lambda logits: logits.max(dim=-1, keepdim=True).indices)


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
    """Draw each token at random, with the probabilities of `next_token_probabilities`.

    start, end, max_tokens: as in `greedy`. rng: where the chance comes from, on the device of the logits.
    Raises ValueError where `max_tokens` is not positive, and for settings that make no probabilities.
    """

    def draw(logits: Float[Tensor, "batch vocab"]) -> Int[Tensor, "batch 1"]:
        probabilities = next_token_probabilities(logits, temperature, top_k, top_p, min_p)
        return probabilities.multinomial(1, generator=rng)

    return write(generator, start, end, max_tokens, draw)


@torch.inference_mode()
def write(
    generator: Generator,
    start: Int[Tensor, "batch tokens"],
    end: int | None,
    max_tokens: int,
    choose: Choose,
) -> list[list[int]]:
    """The loop of `greedy` and `sample`: read, choose the next token of each sentence, read that, and so on.

    A sentence that has ended leaves the batch, so that nothing more is computed for it, unless the batch is
    to keep its shape.
    Raises ValueError where `max_tokens` is not positive.
    """
    if max_tokens < 1:
        raise ValueError(f"max_tokens={max_tokens} leaves nothing to write")
    written: list[list[int]] = [[] for _ in start]
    sentences: list[int | None] = list(range(len(start)))  # of each row; None after its end
    ids = start
    for _ in range(max_tokens):
        ids = choose(generator.read(ids))
        for row, i in enumerate(ids.flatten().tolist()):
            if i == end:
                sentences[row] = None
            elif (sentence := sentences[row]) is not None:
                written[sentence].append(i)
        going = [row for row, sentence in enumerate(sentences) if sentence is not None]
        if not going:
            break
        if len(going) < len(sentences) and not getattr(generator, "fixed", False):
            rows = torch.tensor(going, device=ids.device)
            generator.select(rows)
            ids, sentences = ids[rows], [sentences[row] for row in going]
    return written


@dataclass(frozen=True)
class Hypothesis:
    """A text that a search has found.

    log_probability: of its tokens, the end included. score: that, divided by a power of their number.
    """

    ids: list[int]
    log_probability: float
    score: float


class Search:
    """The beginnings of one sentence that are still open, and the hypotheses that have ended, best first."""

    def __init__(self, width: int, end: int, max_tokens: int, length_power: float, exact: bool):
        self.width, self.end, self.max_tokens, self.exact = width, end, max_tokens, exact
        self.length_power = length_power
        self.open: list[tuple[float, list[int]]] = [(0.0, [])]
        self.found: list[Hypothesis] = []

    def score(self, log_probability: float, tokens: int) -> float:
        return log_probability / tokens**self.length_power

    def keep(self, ids: list[int], total: float, tokens: int) -> None:
        self.found.append(Hypothesis(ids, total, self.score(total, tokens)))
        self.found = sorted(self.found, key=lambda h: -h.score)[: self.width]

    def advance(self, candidates: Iterable[tuple[float, int, int]]) -> list[int]:
        """Go on with the best candidates (log-probability, beginning, token; best first).

        Returns the number of the beginning that each of the new ones continues.
        """
        going: list[tuple[float, list[int]]] = []
        parents: list[int] = []
        for total, parent, token in candidates:
            ids = self.open[parent][1]
            if token == self.end:
                self.keep(ids, total, len(ids) + 1)
            elif len(going) < self.width:
                going.append((total, [*ids, token]))
                parents.append(parent)
        self.open = going
        return parents

    def done(self) -> bool:
        """Whether no open beginning can win any more, or none may grow any longer."""
        if not self.open:
            return True
        total, ids = self.open[0]
        if len(ids) == self.max_tokens:
            for total, ids in self.open:
                self.keep(ids, total, len(ids))
            return True
        hope = self.score(total, self.max_tokens if self.exact else len(ids))
        return len(self.found) == self.width and hope <= self.found[-1].score


@torch.inference_mode()
def beam(
    generator: Generator,
    start: Int[Tensor, "batch tokens"],
    end: int,
    max_tokens: int,
    width: int = 4,
    length_power: float = 1.0,
    exact: bool = False,
) -> list[list[Hypothesis]]:
    """Keep the `width` most probable beginnings of each sentence, instead of one.

    A hypothesis scores its log-probability / its length to the power `length_power`: 0 favours short ones,
    1 is the mean of a token. Each sentence gets up to `width` hypotheses, best first.
    exact: go on until no beginning can win even at its longest; otherwise until the best one scores no better
    than the hypotheses that have ended.
    Raises ValueError where `max_tokens` or `width` is not positive.
    Source: Wu et al. 2016, section 7.
    """
    if min(max_tokens, width) < 1:
        raise ValueError(f"max_tokens={max_tokens} and width={width} must both be positive")
    searches = [Search(width, end, max_tokens, length_power, exact) for _ in start]
    going, logits, totals = searches, generator.read(start), torch.zeros(len(start), 1, device=start.device)
    while going:
        rows, ids, totals = _grow(going, logits, totals)
        going = [search for search in going if search.open]
        if going:
            generator.select(rows)
            logits = generator.read(ids)
    return [search.found for search in searches]


def _grow(
    going: list[Search], logits: Float[Tensor, "rows vocab"], totals: Float[Tensor, "sentences beginnings"]
) -> tuple[Int[Tensor, " next"], Int[Tensor, "next 1"], Float[Tensor, "left width"]]:
    """One more token for every open beginning; a search that is done is left without beginnings.

    Returns the rows that go on, the ids they go on with, and their log-probabilities (-inf fills up a
    sentence that has fewer beginnings than others).
    """
    (sentences, beginnings), vocab, width = totals.shape, logits.shape[-1], going[0].width
    sums = totals[..., None] + logits.float().log_softmax(dim=-1).unflatten(0, (sentences, beginnings))
    best, where = sums.flatten(1).topk(min(2 * width, beginnings * vocab))  # half of them may be ends
    rows, ids, kept = [], [], []
    for place, (search, values, numbers) in enumerate(zip(going, best.tolist(), where.tolist(), strict=True)):
        pairs = zip(values, numbers, strict=True)
        parents = search.advance((v, *divmod(n, vocab)) for v, n in pairs if v > -math.inf)
        if search.done():
            search.open = []
            continue
        fill = width - len(parents)
        rows += [place * beginnings + parent for parent in parents + parents[-1:] * fill]
        ids += [text[-1] for _, text in search.open + search.open[-1:] * fill]
        kept.append([total for total, _ in search.open] + [-math.inf] * fill)
    new = torch.tensor([rows, ids], dtype=torch.long, device=logits.device)
    return new[0], new[1][:, None], torch.tensor(kept, device=logits.device).view(-1, width)
