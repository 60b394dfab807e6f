"""Speculative decoding: which drafted tokens greedy verification keeps."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake


def _verify(corrected: bool = True, bonus: bool = True, shift: int = 0) -> Answer:
    """Greedy verification. corrected: add the model's own token after a mismatch; bonus: after none."""

    def verify(logits: Tensor, drafted: list[int]) -> list[int]:
        best = logits.argmax(dim=-1).tolist()
        for i, token in enumerate(drafted):
            if best[min(i + shift, len(drafted))] != token:
                return drafted[:i] + best[i : i + 1] * corrected
        return drafted + best[-1:] * bonus

    return verify


def _best_everywhere(logits: Tensor, drafted: list[int]) -> list[int]:
    return logits.argmax(dim=-1).tolist()


def _matches_anywhere(logits: Tensor, drafted: list[int]) -> list[int]:
    best = logits.argmax(dim=-1).tolist()
    kept = [token for token, mine in zip(drafted, best, strict=False) if token == mine]
    return [*kept, best[-1]]


def _row_after(logits: Tensor, drafted: list[int]) -> list[int]:
    best = logits.argmax(dim=-1).tolist()
    kept = _verify(corrected=False, bonus=False)(logits, drafted)
    return [*kept, best[min(len(kept) + 1, len(drafted))]]


def _both(logits: Tensor, drafted: list[int]) -> list[int]:
    best = logits.argmax(dim=-1).tolist()
    n = len(_verify(corrected=False, bonus=False)(logits, drafted))
    return [*drafted[: n + 1], best[n]]


def _only_when(all_right: bool) -> Answer:
    """The last token alone, if all drafted tokens are right, or if one is not."""

    def answer(logits: Tensor, drafted: list[int]) -> list[int]:
        new = _verify()(logits, drafted)
        return new[-1:] if (new[:-1] == drafted) == all_right else new

    return answer


def _one_too_few(logits: Tensor, drafted: list[int]) -> list[int]:
    new = _verify()(logits, drafted)
    return new if new[:-1] == drafted else [*drafted[: len(new) - 2], new[-1]]


def _everything(logits: Tensor, drafted: list[int]) -> list[int]:
    return [*drafted, int(logits[-1].argmax())]


def _rejected_kept(logits: Tensor, drafted: list[int]) -> list[int]:
    new = _verify()(logits, drafted)
    return drafted[: len(new)] if new[:-1] != drafted else new


def _last_row_added(logits: Tensor, drafted: list[int]) -> list[int]:
    return [*_verify(corrected=False, bonus=False)(logits, drafted), int(logits[-1].argmax())]


def _logits(*best: int) -> Tensor:
    """Logits whose largest entries are these tokens."""
    noise = torch.rand(len(best), 6, generator=torch.Generator().manual_seed(sum(best)))
    return (noise + 2 * torch.eye(6)[list(best)]).round(decimals=1)


VERIFY = Exercise(
    id="06b.verify",
    reference=lambda logits, drafted: _verify()(logits, drafted),
    inputs=(
        (_logits(4, 2), [4]),
        (_logits(4, 2), [3]),
        (_logits(1, 2, 3, 4, 5), [1, 2, 0, 4]),
        (_logits(5, 5, 3, 2), [5, 5, 3]),
        (_logits(2, 3, 5, 4), [0, 3, 5]),
    ),
    mistakes=(
        mistake(
            "your code drops the model's own token after a mismatch",
            "The pass has already computed what the model would have written there. Keep it: so every pass "
            "yields at least one token.",
            _verify(corrected=False),
            _verify(corrected=False, bonus=False),
        ),
        mistake(
            "your code forgets the extra token when all drafted ones are accepted",
            "The last row of `logits` belongs to the token after the draft. It is correct and free: append "
            "its argmax.",
            _verify(bonus=False),
        ),
        mistake(
            "your code keeps accepting after a mismatch",
            "After a rejected token, the later rows were computed from a text that no longer exists. Stop at "
            "the first mismatch.",
            _matches_anywhere,
            _best_everywhere,
        ),
        mistake(
            "your code accepts every drafted token",
            "Then the draft writes the text, not the model. Compare drafted[i] with the argmax of logits[i].",
            _everything,
            lambda logits, drafted: drafted,
        ),
        mistake(
            "your code keeps the rejected token",
            "At the first mismatch, the model's token replaces the drafted one.",
            _rejected_kept,
        ),
        mistake(
            "your code keeps the rejected token beside the model's own",
            "At the first mismatch, the model's token replaces the drafted one: drafted[:i], then best[i].",
            _both,
        ),
        mistake(
            "your code returns only the model's last token",
            "The drafted tokens before the mismatch are right, and the pass yields them too.",
            lambda logits, drafted: _verify()(logits, drafted)[-1:],
            lambda logits, drafted: _verify()(logits, drafted)[-1],
            _only_when(all_right=True),
            _only_when(all_right=False),
        ),
        mistake(
            "your code takes the model's token from one row too far",
            "Row i is computed from the text before drafted[i], so it replaces drafted[i]. Row i + 1 was "
            "computed from the rejected token.",
            _row_after,
        ),
        mistake(
            "your code compares with the wrong row",
            "logits[i] is computed before drafted[i] is read, so it predicts drafted[i] itself.",
            _verify(shift=1),
        ),
        mistake(
            "your code appends the argmax of the last row after a mismatch",
            "That row was computed from the rejected tokens. Append the argmax of the row of the mismatch.",
            _last_row_added,
        ),
        mistake(
            "your code drops one accepted token too many",
            "All of drafted[:i] agree with the model. At the mismatch, append best[i] to them.",
            _one_too_few,
        ),
    ),
)
