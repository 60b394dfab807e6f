"""BLEU and its three parts."""

import math
from collections.abc import Callable, Sequence

from course_lib.bleu import brevity_penalty, matches, ngrams
from course_lib.exercises.exercise import Answer, Exercise, mistake

Words = Sequence[str]


def _share(count: Callable[[Words, Words, int], float], total: Callable[[Words, Words, int], int]) -> Answer:
    return lambda candidate, reference, n: count(candidate, reference, n) / total(candidate, reference, n)


def _runs_of_candidate(candidate: Words, reference: Words, n: int) -> int:
    return len(candidate) - n + 1


def _unclipped(candidate: Words, reference: Words, n: int) -> int:
    known = ngrams(reference, n)
    return sum(count for run, count in ngrams(candidate, n).items() if run in known)


def _in_place(candidate: Words, reference: Words, n: int) -> int:
    starts = range(min(len(candidate), len(reference)) - n + 1)
    return sum(candidate[i : i + n] == reference[i : i + n] for i in starts)


def _distinct(candidate: Words, reference: Words, n: int) -> int:
    return len(ngrams(candidate, n).keys() & ngrams(reference, n).keys())


PRECISION = Exercise(
    id="06.precision",
    reference=lambda candidate, reference, n: matches(candidate, reference, n) / (len(candidate) - n + 1),
    inputs=(
        ("the the the".split(), "the cat saw the dog".split(), 1),
        ("a b c".split(), "x a b c".split(), 1),
        ("a b c d a b".split(), "a b a b x y z".split(), 2),
        ("on the mat on the mat".split(), "the cat is on the mat".split(), 3),
    ),
    mistakes=(
        mistake(
            "does not clip",
            "A run counts at most as often as the reference has it. Otherwise 'the the the' gets full marks "
            "wherever the reference has one 'the'.",
            _share(_unclipped, _runs_of_candidate),
        ),
        mistake(
            "counts each run only once",
            "A run that the reference has twice may match twice. Compare how often it occurs, not only "
            "whether it occurs.",
            _share(_distinct, _runs_of_candidate),
        ),
        mistake(
            "compares sets of runs",
            "Repetitions get lost on both sides of the fraction. Count with a Counter.",
            _share(_distinct, lambda candidate, reference, n: len(ngrams(candidate, n))),
        ),
        mistake(
            "divides by the runs of the reference",
            "That is the recall. Precision asks which share of the *candidate's* runs is right; the length "
            "of the reference comes in through the brevity penalty.",
            _share(matches, lambda candidate, reference, n: len(reference) - n + 1),
        ),
        mistake(
            "divides by the number of words",
            "A sentence of w words has w − n + 1 runs of n words.",
            _share(matches, lambda candidate, reference, n: len(candidate)),
        ),
        mistake(
            "wants each run in the same place",
            "One word too many at the beginning would then make everything wrong. A run may match anywhere "
            "in the reference.",
            _share(_in_place, _runs_of_candidate),
        ),
        mistake(
            "looks at single words only",
            "n is the length of the runs that are compared: candidate[i : i + n].",
            lambda candidate, reference, n: matches(candidate, reference, 1) / len(candidate),
        ),
    ),
)

PENALTY = Exercise(
    id="06.penalty",
    reference=brevity_penalty,
    inputs=((3, 6), (6, 6), (8, 6), (1900, 2000)),
    mistakes=(
        mistake(
            "has the ratio upside down",
            "With c/r instead of r/c the exponent is positive for a short candidate: it would be rewarded.",
            lambda c, r: 1.0 if c >= r else math.exp(1 - c / r),
            lambda c, r: math.exp(1 - c / r),
        ),
        mistake(
            "punishes long candidates instead of short ones",
            "Words too many already cost precision. Only a candidate with c < r needs a penalty.",
            lambda c, r: 1.0 if c <= r else math.exp(1 - c / r),
            lambda c, r: 1.0 if c <= r else math.exp(1 - r / c),
        ),
        mistake(
            "is not capped at 1",
            "For a candidate longer than the reference the exponent is positive: it would be rewarded for "
            "its length. Then the penalty is 1.",
            lambda c, r: math.exp(1 - r / c),
        ),
        mistake(
            "is the plain ratio of the lengths",
            "For a candidate of half the length the penalty is not 1/2 but e^(1 − 2) = 0.37.",
            lambda c, r: min(1.0, c / r),
            lambda c, r: c / r,
        ),
        mistake(
            "leaves out the 1 in the exponent",
            "With equal lengths the penalty must be 1 = e^0, so the exponent is 1 − r/c.",
            lambda c, r: 1.0 if c >= r else math.exp(-r / c),
            lambda c, r: math.exp(-r / c),
        ),
    ),
)


def _geometric(precisions: Sequence[float]) -> float:
    return math.prod(precisions) ** (1 / len(precisions))


BLEU = Exercise(
    id="06.bleu",
    reference=lambda precisions, penalty: 100 * penalty * _geometric(precisions),
    inputs=(
        ([0.5, 0.25], 1.0),
        ([1.0, 0.8, 0.6, 0.4], 0.9),
        ([0.9, 0.5, 0.2], 0.5),
        ([0.75, 0.5, 0.25, 0.0], 1.0),
    ),
    mistakes=(
        mistake(
            "takes the arithmetic mean",
            "BLEU multiplies the precisions and takes the root: one that is 0 makes the whole score 0, which "
            "an average would hide.",
            lambda precisions, penalty: 100 * penalty * sum(precisions) / len(precisions),
        ),
        mistake(
            "takes no root",
            "The product of four numbers below 1 is far below each of them. The geometric mean is its fourth "
            "root, and with two precisions the square root.",
            lambda precisions, penalty: 100 * penalty * math.prod(precisions),
        ),
        mistake(
            "always takes the fourth root",
            "Two precisions need the square root, three the cube root: the exponent is 1/len(precisions).",
            lambda precisions, penalty: 100 * penalty * math.prod(precisions) ** 0.25,
        ),
        mistake(
            "leaves the brevity penalty out",
            "The mean of the precisions is multiplied by it.",
            lambda precisions, penalty: 100 * _geometric(precisions),
        ),
        mistake(
            "breaks where a precision is 0",
            "log 0 does not exist. Where nothing matches the score is 0: multiply and take the root, or ask "
            "for 0 first.",
            lambda precisions, penalty: (
                100 * penalty * math.exp(sum(map(math.log, precisions)) / len(precisions))
            ),
        ),
        mistake(
            "runs from 0 to 1",
            "BLEU is given from 0 to 100: multiply by 100.",
            lambda precisions, penalty: penalty * _geometric(precisions),
        ),
        mistake(
            "puts the penalty under the root",
            "Only the precisions belong under the root.",
            lambda precisions, penalty: 100 * (penalty * math.prod(precisions)) ** (1 / len(precisions)),
        ),
    ),
)
