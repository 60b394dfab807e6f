"""Beam search: one step, and the choice of the best hypothesis."""

import math
from collections.abc import Callable, Sequence

from course_lib.exercises.exercise import Answer, Exercise, mistake
from course_lib.text.tokenizers import EOS

Hypothesis = tuple[list[int], float]  # ids and log-probability


def _continuations(
    hypotheses: Sequence[Hypothesis], log_p: Sequence[Sequence[float]], add: Callable[[float, float], float]
) -> list[list[Hypothesis]]:
    """Continuations of each hypothesis, best first."""
    return [
        sorted((([*ids, i], add(total, p)) for i, p in enumerate(row)), key=lambda text: -text[1])
        for (ids, total), row in zip(hypotheses, log_p, strict=True)
    ]


def _best(
    continuations: list[list[Hypothesis]],
    width: int,
    key: Callable[[Hypothesis], object] = lambda text: -text[1],
) -> list[Hypothesis]:
    return sorted((text for texts in continuations for text in texts), key=key)[:width]


def _sorted_by(key: Callable[[Hypothesis], object], order: int = 1) -> Answer:
    """A step that sorts by another key. order: −1 to reverse what is kept."""
    return lambda hypotheses, log_p, width: _split_finished(
        _best(_continuations(hypotheses, log_p, _plus), width, key)[::order]
    )


def _split_finished(texts: Sequence[Hypothesis]) -> tuple[list[Hypothesis], list[Hypothesis]]:
    """Unfinished hypotheses, and finished ones without their EOS."""
    ended = [(ids[:-1], total) for ids, total in texts if ids[-1] == EOS]
    return [text for text in texts if text[0][-1] != EOS], ended


def _adding(add: Callable[[float, float], float]) -> Answer:
    return lambda hypotheses, log_p, width: _split_finished(
        _best(_continuations(hypotheses, log_p, add), width)
    )


def _in_front(hypotheses: list[Hypothesis], log_p: list[list[float]], width: int) -> tuple[list, list]:
    best = _best(_continuations(hypotheses, log_p, _plus), width)
    return _split_finished([([ids[-1], *ids[:-1]], total) for ids, total in best])


def _plus(total: float, p: float) -> float:
    return total + p


def _unfinished_only(hypotheses: list[Hypothesis], log_p: list[list[float]], width: int) -> tuple[list, list]:
    everything = _best(_continuations(hypotheses, log_p, _plus), 10**6)
    return _split_finished(everything)[0][:width], []


def _logs(*rows: Sequence[float]) -> list[list[float]]:
    return [[math.log(p) for p in row] for row in rows]


