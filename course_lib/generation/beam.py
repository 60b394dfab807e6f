"""Beam search."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.generation.decoding import Generator


@dataclass(frozen=True)
class Hypothesis:
    """A finished hypothesis of beam search.

    ids: its tokens, without the end token. log_probability: of all its tokens, end included.
    score: log_probability / length^length_power.
    """

    ids: list[int]
    log_probability: float
    score: float


class BeamSearch:
    """Beam search for one sequence: its unfinished hypotheses and its finished ones, best first."""

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
        """Extend hypotheses by the best candidates (log-probability, index of the hypothesis, token).

        Returns, for each new unfinished hypothesis, the index of the one it extends.
        """
        active: list[tuple[float, list[int]]] = []
        parents: list[int] = []
        for total, parent, token in candidates:
            ids = self.open[parent][1]
            if token == self.end:
                self.keep(ids, total, len(ids) + 1)
            elif len(active) < self.width:
                active.append((total, [*ids, token]))
                parents.append(parent)
        self.open = active
        return parents

    def done(self) -> bool:
        """Whether no unfinished hypothesis can still win, or none may grow longer."""
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
def beam_search(
    generator: Generator,
    start: Int[Tensor, "batch tokens"],
    end: int,
    max_tokens: int,
    width: int = 4,
    length_power: float = 1.0,
    exact: bool = False,
) -> list[list[Hypothesis]]:
    """Beam search: keep the `width` best hypotheses per sequence.

    start, end, max_tokens: as in `greedy_decode`.
    length_power: a hypothesis scores log-probability / length^length_power. 0 favors short ones; 1 is the
    mean per token.
    exact: stop only when no unfinished hypothesis can still win, even at its maximum length; otherwise, stop
    as soon as the best one scores no better than the finished hypotheses.
    Returns up to `width` hypotheses per sequence, best first.
    Raises ValueError if `max_tokens` or `width` is not positive.
    Source: Wu et al. 2016, section 7.
    """
    if min(max_tokens, width) < 1:
        raise ValueError(f"max_tokens={max_tokens} and width={width} must both be positive")
    searches = [BeamSearch(width, end, max_tokens, length_power, exact) for _ in start]
    active, logits, totals = searches, generator.read(start), torch.zeros(len(start), 1, device=start.device)
    while active:
        rows, ids, totals = _grow(active, logits, totals)
        active = [search for search in active if search.open]
        if active:
            generator.select(rows)
            logits = generator.read(ids)
    return [search.found for search in searches]


def _grow(
    active: list[BeamSearch],
    logits: Float[Tensor, "rows vocab"],
    totals: Float[Tensor, "sequences hypotheses"],
) -> tuple[Int[Tensor, " next"], Int[Tensor, "next 1"], Float[Tensor, "left width"]]:
    """Extend every unfinished hypothesis by one token; a search that is done is left with none.

    Returns the rows to continue, their next ids, and their log-probabilities (-inf pads a sequence with
    fewer hypotheses than the others).
    """
    (sequences, hypotheses), vocab, width = totals.shape, logits.shape[-1], active[0].width
    sums = totals[..., None] + logits.float().log_softmax(dim=-1).unflatten(0, (sequences, hypotheses))
    best, where = sums.flatten(1).topk(
        min(2 * width, hypotheses * vocab)
    )  # up to half of them may be end tokens
    rows, ids, kept = [], [], []
    for place, (search, values, numbers) in enumerate(
        zip(active, best.tolist(), where.tolist(), strict=True)
    ):
        pairs = zip(values, numbers, strict=True)
        parents = search.advance((v, *divmod(n, vocab)) for v, n in pairs if v > -math.inf)
        if search.done():
            search.open = []
            continue
        fill = width - len(parents)
        rows += [place * hypotheses + parent for parent in parents + parents[-1:] * fill]
        ids += [text[-1] for _, text in search.open + search.open[-1:] * fill]
        kept.append([total for total, _ in search.open] + [-math.inf] * fill)
    new = torch.tensor([rows, ids], dtype=torch.long, device=logits.device)
    return new[0], new[1][:, None], torch.tensor(kept, device=logits.device).view(-1, width)
