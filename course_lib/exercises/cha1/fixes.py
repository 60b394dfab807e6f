"""Fixes for the lecture's model: flattening, decoder passes, label shift, padding, decoding."""

from collections.abc import Callable

import torch

from course_lib.exercises.exercise import Answer, Exercise, mistake

PARAMETERS = Exercise(
    id="A1.flat_parameters",
    reference=lambda tokens, d_in, d_out: tokens * d_in * tokens * d_out + tokens * d_out,
    inputs=((1, 2, 3), (2, 2, 3), (10, 64, 64), (10, 256, 512)),
    mistakes=(
        mistake(
            "your answer counts a Linear that reads one token",
            "That layer is shared by all positions, so its size does not depend on `tokens`. "
            "Flattened, the whole sentence is one vector of tokens · d_in features.",
            lambda tokens, d_in, d_out: d_in * d_out + d_out,
        ),
        mistake(
            "your answer counts one Linear per position",
            "Each of those would read only one token. The flattened Linear connects every position "
            "with every other.",
            lambda tokens, d_in, d_out: tokens * (d_in * d_out + d_out),
        ),
        mistake(
            "your answer forgets the biases",
            "There is one bias per output feature. Add tokens · d_out.",
            lambda tokens, d_in, d_out: tokens * d_in * tokens * d_out,
        ),
        mistake(
            "your answer adds one bias in all",
            "There is one bias per output feature. Add tokens · d_out.",
            lambda tokens, d_in, d_out: tokens * d_in * tokens * d_out + 1,
        ),
        mistake(
            "your answer flattens only one side",
            "Input and output are whole sentences: tokens · d_in features become tokens · d_out.",
            lambda tokens, d_in, d_out: tokens * d_in * d_out + d_out,
        ),
        mistake(
            "your answer counts the biases of the inputs",
            "A linear layer has a bias for each *output* feature: tokens · d_out.",
            lambda tokens, d_in, d_out: tokens * d_in * tokens * d_out + tokens * d_in,
        ),
        mistake(
            "your answer has biases for one token only",
            "The output is a whole sentence of tokens · d_out features. Each has its own bias.",
            lambda tokens, d_in, d_out: tokens * d_in * tokens * d_out + d_out,
        ),
    ),
)

PASSES = Exercise(
    id="A1.positions_computed",
    reference=lambda tokens: (tokens * (tokens - 1), tokens - 1),
    inputs=((2,), (3,), (10,), (100,)),
    mistakes=(
        mistake(
            "your answer has a pass for slot 0",
            "The first token is given, so nothing is predicted for it. Count tokens − 1 passes.",
            lambda tokens: (tokens * tokens, tokens - 1),
            lambda tokens: (tokens * tokens, tokens),
        ),
        mistake(
            "your answer lets a pass compute only the tokens so far",
            "The lecture's decoder always computes all positions. Hidden tokens are set to zero, but "
            "they are computed all the same.",
            lambda tokens: (tokens * (tokens - 1) // 2, tokens - 1),
            lambda tokens: (tokens * (tokens + 1) // 2, tokens - 1),
        ),
        mistake(
            "your answer also reads the last token in the single pass",
            "With the shift, the decoder reads all tokens except the last, which has no successor.",
            lambda tokens: (tokens * (tokens - 1), tokens),
        ),
        mistake(
            "your answer swaps the two decoders",
            "Return the lecture's number first, then that of the single pass.",
            lambda tokens: (tokens - 1, tokens * (tokens - 1)),
        ),
        mistake(
            "your answer counts a position too few in each pass",
            "Each of the lecture's passes computes all positions of the sentence, `tokens` of them.",
            lambda tokens: ((tokens - 1) ** 2, tokens - 1),
        ),
        mistake(
            "your answer counts passes instead of positions",
            "Each pass computes every position of the sentence. Multiply by the positions per pass.",
            lambda tokens: (tokens - 1, 1),
        ),
    ),
)

_IDS = (
    torch.tensor([[0, 7, 1]]),
    torch.tensor([[0, 5, 9, 1, 1], [0, 4, 3, 8, 1]]),
)
SHIFT = Exercise(
    id="A1.shift",
    reference=lambda target: (target[:, :-1], target[:, 1:]),
    inputs=tuple((ids,) for ids in _IDS),
    mistakes=(
        mistake(
            "your code does not shift",
            "Then each label is the token that the decoder reads at the same position, so copying is "
            "enough. The input drops the last token; the labels drop the first.",
            lambda target: (target, target),
            lambda target: (target[:, 1:], target[:, 1:]),
            lambda target: (target[:, :-1], target[:, :-1]),
        ),
        mistake(
            "your code shifts in the wrong direction",
            "The input starts with SOS and drops the last token. The labels drop SOS and start with "
            "the first word.",
            lambda target: (target[:, 1:], target[:, :-1]),
        ),
        mistake(
            "your code leaves the last token in the input",
            "That token has no successor to predict, and the two parts differ in length. Drop it: "
            "target[:, :-1].",
            lambda target: (target, target[:, 1:]),
        ),
        mistake(
            "your code rotates instead of shifting",
            "roll moves the first token to the end, so SOS would become a label. Slice instead: "
            "target[:, :-1] and target[:, 1:].",
            lambda target: (target, target.roll(-1, 1)),
            lambda target: (target.roll(1, 1), target),
        ),
        mistake(
            "your code cuts sentences instead of tokens",
            "The first axis is the batch. Shift along the second axis: target[:, :-1].",
            lambda target: (target[:-1], target[1:]),
        ),
    ),
)

_LOSSES = torch.tensor([[3.0, 1.0, 0.0, 0.0], [2.0, 2.0, 2.0, 2.0], [5.0, 0.5, 0.25, 0.25]])
_REAL = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]]).bool()
PADDING = Exercise(
    id="A1.loss_of_words",
    reference=lambda losses, real: losses[real].mean(),
    inputs=((_LOSSES[:1], _REAL[:1]), (_LOSSES, _REAL)),
    mistakes=(
        mistake(
            "your loss counts the padding",
            "That is the lecture's loss. Padding is trivial to predict, so it makes the mean look "
            "good. Average over the positions where `real` is True.",
            lambda losses, real: losses.mean(),
        ),
        mistake(
            "your loss leaves the padding out of the sum but not out of the count",
            "Then short sentences look better. Divide by the number of real tokens, real.sum().",
            lambda losses, real: (losses * real).mean(),
        ),
        mistake(
            "your loss counts only the padding",
            "`real` is True where there is a word. Do not invert it.",
            lambda losses, real: losses[~real].mean(),
        ),
        mistake(
            "your loss averages the means of the sentences",
            "Then a word in a short sentence counts for more than a word in a long one. Sum over all "
            "real tokens, then divide once.",
            lambda losses, real: ((losses * real).sum(1) / real.sum(1)).mean(),
        ),
        mistake(
            "your loss is a sum",
            "The sum grows with the batch. Divide by the number of real tokens.",
            lambda losses, real: losses[real].sum(),
        ),
        mistake(
            "your loss has one number for each sentence",
            "Sum over all real tokens of the batch, then divide once.",
            lambda losses, real: (losses * real).sum(1) / real.sum(1),
        ),
        mistake(
            "your loss divides by the number of sentences",
            "Then long sentences cost more than short ones. Divide by the number of real tokens.",
            lambda losses, real: (losses * real).sum() / len(losses),
        ),
    ),
)