BEAM = Exercise(
    id="06b.beam",
    reference=lambda hypotheses, log_p, width: _split_finished(
        _best(_continuations(hypotheses, log_p, _plus), width)
    ),
    inputs=(
        ([([], 0.0)], _logs([0.05, 0.05, 0.1, 0.5, 0.3]), 2),
        (
            [([3], math.log(0.5)), ([4], math.log(0.4))],
            _logs([0.02, 0.02, 0.3, 0.26, 0.4], [0.02, 0.03, 0.85, 0.04, 0.06]),
            2,
        ),
        (
            [([3, 4], math.log(0.3)), ([4, 3], math.log(0.25)), ([4, 4], math.log(0.05))],
            _logs(
                [0.02, 0.03, 0.5, 0.34, 0.11], [0.01, 0.04, 0.06, 0.82, 0.07], [0.03, 0.02, 0.01, 0.04, 0.9]
            ),
            3,
        ),
    ),
    mistakes=(
        mistake(
            "your code keeps the least probable",
            "sorted() puts the smallest first, and the least probable has the smallest log-probability. Sort "
            "with reverse=True, or by -pair[1].",
            _sorted_by(lambda text: text[1]),
            _sorted_by(lambda text: text[1], order=-1),
        ),
        mistake(
            "your code lists the least probable first",
            "Its choice is right. Return the most probable hypothesis first: reverse=True.",
            _sorted_by(lambda text: -text[1], order=-1),
        ),
        mistake(
            "your code sorts by the ids",
            "pair[0] are the ids; the log-probability is pair[1].",
            _sorted_by(lambda text: text[0]),
            _sorted_by(lambda text: [-i for i in text[0]]),
        ),
        mistake(
            "your code keeps finished hypotheses in the beam",
            "Nothing follows EOS, but the search would extend such a hypothesis beyond its end. Move "
            "every hypothesis that ends with EOS to the finished list.",
            lambda hypotheses, log_p, width: (_best(_continuations(hypotheses, log_p, _plus), width), []),
            lambda hypotheses, log_p, width: (
                _best(_continuations(hypotheses, log_p, _plus), width),
                _split_finished(_best(_continuations(hypotheses, log_p, _plus), width))[1],
            ),
        ),
        mistake(
            "your code loses the finished hypotheses",
            "They are what the search is looking for. Return them as the second list.",
            lambda hypotheses, log_p, width: (
                _split_finished(_best(_continuations(hypotheses, log_p, _plus), width))[0],
                [],
            ),
            _unfinished_only,
        ),
        mistake(
            "your code takes the best continuation of each hypothesis",
            "That is several greedy searches in parallel. Let all continuations of all hypotheses "
            "compete: the best two may share a prefix.",
            lambda hypotheses, log_p, width: _split_finished(
                _best([texts[:1] for texts in _continuations(hypotheses, log_p, _plus)], width)
            ),
        ),
        mistake(
            "your code keeps `width` continuations of each hypothesis",
            "Then the beam grows at every step. Keep `width` of all continuations together.",
            lambda hypotheses, log_p, width: _split_finished(
                _best([texts[:width] for texts in _continuations(hypotheses, log_p, _plus)], 10**6)
            ),
        ),
        mistake(
            "your code forgets the log-probability of the prefix",
            "The log-probability of a hypothesis is that of its prefix plus that of its last token. "
            "Add them.",
            lambda hypotheses, log_p, width: _split_finished(
                _best(_continuations(hypotheses, log_p, lambda total, p: p), width)
            ),
        ),
        mistake(
            "your code adds probabilities",
            "Probabilities multiply along a sequence, so their logarithms add. Do not exponentiate.",
            lambda hypotheses, log_p, width: _split_finished(
                _best(
                    _continuations(hypotheses, log_p, lambda total, p: math.exp(total) + math.exp(p)), width
                )
            ),
        ),
        mistake(
            "your code multiplies log-probabilities",
            "The logarithm of a product is the sum of the logarithms. The product of two negative "
            "numbers is positive, so the least probable hypothesis would win.",
            lambda hypotheses, log_p, width: _split_finished(
                _best(_continuations(hypotheses, log_p, lambda total, p: total * p), width)
            ),
        ),
        mistake(
            "your code leaves EOS in the finished hypotheses",
            "EOS only marks the end. Remove it before you return the ids.",
            lambda hypotheses, log_p, width: tuple(
                [
                    text
                    for text in _best(_continuations(hypotheses, log_p, _plus), width)
                    if (text[0][-1] == EOS) == ended
                ]
                for ended in (False, True)
            ),
        ),
        mistake(
            "your code forgets the log-probability of the new token",
            "Add log_p of token i to the total of its hypothesis.",
            _adding(lambda total, p: total),
        ),
        mistake(
            "your code subtracts log-probabilities",
            "Probabilities multiply along a sequence, so their logarithms add.",
            _adding(lambda total, p: total - p),
        ),
        mistake(
            "your code returns probabilities",
            "Keep the logarithms: total + p, without exp.",
            _adding(lambda total, p: math.exp(total + p)),
        ),
        mistake(
            "your code puts the new token in front",
            "The text grows to the right: [*ids, i].",
            _in_front,
        ),
    ),
)


def _finished(*pairs: tuple[int, float]) -> tuple[list[Hypothesis]]:
    """Finished hypotheses of these lengths and log-probabilities."""
    return ([(list(range(5, 5 + length)), total) for length, total in pairs],)


def _winner(score: Callable[[list[int], float], float]) -> Answer:
    return lambda hypotheses: max(hypotheses, key=lambda text: score(*text))[0]


