"""BLEU of one sentence, on paper."""

import math
from collections.abc import Sequence

from course_lib.exercises.exercise import Exercise, mistake, value

PRECISIONS = (5 / 5, 3 / 4, 2 / 3, 1 / 2)
RECALLS = (5 / 6, 3 / 5, 2 / 4, 1 / 3)
PENALTY = math.exp(1 - 6 / 5)


def _geometric_mean(fractions: Sequence[float]) -> float:
    return math.prod(fractions) ** (1 / len(fractions))


BLEU_ON_PAPER = Exercise(
    id="06.bleu_on_paper",
    reference=value(100 * PENALTY * _geometric_mean(PRECISIONS)),
    inputs=((),),
    tolerance=1e-3,
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
