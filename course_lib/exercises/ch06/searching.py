"""Beam search: one step of it, and the choice at its end."""

import math
from collections.abc import Callable, Sequence

from course_lib.exercises.exercise import Answer, Exercise, mistake
from course_lib.tokens import EOS

Text = tuple[list[int], float]  # ids and their log-probability


def _grown(
    beginnings: Sequence[Text], log_p: Sequence[Sequence[float]], add: Callable[[float, float], float]
) -> list[list[Text]]:
    """The continuations of each beginning, best first."""
    return [
        sorted((([*ids, i], add(total, p)) for i, p in enumerate(row)), key=lambda text: -text[1])
        for (ids, total), row in zip(beginnings, log_p, strict=True)
    ]


def _best(grown: list[list[Text]], width: int) -> list[Text]:
    return sorted((text for texts in grown for text in texts), key=lambda text: -text[1])[:width]


def _parted(texts: Sequence[Text]) -> tuple[list[Text], list[Text]]:
    """Those that go on, and those that have ended, without their EOS."""
    ended = [(ids[:-1], total) for ids, total in texts if ids[-1] == EOS]
    return [text for text in texts if text[0][-1] != EOS], ended


def _plus(total: float, p: float) -> float:
    return total + p


def _unended_first(beginnings: list[Text], log_p: list[list[float]], width: int) -> tuple[list, list]:
    everything = _best(_grown(beginnings, log_p, _plus), 10**6)
    return _parted(everything)[0][:width], []


def _logs(*rows: Sequence[float]) -> list[list[float]]:
    return [[math.log(p) for p in row] for row in rows]


BEAM = Exercise(
    id="06.beam",
    reference=lambda beginnings, log_p, width: _parted(_best(_grown(beginnings, log_p, _plus), width)),
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
            "keeps finished texts open",
            "After EOS nothing comes any more. A text that ends with it leaves the open ones; otherwise it "
            "would be continued behind its end.",
            lambda beginnings, log_p, width: (_best(_grown(beginnings, log_p, _plus), width), []),
            lambda beginnings, log_p, width: (
                _best(_grown(beginnings, log_p, _plus), width),
                _parted(_best(_grown(beginnings, log_p, _plus), width))[1],
            ),
        ),
        mistake(
            "loses the finished texts",
            "They are what the search is for: hand them back as the second list.",
            lambda beginnings, log_p, width: (
                _parted(_best(_grown(beginnings, log_p, _plus), width))[0],
                [],
            ),
            _unended_first,
        ),
        mistake(
            "takes the best continuation of each beginning",
            "That is several greedy searches side by side. Let all continuations of all beginnings compete: "
            "the two best may have the same beginning.",
            lambda beginnings, log_p, width: _parted(
                _best([texts[:1] for texts in _grown(beginnings, log_p, _plus)], width)
            ),
        ),
        mistake(
            "keeps `width` continuations of each beginning",
            "The beam would grow from step to step. Of all continuations together, `width` stay.",
            lambda beginnings, log_p, width: _parted(
                _best([texts[:width] for texts in _grown(beginnings, log_p, _plus)], 10**6)
            ),
        ),
        mistake(
            "forgets what the beginning has cost",
            "The log-probability of a text is that of its beginning plus that of its last token.",
            lambda beginnings, log_p, width: _parted(
                _best(_grown(beginnings, log_p, lambda total, p: p), width)
            ),
        ),
        mistake(
            "adds probabilities",
            "Probabilities are multiplied along a text; their logarithms are added. Leave the logarithms as "
            "they are.",
            lambda beginnings, log_p, width: _parted(
                _best(_grown(beginnings, log_p, lambda total, p: math.exp(total) + math.exp(p)), width)
            ),
        ),
        mistake(
            "multiplies logarithms",
            "The logarithm of a product is the sum of the logarithms. Two negative numbers multiplied are "
            "positive: the least probable would win.",
            lambda beginnings, log_p, width: _parted(
                _best(_grown(beginnings, log_p, lambda total, p: total * p), width)
            ),
        ),
        mistake(
            "leaves EOS in the finished texts",
            "EOS marks the end and is no part of the text: cut it off.",
            lambda beginnings, log_p, width: tuple(
                [
                    text
                    for text in _best(_grown(beginnings, log_p, _plus), width)
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
    id="06.best",
    reference=_winner(lambda ids, total: total / (len(ids) + 1)),
    inputs=(
        ([([5], -1.0), ([6, 7, 8, 9], -2.6)],),
        ([([5], -2.0), ([6, 7, 8, 9], -0.9)],),
        ([([5] * 6, -1.9), ([6] * 4, -0.7), ([7] * 5, -0.8), ([8] * 2, -0.9), ([9] * 3, -2.9)],),
    ),
    mistakes=(
        mistake(
            "does not look at the length",
            "Each token makes the sum smaller, so the shortest text nearly always wins. Divide by the number "
            "of tokens.",
            _winner(lambda ids, total: total),
        ),
        mistake(
            "does not count EOS",
            "The log-probability contains that of EOS, so EOS counts as a token of the length: len(ids) + 1.",
            _winner(lambda ids, total: total / len(ids)),
        ),
        mistake(
            "multiplies by the length",
            "The sums are negative: multiplied by the length, long texts are punished twice. Divide.",
            _winner(lambda ids, total: total * (len(ids) + 1)),
        ),
        mistake(
            "divides the probability instead of its logarithm",
            "The mean per token is a mean of logarithms (so e to that mean is the geometric mean of the "
            "probabilities). exp(total)/length favours short texts even more than no division does.",
            _winner(lambda ids, total: math.exp(total) / (len(ids) + 1)),
        ),
        mistake(
            "takes the longest text",
            "Length alone is no merit. It only makes the sums comparable.",
            _winner(lambda ids, total: len(ids)),
        ),
        mistake(
            "takes the worst text",
            "Log-probabilities are negative; the best mean is the one nearest to 0, the largest.",
            _winner(lambda ids, total: -total / (len(ids) + 1)),
            _winner(lambda ids, total: abs(total) / (len(ids) + 1)),
        ),
    ),
)