BEST = Exercise(
    id="06b.best",
    reference=_winner(lambda ids, total: total / (len(ids) + 1)),
    inputs=(  # found by search: no two of the scores that students try choose the same everywhere
        _finished((1, -1.0), (3, -1.9)),
        _finished((1, -1.0), (4, -2.6)),
        _finished((1, -2.0), (4, -0.9)),
        _finished((8, -4.3), (6, -2.1), (4, -1.1), (2, -1.2), (5, -1.4)),
        _finished((1, -1.2), (7, -3.2), (9, -2.6), (3, -1.3), (4, -1.5)),
        _finished((8, -3.7), (1, -1.0), (2, -1.4), (5, -2.1), (6, -3.4), (3, -1.5)),
        _finished((5, -2.8), (2, -1.5), (9, -3.0), (6, -2.2), (3, -1.1), (4, -1.3)),
        _finished((6, -3.2), (4, -1.3), (9, -2.5), (3, -1.9), (8, -4.1), (7, -2.5)),
        _finished((8, -2.7), (5, -2.5), (4, -1.4), (3, -1.7), (9, -3.7), (7, -3.8)),
    ),
    mistakes=(
        mistake(
            "your code ignores the length",
            "Every token lowers the sum, so the shortest hypothesis nearly always wins. Divide by the "
            "number of tokens.",
            _winner(lambda ids, total: total),
        ),
        mistake(
            "your code does not count EOS",
            "The log-probability includes that of EOS, so the length must include it too. Use len(ids) + 1.",
            _winner(lambda ids, total: total / len(ids)),
        ),
        mistake(
            "your code counts BOS as well",
            "BOS is given, so it has no log-probability in the sum. Divide by the ids and EOS: len(ids) + 1.",
            _winner(lambda ids, total: total / (len(ids) + 2)),
        ),
        mistake(
            "your code multiplies by the length",
            "The sums are negative, so multiplying penalizes long hypotheses twice. Divide.",
            _winner(lambda ids, total: total * (len(ids) + 1)),
            _winner(lambda ids, total: total * len(ids)),
        ),
        mistake(
            "your code adds the length instead of dividing by it",
            "A bonus of 1 for each token outweighs any log-probability. The mean is the sum divided by the "
            "length.",
            _winner(lambda ids, total: total + len(ids)),
        ),
        mistake(
            "your code subtracts the length instead of dividing by it",
            "That penalizes long hypotheses twice. The mean is the sum divided by the length.",
            _winner(lambda ids, total: total - len(ids)),
        ),
        mistake(
            "your code divides by a power of the length",
            "The mean divides by the length itself: α = 1.",
            _winner(lambda ids, total: total / (len(ids) + 1) ** 0.6),
            _winner(lambda ids, total: total / (len(ids) + 1) ** 0.5),
            _winner(lambda ids, total: total / (len(ids) + 1) ** 2),
            _winner(lambda ids, total: total / (len(ids) + 1) ** 0.7),
            _winner(lambda ids, total: total / (len(ids) + 1) ** 0.8),
        ),
        mistake(
            "your code divides the probability instead of its logarithm",
            "The score is the mean log-probability per token. exp(total)/length favors short "
            "hypotheses even more than no division at all.",
            _winner(lambda ids, total: math.exp(total) / (len(ids) + 1)),
        ),
        mistake(
            "your code takes the longest hypothesis",
            "The length only makes the sums comparable. Choose by the mean log-probability per token.",
            _winner(lambda ids, total: len(ids)),
        ),
        mistake(
            "your code returns the whole pair",
            "A hypothesis is a pair (ids, log-probability). Return only its ids.",
            lambda hypotheses: max(hypotheses, key=lambda text: text[1] / (len(text[0]) + 1)),
        ),
        mistake(
            "your code takes the worst hypothesis",
            "Log-probabilities are negative, so the best mean is the one closest to 0. Take the maximum.",
            _winner(lambda ids, total: -total / (len(ids) + 1)),
            _winner(lambda ids, total: abs(total) / (len(ids) + 1)),
        ),
    ),
)
