"""Beam search."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.generation.constraints import Constraint, TokenIds, constrained, token_ids
from course_lib.generation.decoding import Generator, check_start


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

    def __init__(self, width: int, end: TokenIds, max_tokens: int, length_power: float, exact: bool):
        self.width, self.ends, self.max_tokens, self.exact = width, token_ids("end", end), max_tokens, exact
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

        candidates: best first. An end token counts only among the best `width` of them.
        Returns, for each new unfinished hypothesis, the index of the one it extends.
        """
        active: list[tuple[float, list[int]]] = []
        parents: list[int] = []
        for rank, (total, parent, token) in enumerate(candidates):
            ids = self.open[parent][1]
            if token in self.ends:
                if rank < self.width:
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
        lengths = (len(ids) + 1, self.max_tokens) if self.exact else (len(ids),)  # the best is at one end
        hope = max(self.score(total, length) for length in lengths)
        return len(self.found) == self.width and hope <= self.found[-1].score


@torch.inference_mode()
def beam_search(
    generator: Generator,
    start: Int[Tensor, "batch tokens"],
    end: TokenIds,
    max_tokens: int,
    width: int = 4,
    length_power: float = 1.0,
    exact: bool = False,
    constraints: Iterable[Constraint] = (),
) -> list[list[Hypothesis]]:
    """Beam search: keep the `width` best hypotheses per sequence; with a width of 1, greedy decoding.

    An end token finishes a hypothesis only if this is among the `width` best continuations, as in fairseq and
    `transformers`. generator, start, end, max_tokens: as in `greedy_decode`.
    length_power: a hypothesis scores log-probability / length^length_power. 0 favors short ones; 1 is the
    mean per token.
    exact: stop only when no unfinished hypothesis can still win, at whatever length; otherwise, stop as soon
    as the best one scores no better than the finished ones. CTranslate2 and fairseq stop once `width` are
    finished, even if another could win. With `exact`, a width of 1 looks beyond the greedy sequence.
    constraints: as in `greedy_decode`, but applied to log-probabilities, which are not rescaled to sum to 1.
    Returns up to `width` hypotheses per sequence, best first.
    Raises ValueError as `greedy_decode` does, and for a `width` that is not positive.
    Source: Wu et al. 2016, section 7.

    >>> from course_lib.models import GPT, GPTConfig
    >>> generator, start = GPT(GPTConfig(vocab=65)).eval().generator(), torch.tensor([[1, 2]])
    >>> [hypotheses] = beam_search(generator, start, end=2, max_tokens=5, width=3)
    >>> len(hypotheses), hypotheses[0].score >= hypotheses[1].score >= hypotheses[2].score
    (3, True)
    """
    check_start(generator, start, max_tokens=max_tokens, width=width)
    constraints = list(constraints)
    if not math.isfinite(length_power):
        raise ValueError(f"length_power={length_power} is not finite")
    searches = [BeamSearch(width, end, max_tokens, length_power, exact) for _ in start]
    active, ids, totals = searches, start, torch.zeros(len(start), 1, device=start.device)
    read = start[:, :0]
    while active:
        logits = generator.read(ids)
        read = torch.cat([read, ids], dim=1) if constraints else read
        scores = logits.float().log_softmax(dim=-1)
        scores = constrained(scores, read, read.shape[1] - start.shape[1], constraints)
        rows, ids, totals = _grow(active, scores, totals)
        active = [search for search in active if search.open]
        if active:
            generator.select(rows)
            read = read[rows]
    if not all(search.found for search in searches):
        raise ValueError("no hypothesis: the logits are NaN, or the constraints leave no token to generate")
    return [search.found for search in searches]


def _grow(
    active: list[BeamSearch],
    log_probs: Float[Tensor, "rows vocab"],
    totals: Float[Tensor, "sequences hypotheses"],
) -> tuple[Int[Tensor, " next"], Int[Tensor, "next 1"], Float[Tensor, "left width"]]:
    """Extend every unfinished hypothesis by one token; a search that is done is left with none.

    Returns the rows to continue, their next ids, and their log-probabilities (-inf pads a sequence with
    fewer hypotheses than the others).
    """
    (sequences, hypotheses), vocab, width = totals.shape, log_probs.shape[-1], active[0].width
    sums = totals[..., None] + log_probs.unflatten(0, (sequences, hypotheses))
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
    new = torch.tensor([rows, ids], dtype=torch.long, device=log_probs.device)
    return new[0], new[1][:, None], torch.tensor(kept, device=log_probs.device).view(-1, width)
