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


def _best(continuations: list[list[Hypothesis]], width: int) -> list[Hypothesis]:
    return sorted((text for texts in continuations for text in texts), key=lambda text: -text[1])[:width]


def _split_finished(texts: Sequence[Hypothesis]) -> tuple[list[Hypothesis], list[Hypothesis]]:
    """Unfinished hypotheses, and finished ones without their EOS."""
    ended = [(ids[:-1], total) for ids, total in texts if ids[-1] == EOS]
    return [text for text in texts if text[0][-1] != EOS], ended


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
    ),
)


def _winner(score: Callable[[list[int], float], float]) -> Answer:
    return lambda hypotheses: max(hypotheses, key=lambda text: score(*text))[0]


BEST = Exercise(
    id="06b.best",
    reference=_winner(lambda ids, total: total / (len(ids) + 1)),
    inputs=(
        ([([5], -1.0), ([6, 7, 8, 9], -2.6)],),
        ([([5], -2.0), ([6, 7, 8, 9], -0.9)],),
        ([([5] * 6, -1.9), ([6] * 4, -0.7), ([7] * 5, -0.8), ([8] * 2, -0.9), ([9] * 3, -2.9)],),
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
            "your code multiplies by the length",
            "The sums are negative, so multiplying penalizes long hypotheses twice. Divide.",
            _winner(lambda ids, total: total * (len(ids) + 1)),
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
