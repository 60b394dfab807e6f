"""BLEU of one sentence, on paper."""

import math
from collections.abc import Sequence

from course_lib.exercises.exercise import Exercise, mistake, value

PRECISIONS = (5 / 5, 3 / 4, 2 / 3, 1 / 2)
RECALLS = (5 / 6, 3 / 5, 2 / 4, 1 / 3)
PENALTY = math.exp(1 - 6 / 5)


FOUND, TOTAL = (5, 3, 2, 1), (5, 4, 3, 2)


def _geometric_mean(fractions: Sequence[float]) -> float:
    return math.prod(fractions) ** (1 / len(fractions))


def _score(found: Sequence[int], total: Sequence[int], penalty: float | int = PENALTY) -> float:
    return 100 * penalty * _geometric_mean([a / b for a, b in zip(found, total, strict=True)])


def _miscounted() -> list[float]:
    """Scores with one numerator or denominator off by one, as long as the fraction is possible."""
    scores = []
    for n in range(4):
        for numerator, denominator in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            found, total = list(FOUND), list(TOTAL)
            found[n], total[n] = found[n] + numerator, total[n] + denominator
            if 0 <= found[n] <= total[n] and total[n]:
                scores.append(_score(found, total))
    return scores


BLEU_ON_PAPER = Exercise(
    id="06.bleu_on_paper",
    reference=value(100 * PENALTY * _geometric_mean(PRECISIONS)),
    inputs=((),),
    tolerance=2e-3,  # the course prints BLEU as 57.9 or 58
    mistakes=(
        mistake(
            "your score has no brevity penalty",
            "The candidate has 5 words and the reference 6. Multiply by e^(1 − 6/5).",
            value(100 * _geometric_mean(PRECISIONS)),
        ),
        mistake(
            "your brevity penalty rewards the short candidate",
            "A penalty is at most 1. The exponent is 1 − r/c, with the reference's length r above.",
            value(100 * math.exp(1 - 5 / 6) * _geometric_mean(PRECISIONS)),
            value(100 * math.exp(6 / 5 - 1) * _geometric_mean(PRECISIONS)),
        ),
        mistake(
            "your penalty is the ratio of the lengths",
            "The penalty is not 5/6 but exponential: e^(1 − 6/5).",
            value(100 * 5 / 6 * _geometric_mean(PRECISIONS)),
        ),
        mistake(
            "your exponent is not 1 − r/c",
            "With r = 6 and c = 5, the exponent is 1 − 6/5. For equal lengths it is 0, and the penalty 1.",
            value(100 * math.exp(-6 / 5) * _geometric_mean(PRECISIONS)),
            value(100 * math.exp(5 / 6 - 1) * _geometric_mean(PRECISIONS)),
            value(100 * math.exp(5 - 6) * _geometric_mean(PRECISIONS)),
        ),
        mistake(
            "your score is the brevity penalty alone",
            "Multiply it by the geometric mean of the four precisions.",
            value(100 * PENALTY),
        ),
        mistake(
            "your root covers the brevity penalty as well",
            "The fourth root belongs to the product of the four precisions. The penalty is a factor outside.",
            value(100 * (PENALTY * math.prod(PRECISIONS)) ** (1 / 4)),
        ),
        mistake(
            "your score takes another root than the fourth",
            "There are four precisions, so their geometric mean is the fourth root of the product.",
            *(value(100 * PENALTY * math.prod(PRECISIONS) ** (1 / n)) for n in (2, 3, 5)),
            *(value(100 * math.prod(PRECISIONS) ** (1 / n)) for n in (2, 3, 5)),
        ),
        mistake(
            "your code divides by the number of words",
            "A candidate of 5 words has 5 unigrams, but 4 bigrams, 3 trigrams and 2 four-grams.",
            value(_score(FOUND, (5, 5, 5, 5))),
            value(_score(FOUND, (5, 5, 5, 5), penalty=1)),
            value(_score(FOUND, (6, 6, 6, 6))),
            value(_score(FOUND, (6, 6, 6, 6), penalty=1)),
        ),
        mistake(
            "your counts are smoothed, or n = 4 is missing",
            "Nothing is added to the counts here: each n-gram length has a match. Divide matches by n-grams, "
            "for n = 1 to 4.",
            value(_score((6, 4, 3, 2), (6, 5, 4, 3))),
        ),
        mistake(
            "one of your counts is off by one",
            "Write out the candidate's 5 words, 4 bigrams, 3 trigrams and 2 four-grams. Tick those that "
            "occur in the reference as they are, without a gap.",
            *map(value, _miscounted()),
        ),
        mistake(
            "your score is the arithmetic mean",
            "BLEU takes the geometric mean: multiply the four precisions and take the fourth root.",
            value(100 * PENALTY * sum(PRECISIONS) / 4),
            value(100 * sum(PRECISIONS) / 4),
        ),
        mistake(
            "your score takes no root",
            "The product of four fractions is far below each of them. Take its fourth root.",
            value(100 * PENALTY * math.prod(PRECISIONS)),
            value(100 * math.prod(PRECISIONS)),
        ),
        mistake(
            "your code divides by the n-grams of the reference",
            "That is recall. Precision asks which fraction of the *candidate's* n-grams the reference has.",
            value(100 * PENALTY * _geometric_mean(RECALLS)),
            value(100 * _geometric_mean(RECALLS)),
        ),
        mistake(
            "your score runs from 0 to 1",
            "BLEU is reported from 0 to 100. Multiply by 100.",
            value(PENALTY * _geometric_mean(PRECISIONS)),
        ),
    ),
)
