"""Data and metrics: the first n lines, the mean loss over unequal batches, and unseen sentences."""

from course_lib.exercises.exercise import Exercise, mistake


def _d2l_take(lines: list[str], number: int) -> list[str]:
    found = []
    for i, line in enumerate(lines):
        if i > number:
            break
        found.append(line)
    return found


TAKE = Exercise(
    id="A3.take",
    reference=lambda lines, number: lines[:number],
    inputs=((["a", "b", "c", "d"], 2), (["a", "b"], 2), (["a", "b"], 5), (["a"], 0)),
    mistakes=(
        mistake(
            "your code takes one line too many",
            "d2l has the same bug: the indices 0 to n are n + 1 lines. Line n must stay out, so stop "
            "at i >= number.",
            _d2l_take,
            lambda lines, number: lines[: number + 1],
        ),
        mistake(
            "your code takes one line too few",
            "The lines with indices 0 to n − 1 are n lines. Include index number − 1.",
            lambda lines, number: lines[: max(number - 1, 0)],
            lambda lines, number: [line for i, line in enumerate(lines) if i + 1 < number],
        ),
        mistake(
            "your code leaves out the first line",
            "Python counts from 0, so the first line has index 0.",
            lambda lines, number: lines[1 : number + 1],
            lambda lines, number: lines[1:number],
        ),
        mistake(
            "your code takes the last lines",
            "The exercise asks for the first `number` lines. Slice from the start.",
            lambda lines, number: lines[-number:] if number else [],
        ),
        mistake(
            "your code takes lines from the end",
            "lines[:number] are the first ones.",
            lambda lines, number: lines[-number:],
        ),
    ),
)

MEAN_LOSS = Exercise(
    id="A3.mean_loss",
    reference=lambda losses, sizes: sum(a * n for a, n in zip(losses, sizes, strict=True)) / sum(sizes),
    inputs=(([2.0, 5.0], [3, 1]), ([1.5, 3.0], [128, 1]), ([1.0, 2.0, 4.0], [8, 8, 4]), ([2.0], [7])),
    mistakes=(
        mistake(
            "your code averages over batches instead of sentences",
            "That is what the plotted curve shows: a batch of one sentence counts as much as one of "
            "128. Weight each loss by the size of its batch.",
            lambda losses, sizes: sum(losses) / len(losses),
        ),
        mistake(
            "your code divides by the number of batches",
            "The weighted losses add up to a sum over sentences. Divide by the number of sentences.",
            lambda losses, sizes: sum(a * n for a, n in zip(losses, sizes, strict=True)) / len(losses),
        ),
        mistake(
            "your code does not divide",
            "That is the sum over all sentences, which grows with their number. Divide by the number "
            "of sentences.",
            lambda losses, sizes: sum(a * n for a, n in zip(losses, sizes, strict=True)),
        ),
        mistake(
            "your code adds means and divides by the number of sentences",
            "Each loss is already a mean over its batch. Multiply it by the size of the batch before "
            "you add.",
            lambda losses, sizes: sum(losses) / sum(sizes),
        ),
        mistake(
            "your code leaves out the last batch",
            "It is smaller, but its sentences count as much as all others. Include it with its own size.",
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
    ("go .", "bouge !"),  # another translation of a training sentence
    ("be calm .", "sois calme ."),
    ("be calm .", "restez calme ."),
    ("get going .", "va !"),  # only the French side is in the training set
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
    id="A3.unseen",
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
            "your code compares pairs instead of English sentences",
            '"go ." has several translations. The model has seen the English sentence, only with '
            "another French one. Compare the English side alone.",
            lambda trained, held_out: list(dict.fromkeys(e for e, f in held_out if (e, f) not in trained)),
            lambda trained, held_out: [e for e, f in held_out if (e, f) not in trained],
        ),
        mistake(
            "your code lists a sentence twice",
            "Two held-out pairs share an English side, which would count twice. dict.fromkeys keeps "
            "each one once, in order.",
            lambda trained, held_out: [e for e, _ in held_out if e not in _sources(trained)],
        ),
        mistake(
            "your code keeps the sentences seen in training",
            "The exercise asks for the sentences that are *not* in the training set. Invert the test.",
            lambda trained, held_out: [
                e for e in dict.fromkeys(e for e, _ in held_out) if e in _sources(trained)
            ],
        ),
        mistake(
            "your code keeps all held-out sentences",
            "Some also occur in the training set, with the same French side or another. Filter them out.",
            lambda trained, held_out: list(dict.fromkeys(e for e, _ in held_out)),
            lambda trained, held_out: [e for e, _ in held_out],
        ),
        mistake(
            "your code compares the French sides",
            "The model reads the English side, so that is what it must not have seen. Compare those.",
            lambda trained, held_out: list(
                dict.fromkeys(e for e, f in held_out if f not in {right for _, right in trained})
            ),
        ),
        mistake(
            "your code loses the order",
            "A set has no order, and sorting changes it. dict.fromkeys keeps each sentence once, in "
            "the original order.",
            lambda trained, held_out: sorted(_unseen(trained, held_out)),
        ),
        mistake(
            "your code returns pairs",
            "The exercise asks only for the English sentences. Return the first item of each pair.",
            lambda trained, held_out: [p for p in held_out if p[0] not in _sources(trained)],
        ),
        mistake(
            "your code compares the French sentences",
            "Each pair is (English, French): the first of the two counts.",
            lambda trained, held_out: list(
                dict.fromkeys(f for _, f in held_out if f not in {french for _, french in trained})
            ),
        ),
    ),
)