SENTENCE = (4, 6, 5, 6, 1)  # two 6s: the last token does not determine the next


def next_word(ids: list[int]) -> int:
    """Decoder that knows one sentence: the next token for each of its prefixes, 9 for anything else."""
    if ids[0] != 0 or tuple(ids[1:]) != SENTENCE[: len(ids) - 1]:
        return 9
    return SENTENCE[min(len(ids) - 1, len(SENTENCE) - 1)]


def without_end(ids: list[int]) -> int:
    """Decoder that never predicts EOS."""
    return 2 + (sum(ids) + len(ids)) % 5


Decoder = Callable[[list[int]], int]


def _decode(feed: str = "all", start: bool = False, end: bool = False, stop: bool = True) -> Answer:
    """Greedy decoding with optional mistakes; `feed` selects the decoder's input."""

    def decode(decoder: Decoder, max_tokens: int) -> list[int]:
        ids = [0]
        for _ in range(max_tokens):
            given = {"all": ids, "start": ids[:1], "last": ids[-1:]}[feed]
            word = decoder(given)
            if word == 1 and stop:
                ids = [*ids, *([1] if end else [])]
                break
            ids = [*ids, word]
        return ids if start else ids[1:]

    return decode


FEEDBACK = Exercise(
    id="A1.feedback",
    reference=_decode(),
    inputs=((next_word, 8), (next_word, 3), (without_end, 4)),
    mistakes=(
        mistake(
            "your code never gives the decoder its own output",
            "That is the lecture's evaluation: the decoder sees only SOS and predicts what follows SOS "
            "each time. Pass it all ids generated so far.",
            _decode(feed="start"),
            _decode(feed="start", start=True),
        ),
        mistake(
            "your code gives the decoder only the last token",
            "The next token depends on all previous ones. Pass the whole list.",
            _decode(feed="last"),
        ),
        mistake(
            "your code leaves SOS in the sentence",
            "SOS only starts the decoder. Do not return it.",
            _decode(start=True),
        ),
        mistake(
            "your code leaves EOS in the sentence",
            "EOS only marks the end. Stop before you append it.",
            _decode(end=True),
            _decode(end=True, start=True),
        ),
        mistake(
            "your code counts SOS toward the length",
            "SOS is given, not generated. Up to `max_tokens` tokens may follow it.",
            lambda decoder, max_tokens: _decode()(decoder, max_tokens - 1),
        ),
        mistake(
            "your code does not stop at EOS",
            "EOS ends the sentence. Stop as soon as the decoder predicts it.",
            _decode(stop=False),
        ),
    ),
)
