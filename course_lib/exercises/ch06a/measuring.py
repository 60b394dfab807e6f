"""So many lines and no more, a mean over batches of unequal size, and sentences that are really new."""

from course_lib.exercises.exercise import Exercise, mistake


def _d2l_take(lines: list[str], number: int) -> list[str]:
    found = []
    for i, line in enumerate(lines):
        if i > number:
            break
        found.append(line)
    return found


TAKE = Exercise(
    id="06a.take",
    reference=lambda lines, number: lines[:number],
    inputs=((["a", "b", "c", "d"], 2), (["a", "b"], 2), (["a", "b"], 5), (["a"], 0)),
    mistakes=(
        mistake(
            "takes one line too many",
            "That is d2l's slip: numbers from 0 to n are n + 1 numbers. The line with the number n must stay "
            "out, so the loop stops at i >= number.",
            _d2l_take,
            lambda lines, number: lines[: number + 1],
        ),
        mistake(
            "takes one line too few",
            "The lines with the numbers 0 to n - 1 are n lines.",
            lambda lines, number: lines[: max(number - 1, 0)],
            lambda lines, number: [line for i, line in enumerate(lines) if i + 1 < number],
        ),
        mistake(
            "leaves out the first line",
            "Python counts from 0: the first line has the number 0.",
            lambda lines, number: lines[1 : number + 1],
            lambda lines, number: lines[1:number],
        ),
        mistake(
            "takes the last lines",
            "The first `number` lines are asked for.",
            lambda lines, number: lines[-number:] if number else [],
        ),
    ),
)

MEAN_LOSS = Exercise(
    id="06a.mean_loss",
    reference=lambda losses, sizes: sum(a * n for a, n in zip(losses, sizes, strict=True)) / sum(sizes),
    inputs=(([2.0, 5.0], [3, 1]), ([1.5, 3.0], [128, 1]), ([1.0, 2.0, 4.0], [8, 8, 4]), ([2.0], [7])),
    mistakes=(
        mistake(
            "averages the batches, not the sentences",
            "That is what the plotted curve shows: a batch of one sentence counts as much as one of 128. "
            "Weigh each loss with the size of its batch.",
            lambda losses, sizes: sum(losses) / len(losses),
        ),
        mistake(
            "divides by the number of batches",
            "The weighted losses are a sum over sentences: divide by the number of sentences.",
            lambda losses, sizes: sum(a * n for a, n in zip(losses, sizes, strict=True)) / len(losses),
        ),
        mistake(
            "does not divide",
            "That is the sum over all sentences; it grows with their number.",
            lambda losses, sizes: sum(a * n for a, n in zip(losses, sizes, strict=True)),
        ),
        mistake(
            "adds means and divides by the number of sentences",
            "Each loss is a mean already. Multiply it with the size of its batch before you add.",
            lambda losses, sizes: sum(losses) / sum(sizes),
        ),
        mistake(
            "leaves out the last batch",
            "It is small, but its sentences count like all others.",
            lambda losses, sizes: (
                sum(a * n for a, n in zip(losses[:-1], sizes[:-1], strict=True)) / max(sum(sizes[:-1]), 1)
            ),
            lambda losses, sizes: losses[0],
        ),
    ),
)

Pairs = list[tuple[str, str]]
TRAINED: Pairs = [("go .", "va !"), ("i lost .", "j'ai perdu ."), ("run !", "cours !")]
HELD_OUT: Pairs = [
    ("go .", "bouge !"),  # another translation of a sentence that was trained on
    ("be calm .", "sois calme ."),
    ("be calm .", "restez calme ."),
    ("get going .", "va !"),  # the French side was trained on
    ("run !", "cours !"),
]
IN_ORDER: Pairs = [
    (text, "…") for text in ("stop .", "come in .", "wait !", "i see .", "help me .", "be nice .")
]


def _sources(pairs: Pairs) -> set[str]:
    return {english for english, _ in pairs}


def _unseen(trained: Pairs, held_out: Pairs) -> list[str]:
    return [e for e in dict.fromkeys(e for e, _ in held_out) if e not in _sources(trained)]


UNSEEN = Exercise(
    id="06a.unseen",
    reference=_unseen,
    inputs=(
        (TRAINED, HELD_OUT),
        (TRAINED[:1], HELD_OUT),
        (TRAINED, TRAINED[:1]),
        ([], HELD_OUT),
        (TRAINED, IN_ORDER),
    ),
    mistakes=(
        mistake(
            "compares pairs, not English sentences",
            '"go ." has several translations. The model has seen the sentence, though not with this French '
            "one: look for the English side alone.",
            lambda trained, held_out: list(dict.fromkeys(e for e, f in held_out if (e, f) not in trained)),
            lambda trained, held_out: [e for e, f in held_out if (e, f) not in trained],
        ),
        mistake(
            "names a sentence twice",
            "Two held-out pairs have the same English side, and it would count twice. `dict.fromkeys` keeps "
            "each once, in order.",
            lambda trained, held_out: [e for e, _ in held_out if e not in _sources(trained)],
        ),
        mistake(
            "keeps those that were trained on",
            "The sentences that are *not* among the training ones are asked for.",
            lambda trained, held_out: [
                e for e in dict.fromkeys(e for e, _ in held_out) if e in _sources(trained)
            ],
        ),
        mistake(
            "takes all held-out sentences",
            "Some stand among the training pairs, too, with the same French side or with another.",
            lambda trained, held_out: list(dict.fromkeys(e for e, _ in held_out)),
            lambda trained, held_out: [e for e, _ in held_out],
        ),
        mistake(
            "compares the French sides",
            "The model is given the English side: that is what it must not have seen.",
            lambda trained, held_out: list(
                dict.fromkeys(e for e, f in held_out if f not in {right for _, right in trained})
            ),
        ),
        mistake(
            "loses the order",
            "A set has no order, and a sorted list another one. `dict.fromkeys` keeps each sentence once, in "
            "the order of the list.",
            lambda trained, held_out: sorted(_unseen(trained, held_out)),
        ),
        mistake(
            "returns pairs",
            "The English sentences alone are asked for.",
            lambda trained, held_out: [p for p in held_out if p[0] not in _sources(trained)],
        ),
    ),
)
