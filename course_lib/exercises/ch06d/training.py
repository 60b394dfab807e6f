"""Early stopping, and how large a difference between two runs can be by chance."""

import math
import statistics
from collections.abc import Callable, Sequence

from course_lib.exercises.exercise import Answer, Exercise, mistake

Losses = Sequence[float | int]


def _stop(losses: Losses, patience: int, resets: bool = True, strict: bool = True) -> int:
    """The evaluation after which training stops: the `patience`-th in a row without a new best loss."""
    best, waited = math.inf, 0
    for i, loss in enumerate(losses):
        if loss < best or (not strict and loss == best):
            best, waited = loss, 0 if resets else waited
        else:
            waited += 1
        if waited == patience:
            return i
    return len(losses) - 1


def _against_previous(losses: Losses, patience: int) -> int:
    waited = 0
    for i in range(1, len(losses)):
        waited = 0 if losses[i] < losses[i - 1] else waited + 1
        if waited == patience:
            return i
    return len(losses) - 1


def _best(losses: Losses, patience: int) -> int:
    """The best evaluation until training stops."""
    return min(range(_stop(losses, patience) + 1), key=lambda i: losses[i])


def _best_of_all(losses: Losses, patience: int) -> int:
    return min(range(len(losses)), key=lambda i: losses[i])


def _counted(wait: Callable[[float, float, int], int], offset: int = 0) -> Answer:
    """Early stopping with another rule for the count: from the loss, the best one and the count so far."""

    def answer(losses: Losses, patience: int) -> int:
        best, waited = math.inf, 0
        for i, loss in enumerate(losses):
            waited = wait(loss, best, waited)
            best = min(best, loss)
            if waited >= patience:
                return i + offset
        return len(losses) - 1

    return answer


STOP = Exercise(
    id="06d.stop",
    reference=lambda losses, patience: _stop(losses, patience),
    inputs=(
        ([3.0, 2.0, 2.5, 2.6, 1.0], 2),
        ([3.0, 2.0, 1.0], 2),
        ([3.0, 2.0, 2.5, 1.9, 2.0, 2.1, 1.5], 2),
        ([3.0, 1.0, 2.5, 2.0, 1.5, 1.2, 0.9], 3),
        ([5.0, 4.0, 4.0, 4.0, 3.0], 2),
        ([2.0, 3.0, 1.0, 1.5, 0.5], 1),
        ([4.0, 3.0, 3.5, 3.2, 2.8, 2.9, 3.0, 3.1], 3),
        ([4.0, 3.0, 3.5, 2.9, 3.3, 2.8, 2.7], 2),
    ),
    mistakes=(
        mistake(
            "your code compares each loss with the one before it",
            "After a bad evaluation, a slightly less bad one would count as progress. Compare with the best "
            "loss so far.",
            _against_previous,
        ),
        mistake(
            "your code never resets its count of bad evaluations",
            "Patience is about evaluations *in a row*. A new best loss starts the count again.",
            lambda losses, patience: _stop(losses, patience, resets=False),
            _counted(lambda loss, best, waited: waited if loss < best else waited + 1),
            _counted(lambda loss, best, waited: waited - 1 if loss < best else waited + 1),
        ),
        mistake(
            "your code stops one evaluation too late",
            "Training stops at the `patience`-th evaluation in a row without a new best: as soon as "
            "`waited`, this evaluation included, reaches `patience`.",
            lambda losses, patience: _stop(losses, patience + 1),
        ),
        mistake(
            "your code stops one evaluation too early",
            "The evaluation with the best loss itself is not a bad one. Start counting after it.",
            lambda losses, patience: (
                max(_stop(losses, patience) - 1, 0)
                if _stop(losses, patience) < len(losses) - 1
                else len(losses) - 1
            ),
        ),
        mistake(
            "your code returns the best evaluation",
            "Those are the weights to keep. The question is when training stops: `patience` evaluations "
            "later.",
            _best,
            _best_of_all,
        ),
        mistake(
            "your code counts the good evaluations",
            "A new best loss ends the waiting: 0 if loss < best, and otherwise one more.",
            _counted(lambda loss, best, waited: waited + 1 if loss < best else 0),
            _counted(lambda loss, best, waited: 0 if loss > best else waited + 1),
        ),
        mistake(
            "your count starts at 1 after a new best loss",
            "A new best loss is no evaluation without one. Set the count to 0.",
            _counted(lambda loss, best, waited: 1 if loss < best else waited + 1),
        ),
        mistake(
            "your count never gets beyond 1",
            "Each further evaluation without a new best loss adds one: waited + 1.",
            _counted(lambda loss, best, waited: 0 if loss < best else 1),
        ),
        mistake(
            "your code counts the evaluations from 1",
            "Return the index in the list, which starts at 0.",
            _counted(lambda loss, best, waited: 0 if loss < best else waited + 1, offset=1),
            lambda losses, patience: _stop(losses, patience) + 1,
        ),
        mistake(
            "your code stops whenever there is no new best loss",
            "It should wait for `patience` of them in a row.",
            lambda losses, patience: _stop(losses, 1),
        ),
        mistake(
            "your code takes an equal loss for a better one",
            "A loss that does not fall is no progress. Reset the count only if the loss is *below* the best.",
            lambda losses, patience: _stop(losses, patience, strict=False),
        ),
        mistake(
            "your code counts all evaluations",
            "Count only those without a new best loss, and start again at 0 after one with.",
            _counted(lambda loss, best, waited: waited + 1),
        ),
    ),
)


