"""Constraints on generation: functions that change the scores of the next token, given what was read."""

import math
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.utils.ranges import check_whole

Ids: TypeAlias = Int[Tensor, "rows tokens"]  # all that was read: prompt and generated tokens
Scores: TypeAlias = Float[Tensor, "rows vocab"]
Constraint: TypeAlias = Callable[[Ids, int, Scores], Scores]  # the int: how many tokens were generated
TokenIds: TypeAlias = int | Collection[int] | Tensor | None


def token_ids(name: str, ids: object) -> list[int]:
    """One id, several, or None as a list. Raises ValueError for anything else; `name` is for the message."""
    some = ids.tolist() if isinstance(ids, Tensor) else [] if ids is None else ids
    several: Collection[Any] = some if isinstance(some, Collection) and not isinstance(some, str) else [some]
    try:
        for i in several:
            check_whole(0, id=i)
    except ValueError:
        raise ValueError(f"{name}={ids!r} must be a token id, a collection of them, or None") from None
    return list(map(int, several))


def constrained(scores: Scores, ids: Ids, new: int, constraints: Iterable[Constraint]) -> Scores:
    """The scores after each constraint in turn."""
    for constraint in constraints:
        scores = constraint(ids, new, scores)
    return scores


def suppress(tokens: TokenIds) -> Constraint:
    """Suppressed tokens: never generate these.

    >>> suppress([0, 2])(torch.tensor([[1]]), 0, torch.tensor([[3.0, 2.0, 1.0]]))
    tensor([[-inf, 2., -inf]])
    """
    banned = torch.tensor(token_ids("tokens", tokens), dtype=torch.long)
    return lambda ids, new, scores: scores.index_fill(1, banned.to(scores.device), -math.inf)


def min_length(tokens: int, end: TokenIds) -> Constraint:
    """Minimum length: no end token before `tokens` tokens are generated; the prompt does not count.

    >>> min_length(2, end=0)(torch.tensor([[1, 2]]), 1, torch.tensor([[3.0, 2.0, 1.0]]))  # one so far
    tensor([[-inf, 2., 1.]])
    """
    check_whole(0, tokens=tokens)
    no_end = suppress(end)
    return lambda ids, new, scores: no_end(ids, new, scores) if new < tokens else scores


def force_prefix(prefix: Collection[int]) -> Constraint:
    """Prefix tokens (forced decoding): every sequence begins with these, then continues freely.

    >>> force_prefix([2, 1])(torch.tensor([[0, 2]]), 1, torch.tensor([[3.0, 2.0, 1.0]]))
    tensor([[-inf, 2., -inf]])
    """
    forced = token_ids("prefix", prefix)

    def constraint(ids: Tensor, new: int, scores: Tensor) -> Tensor:
        vocab = torch.arange(scores.shape[1], device=scores.device)
        return scores.masked_fill(vocab != forced[new], -math.inf) if new < len(forced) else scores

    return constraint


def repetition_penalty(penalty: float) -> Constraint:
    """Repetition penalty: scores of tokens that were read are divided by it, or multiplied if negative.

    penalty: positive; 1 changes nothing, 1.2 is common. The prompt's tokens count, as in CTRL's own code.
    Source: Keskar et al. 2019, section 4.1.

    >>> repetition_penalty(2.0)(torch.tensor([[0, 1]]), 0, torch.tensor([[3.0, -2.0, 1.0]]))
    tensor([[ 1.5000, -4.0000,  1.0000]])
    """
    if not 0 < penalty < math.inf:
        raise ValueError(f"penalty={penalty} must be positive and finite")

    def constraint(ids: Tensor, new: int, scores: Tensor) -> Tensor:
        seen = scores.gather(1, ids)
        return scores.scatter(1, ids, torch.where(seen > 0, seen / penalty, seen * penalty))

    return constraint


def no_repeat_ngram(n: int) -> Constraint:
    """No repeated n-grams: never complete an n-gram that was read before, in the prompt or after it.

    Source: Paulus et al. 2018, section 2.5.

    >>> no_repeat_ngram(2)(torch.tensor([[1, 0, 1]]), 0, torch.tensor([[3.0, 2.0, 1.0]]))  # not 1, 0 again
    tensor([[-inf, 2., 1.]])
    """
    check_whole(1, n=n)

    def constraint(ids: Tensor, new: int, scores: Tensor) -> Tensor:
        if ids.shape[1] < n:
            return scores
        ngrams, last = ids.unfold(1, n, 1), ids[:, ids.shape[1] - n + 1 :]  # the last n - 1 tokens
        rows, places = (ngrams[..., :-1] == last[:, None]).all(dim=-1).nonzero(as_tuple=True)
        banned = (rows, ngrams[rows, places, -1])
        return scores.index_put(banned, scores.new_tensor(-math.inf))

    return constraint
