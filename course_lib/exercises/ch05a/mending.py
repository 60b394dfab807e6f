"""What flattening costs, what passes cost, the shift, the padding, and feeding words back."""

from collections.abc import Callable

import torch

from course_lib.exercises.exercise import Answer, Exercise, mistake

PARAMETERS = Exercise(
    id="05a.flat_parameters",
    reference=lambda tokens, d_in, d_out: tokens * d_in * tokens * d_out + tokens * d_out,
    inputs=((1, 2, 3), (2, 2, 3), (10, 64, 64), (10, 256, 512)),
    mistakes=(
        mistake(
            "counts a Linear that reads one word",
            "That one is shared by all positions: its size does not depend on `tokens`. Flattened, the "
            "sentence is one vector of tokens · d_in numbers.",
            lambda tokens, d_in, d_out: d_in * d_out + d_out,
        ),
        mistake(
            "counts one Linear for each position",
            "Those would read one word each. The flattened Linear connects every position with every other.",
            lambda tokens, d_in, d_out: tokens * (d_in * d_out + d_out),
        ),
        mistake(
            "forgets the biases",
            "There is one for each number that comes out: tokens · d_out.",
            lambda tokens, d_in, d_out: tokens * d_in * tokens * d_out,
        ),
        mistake(
            "has biases for one word only",
            "A whole sentence comes out: tokens · d_out numbers, each with its bias.",
            lambda tokens, d_in, d_out: tokens * d_in * tokens * d_out + d_out,
        ),
    ),
)

PASSES = Exercise(
    id="05a.positions_computed",
    reference=lambda tokens: (tokens * (tokens - 1), tokens - 1),
    inputs=((2,), (3,), (10,), (100,)),
    mistakes=(
        mistake(
            "has a pass for slot 0, too",
            "Nothing is predicted for the first token, which is given: there are tokens − 1 passes.",
            lambda tokens: (tokens * tokens, tokens - 1),
            lambda tokens: (tokens * tokens, tokens),
        ),
        mistake(
            "lets a pass compute the words so far only",
            "The lecture's decoder always computes all positions; what is hidden has become zeros, and zeros "
            "are computed, too.",
            lambda tokens: (tokens * (tokens - 1) // 2, tokens - 1),
            lambda tokens: (tokens * (tokens + 1) // 2, tokens - 1),
        ),
        mistake(
            "reads the last token, too, in the single pass",
            "With the shift, the decoder reads all tokens but the last, which has no successor.",
            lambda tokens: (tokens * (tokens - 1), tokens),
        ),
        mistake(
            "counts passes, not positions",
            "Each pass computes every position of the sentence.",
            lambda tokens: (tokens - 1, 1),
        ),
    ),
)

_IDS = (
    torch.tensor([[0, 7, 1]]),
    torch.tensor([[0, 5, 9, 1, 1], [0, 4, 3, 8, 1]]),
)
SHIFT = Exercise(
    id="05a.shift",
    reference=lambda target: (target[:, :-1], target[:, 1:]),
    inputs=tuple((ids,) for ids in _IDS),
    mistakes=(
        mistake(
            "does not shift",
            "Then the word to be predicted is the word that is read at its own position: reading is enough.",
            lambda target: (target, target),
            lambda target: (target[:, 1:], target[:, 1:]),
            lambda target: (target[:, :-1], target[:, :-1]),
        ),
        mistake(
            "shifts the wrong way",
            "The input begins with SOS and stops before the last token; the labels begin with a word.",
            lambda target: (target[:, 1:], target[:, :-1]),
        ),
        mistake(
            "leaves the last token in the input",
            "It has no successor to predict, and the two parts differ in length.",
            lambda target: (target, target[:, 1:]),
        ),
        mistake(
            "shifts by rotating",
            "roll puts the first token behind the last one: SOS would be a word to predict.",
            lambda target: (target, target.roll(-1, 1)),
            lambda target: (target.roll(1, 1), target),
        ),
        mistake(
            "cuts sentences, not tokens",
            "The first axis is the batch: the shift runs along the second, target[:, :-1].",
            lambda target: (target[:-1], target[1:]),
        ),
    ),
)

_LOSSES = torch.tensor([[3.0, 1.0, 0.0, 0.0], [2.0, 2.0, 2.0, 2.0], [5.0, 0.5, 0.25, 0.25]])
_REAL = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]]).bool()
PADDING = Exercise(
    id="05a.loss_of_words",
    reference=lambda losses, real: losses[real].mean(),
    inputs=((_LOSSES[:1], _REAL[:1]), (_LOSSES, _REAL)),
    mistakes=(
        mistake(
            "counts padding like words",
            "That is the lecture's loss: padding is easy to predict, and makes the mean look good.",
            lambda losses, real: losses.mean(),
        ),
        mistake(
            "leaves padding out of the sum and keeps it in the number",
            "Divide by the number of real words, real.sum(); otherwise short sentences look better.",
            lambda losses, real: (losses * real).mean(),
        ),
        mistake(
            "counts the padding only",
            "`real` is True where a word stands.",
            lambda losses, real: losses[~real].mean(),
        ),
        mistake(
            "averages the means of the sentences",
            "Then a word in a short sentence counts for more than one in a long sentence. Sum over all "
            "words, then divide.",
            lambda losses, real: ((losses * real).sum(1) / real.sum(1)).mean(),
        ),
        mistake(
            "divides by the number of sentences",
            "Then long sentences cost more than short ones.",
            lambda losses, real: (losses * real).sum() / len(losses),
        ),
    ),
)