def _times(
    factor: float | int, deviation: Callable[[Sequence[float | int]], float] = statistics.stdev
) -> Answer:
    return lambda scores: factor * deviation(scores)


def _range(scores: Sequence[float | int]) -> float:
    return max(scores) - min(scores)


CHANCE = Exercise(
    id="06d.chance",
    reference=lambda scores: 2 * math.sqrt(2) * statistics.stdev(scores),
    inputs=(([40.0, 42.0],), ([43.0, 42.0, 44.0],), ([30.0, 33.0, 31.0, 36.0],)),
    mistakes=(
        mistake(
            "your code divides by the number of scores",
            "The mean is estimated from the same few scores, so the deviations come out too small. Divide by "
            "the number of scores minus 1, as statistics.stdev does.",
            _times(2 * math.sqrt(2), statistics.pstdev),
        ),
        mistake(
            "your code forgets that both runs vary",
            "A difference has two random parts, so its standard deviation is √2 times that of one run.",
            _times(2),
        ),
        mistake(
            "your code doubles the variance twice",
            "The *variances* of two independent runs add up. So the standard deviation of the difference is "
            "√2 times that of one run, not twice.",
            _times(4),
            _times(8),
            _times(4 * math.sqrt(2)),
        ),
        mistake(
            "your code returns one standard deviation of the difference",
            "About one difference in three is larger than that. Take twice as much: about one in twenty is.",
            _times(math.sqrt(2)),
        ),
        mistake(
            "your code returns the standard deviation of one run",
            "A difference of two runs varies √2 times as much, and it exceeds one standard deviation often. "
            "Multiply by 2·√2.",
            _times(1),
        ),
        mistake(
            "your code divides by the square root of the number of scores",
            "That is the standard error, the uncertainty of a mean. The question is about two single runs.",
            lambda scores: 2 * math.sqrt(2) * statistics.stdev(scores) / math.sqrt(len(scores)),
            lambda scores: 2 * statistics.stdev(scores) / math.sqrt(len(scores)),
        ),
        mistake(
            "your code multiplies by 1.96",
            "The exercise asks for twice the standard deviation of the difference, in round numbers: 2·√2.",
            _times(1.96 * math.sqrt(2)),
        ),
        mistake(
            "your code divides by √2",
            "The standard deviation of a difference is √2 times as *large* as that of one run. Multiply.",
            _times(1 / math.sqrt(2)),
        ),
        mistake(
            "your code uses the variance",
            "The variance is in squared points of BLEU. Take its square root.",
            _times(2 * math.sqrt(2), statistics.variance),
        ),
        mistake(
            "your code takes the range of the scores",
            "The range grows with the number of runs. Use the standard deviation.",
            _range,
        ),
        mistake(
            "your code takes the root of too much",
            "Only the 2 is under the root: 2 · √2 · s.",
            lambda scores: 2 * math.sqrt(2 * statistics.stdev(scores)),
        ),
    ),
)
