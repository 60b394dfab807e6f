"""Speculative decoding: a cheap draft proposes several tokens, the model checks them all in one pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.generation.constraints import TokenIds, token_ids
from course_lib.generation.decoding import Generator, check_read, check_start
from course_lib.generation.sampling import next_token_probabilities

Distribution: TypeAlias = Float[Tensor, " vocab"]
Proposal: TypeAlias = tuple[list[int], list[Distribution]]  # tokens, and what each was drawn from


@runtime_checkable
class Rewindable(Generator, Protocol):
    """A generator that can check several tokens at once and drop those it rejects."""

    def read_all(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch tokens vocab"]:
        """Append tokens; return the logits after each of them."""
        ...

    def forget(self, tokens: int) -> None:
        """Drop the newest tokens."""
        ...


@runtime_checkable
class Draft(Protocol):
    """A cheap guess at how a sequence continues."""

    def propose(self, ids: Sequence[int], count: int) -> Proposal:
        """The next `count` tokens, and the distribution that each was drawn from."""
        ...


@dataclass(frozen=True)
class Speculation:
    """A generated sequence, and how well it was guessed.

    ids: without the end token. passes: forward passes of the model, one per round of drafting.
    drafted, accepted: number of tokens.
    """

    ids: list[int]
    passes: int
    drafted: int
    accepted: int


def residual(p: Distribution, q: Distribution) -> Distribution:
    """What p has more than q, rescaled to sum to 1: the distribution that replaces a rejected token."""
    left = (p - q).clamp(min=0)
    return left / left.sum()


def verify(
    p: Float[Tensor, "checked vocab"],
    q: Sequence[Distribution],
    drafted: Sequence[int],
    rng: torch.Generator | None = None,
) -> list[int]:
    """Speculative sampling: accept a drafted token x with probability min(1, p(x)/q(x)).

    The first rejected token is replaced by a draw from `residual`, and those after it are dropped. If all are
    accepted, one more token is drawn. The result is distributed as if drawn from p alone, token by token.
    p: the model's distribution at each drafted token, and after the last one. q: the draft's.
    Raises ValueError unless p has one row more than there are drafted tokens.
    Source: Leviathan et al. 2023, algorithm 1.

    >>> one_hot = torch.eye(4)
    >>> verify(p=one_hot[[1, 2, 3]], q=one_hot[[1, 3]], drafted=[1, 3])  # instead of 3, the model wants 2
    [1, 2]
    """
    if len(p) != len(drafted) + 1:
        raise ValueError(f"{len(drafted)} drafted tokens need {len(drafted) + 1} rows of p; it has {len(p)}")
    for i, token in enumerate(drafted):
        u = torch.rand((), generator=rng, device=p.device)
        if u * q[i][token] >= p[i, token]:
            return [*drafted[:i], draw(residual(p[i], q[i].to(p.device)), rng)]
    return [*drafted, draw(p[-1], rng)]


@torch.inference_mode()
def speculative_decode(
    target: Rewindable,
    draft: Draft,
    start: Int[Tensor, "1 tokens"],
    end: TokenIds,
    max_tokens: int,
    lookahead: int = 4,
    temperature: float = 0.0,
    rng: torch.Generator | None = None,
) -> Speculation:
    """Speculative decoding of one sequence.

    With temperature 0, every distribution is one-hot, so a token is accepted exactly if it is the model's
    most likely one: the result is that of `greedy_decode`, whatever the draft proposes.
    start, end, max_tokens: as in `greedy_decode`. lookahead: number of tokens to draft per round.
    Raises ValueError as `greedy_decode` does, for several prompts, and if `lookahead` is not positive.
    Source: Leviathan et al. 2023.

    >>> from course_lib.generation import BigramDraft, greedy_decode
    >>> from course_lib.models import GPT, GPTConfig
    >>> model, draft, start = GPT(GPTConfig(vocab=9)).eval(), BigramDraft([[1, 2]], 9), torch.tensor([[1]])
    >>> found = speculative_decode(model.generator(), draft, start, end=None, max_tokens=6)
    >>> [found.ids] == greedy_decode(model.generator(), start, end=None, max_tokens=6)
    True
    """
    check_start(target, start, max_tokens=max_tokens, lookahead=lookahead)
    if len(start) != 1:
        raise ValueError(f"start has {len(start)} rows: speculative decoding takes one sequence at a time")
    ends = token_ids("end", end)
    prompt, unread = start[0].tolist(), start[0].tolist()
    ids: list[int] = []
    passes = drafted = accepted = 0
    while len(ids) < max_tokens and not any(i in ends for i in ids):
        room = min(lookahead, max_tokens - len(ids) - 1)
        tokens, q = draft.propose(prompt + ids, room)
        check_read(target, len(prompt) + len(ids) - len(unread))  # the draft must not read with it
        logits = target.read_all(torch.tensor([unread + tokens], device=start.device))[0, -room - 1 :]
        new = verify(next_token_probabilities(logits, temperature), q, tokens, rng)
        target.forget(room + 1 - len(new))
        ids, unread = ids + new, new[-1:]
        passes, drafted, accepted = passes + 1, drafted + room, accepted + len(new) - 1
    length = next((n for n, i in enumerate(ids) if i in ends), len(ids))
    return Speculation(ids[:length], passes, drafted, accepted)


def draw(probabilities: Distribution, rng: torch.Generator | None) -> int:
    """A token from a distribution."""
    return int(probabilities.multinomial(1, generator=rng))