SENTENCE = (4, 6, 5, 6, 1)  # 6 twice: what follows must not depend on the last word alone


def next_word(ids: list[int]) -> int:
    """A decoder for one sentence: it knows the word that follows some words, and no more than that."""
    if ids[0] != 0 or tuple(ids[1:]) != SENTENCE[: len(ids) - 1]:
        return 9
    return SENTENCE[min(len(ids) - 1, len(SENTENCE) - 1)]


def without_end(ids: list[int]) -> int:
    """A decoder that never writes EOS."""
    return 2 + (sum(ids) + len(ids)) % 5


Decoder = Callable[[list[int]], int]


def _write(feed: str = "all", start: bool = False, end: bool = False, stop: bool = True) -> Answer:
    """Decoding in one of several ways; `feed` says what the decoder is given."""

    def write(decoder: Decoder, max_tokens: int) -> list[int]:
        ids = [0]
        for _ in range(max_tokens):
            given = {"all": ids, "start": ids[:1], "last": ids[-1:]}[feed]
            word = decoder(given)
            if word == 1 and stop:
                ids = [*ids, *([1] if end else [])]
                break
            ids = [*ids, word]
        return ids if start else ids[1:]

    return write


FEEDBACK = Exercise(
    id="05a.feedback",
    reference=_write(),
    inputs=((next_word, 8), (next_word, 3), (without_end, 4)),
    mistakes=(
        mistake(
            "never gives the decoder its own words",
            "That is the lecture's evaluation: the decoder sees SOS and nothing else, and writes what "
            "follows SOS. Hand over all ids that are written so far.",
            _write(feed="start"),
            _write(feed="start", start=True),
        ),
        mistake(
            "gives the decoder the last word only",
            "What comes next depends on all words so far: hand over the whole list.",
            _write(feed="last"),
        ),
        mistake(
            "leaves SOS in the sentence",
            "SOS starts the decoder; it is no part of what is written.",
            _write(start=True),
        ),
        mistake(
            "leaves EOS in the sentence",
            "EOS says that the sentence is over; it is no word of it.",
            _write(end=True),
            _write(end=True, start=True),
        ),
        mistake(
            "counts SOS among the words",
            "SOS is given, not written: `max_tokens` words may follow it.",
            lambda decoder, max_tokens: _write()(decoder, max_tokens - 1),
        ),
        mistake(
            "does not stop at EOS",
            "When the decoder writes EOS, the sentence is over.",
            _write(stop=False),
        ),
    ),
)
