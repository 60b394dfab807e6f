"""chrF: the F-score of character n-grams."""

from course_lib.exercises.exercise import Answer, Exercise, mistake
from course_lib.text.bleu import matches, ngrams

LENGTHS = range(1, 7)


def _f_score(precision: float, recall: float, beta: int = 2) -> float:
    if precision == recall == 0:
        return 0.0
    return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


def _without_spaces(text: str) -> str:
    return text.replace(" ", "")


def _distinct(candidate: str, reference: str, n: int) -> int:
    return len(ngrams(candidate, n).keys() & ngrams(reference, n).keys())


def _chrf(
    score: Answer = _f_score,
    text: Answer = _without_spaces,
    lengths: range = LENGTHS,
    count: Answer = matches,
    top: int = 100,
    total: Answer = lambda text, n: len(text) - n + 1,
) -> Answer:
    def chrf(candidate: str, reference: str) -> float:
        c, r = text(candidate), text(reference)
        found = {n: count(c, r, n) for n in lengths if n <= min(len(c), len(r))}  # as sacrebleu does
        precision = sum(found[n] / total(c, n) for n in found) / max(1, len(found))
        recall = sum(found[n] / total(r, n) for n in found) / max(1, len(found))
        return top * score(precision, recall)

    return chrf


def _mean_of_f_scores(candidate: str, reference: str) -> float:
    return sum(_chrf(lengths=range(n, n + 1))(candidate, reference) for n in LENGTHS) / len(LENGTHS)


CHRF = Exercise(
    id="06c.chrf",
    reference=lambda candidate, reference: _chrf()(candidate, reference),
    inputs=(
        ("estamos cansadas", "estamos cansados"),
        ("mi casa es la casa roja", "mi casa es roja"),
        ("la niña lee", "la niña lee una carta"),
        ("bbbbbbbb", "aaaaaaa"),
        ("mi casa", "la casa"),  # six characters: one 6-gram
    ),
    mistakes=(
        mistake(
            "your code counts the spaces",
            "chrF removes them first, so that n-grams run across words. Use text.replace(' ', '') for both.",
            _chrf(text=lambda text: text),
        ),
        mistake(
            "your score weighs precision and recall equally",
            "That is F₁. chrF uses β = 2, which weighs recall twice as heavily: 5PR / (4P + R).",
            _chrf(lambda p, r: _f_score(p, r, beta=1)),
        ),
        mistake(
            "your formula has precision and recall interchanged",
            "5PR / (P + 4R) would favor precision. In 5PR / (4P + R), P is the mean precision and R the mean "
            "recall.",
            _chrf(lambda p, r: _f_score(r, p)),
        ),
        mistake(
            "your score is the precision alone, or both fractions divide by the candidate's n-grams",
            "Then a candidate that leaves out half of the reference loses nothing. Recall divides the "
            "matches by the *reference's* n-grams, len(r) − n + 1.",
            _chrf(lambda p, r: p),
        ),
        mistake(
            "your score is the recall alone, or both fractions divide by the reference's n-grams",
            "Then a candidate loses nothing by adding characters. Precision divides the matches by the "
            "*candidate's* n-grams, len(c) − n + 1.",
            _chrf(lambda p, r: r),
        ),
        mistake(
            "your code counts one n-gram too few",
            "A text of w characters has w − n + 1 n-grams, because the first one starts at 0: six characters "
            "have one 6-gram.",
            _chrf(total=lambda text, n: len(text) - n),
            _chrf(total=lambda text, n: len(text) - n or 1),
        ),
        mistake(
            "your code divides by the number of characters",
            "Near the end, no n-gram of n characters fits any more. A text of w characters has w − n + 1.",
            _chrf(total=lambda text, n: len(text)),
        ),
        mistake(
            "your score is the plain mean of precision and recall",
            "chrF is an F-score, 5PR / (4P + R), which is low if either of the two is.",
            _chrf(lambda p, r: (p + r) / 2),
        ),
        mistake(
            "your code stops at four characters",
            "Words need four, characters more: chrF goes up to n = 6, and `range(1, 6)` stops at 5.",
            _chrf(lengths=range(1, 5)),
            _chrf(lengths=range(1, 6)),
        ),
        mistake(
            "your code counts each n-gram only once",
            "Use a Counter and clip, as in BLEU: & of two counters takes the smaller counts.",
            _chrf(count=_distinct),
        ),
        mistake(
            "your code averages six F-scores",
            "Average the six precisions and the six recalls first. Then compute one F-score.",
            _mean_of_f_scores,
        ),
        mistake(
            "your code fails if nothing matches",
            "With P = R = 0 the formula is 0/0. Return 0 in that case.",
            _chrf(lambda p, r: 5 * p * r / (4 * p + r)),
        ),
        mistake(
            "your score runs from 0 to 1",
            "chrF is reported from 0 to 100. Multiply by 100.",
            _chrf(top=1),
        ),
        mistake(
            "your code has the wrong number of n-grams",
            "A text of w characters has w − n + 1 of them.",
            _chrf(total=lambda text, n: len(text) + n - 1),
            _chrf(total=lambda text, n: len(text) - n - 1 or 1),
            _chrf(total=lambda text, n: len(text) + 1),
            _chrf(total=lambda text, n: n),
        ),
    ),
)
