"""Labels for instruction tuning: the loss counts the answer only."""

from course_lib.exercises.exercise import Answer, Exercise, mistake
from course_lib.tasks.prefix_lm import NOT_COUNTED, next_labels
from course_lib.text.tokenizers import EOS


def _labels(late: int = 0, ignore: int = NOT_COUNTED) -> Answer:
    """Labels that begin `late` tokens after the answer does."""

    def answer(prompt: list[int], answer: list[int]) -> list[int]:
        labels = next_labels([*prompt, *answer], len(prompt) + late)
        return [ignore if label == NOT_COUNTED else label for label in labels]

    return answer


def _without_last(prompt: list[int], answer: list[int]) -> list[int]:
    return [NOT_COUNTED] * (len(prompt) - 1) + list(answer)


def _after_first_eos(prompt: list[int], answer: list[int]) -> list[int]:
    text = [*prompt, *answer]
    return next_labels(text, text.index(EOS) + 1 if EOS in text else len(text))


ANSWER_LABELS = Exercise(
    id="07d.answer_labels",
    reference=lambda prompt, answer: _labels()(prompt, answer),
    inputs=(
        ([1, 7, 2], [9, 2]),
        ([1, 7, 8, 2], [8, 7, 2]),
        ([1, 20, 11, 12, 13, 2], [13, 12, 11, 2]),
        ([1, 7, 2, 9, 2, 1, 8, 2], [10, 2]),  # a dialog: an earlier answer belongs to the prompt
        ([1, 7, 8], [8, 7, 2]),
    ),
    mistakes=(
        mistake(
            "your labels are not shifted",
            "A position predicts the token *after* it, so its label is the next token. In your list, each "
            "position must predict the token that it reads.",
            lambda prompt, answer: [NOT_COUNTED] * len(prompt) + list(answer),
        ),
        mistake(
            "your labels include the request",
            "Nobody asks the model to write requests. Set a label to -100 where the next token belongs to "
            "the prompt.",
            lambda prompt, answer: next_labels([*prompt, *answer]),
        ),
        mistake(
            "your labels lack the first token of the answer",
            "The last token of the prompt predicts the first token of the answer, so that position has a "
            "label.",
            _labels(late=1),
        ),
        mistake(
            "your labels include one token of the prompt",
            "The position before the last token of the prompt predicts a token of the prompt. Its label is "
            "-100.",
            _labels(late=-1),
        ),
        mistake(
            "your list has one label too few",
            "The last token has no next one in this text, but it is a position all the same. Its label is "
            "-100.",
            _without_last,
        ),
        mistake(
            "your code uses the label 0 for positions that do not count",
            "0 is the id of a token, so the model would have to predict it. PyTorch's `cross_entropy` skips "
            "the label -100.",
            _labels(ignore=0),
        ),
        mistake(
            "your labels begin after the first EOS",
            "The prompt may have several, as in a dialog, or none. The answer begins after len(prompt) "
            "tokens.",
            _after_first_eos,
        ),
        mistake(
            "your labels end with the first token",
            "`roll` moves the first token to the end. The last token has no next one: its label is -100.",
            lambda prompt, answer: [*_labels()(prompt, answer)[:-1], (prompt + answer)[0]],
            lambda prompt, answer: [*prompt[1:], *answer, prompt[0]],
        ),
        mistake(
            "your code uses the label -1 for positions that do not count",
            "PyTorch's `cross_entropy` skips the label -100; -1 would be an error.",
            _labels(ignore=-1),
        ),
        mistake(
            "your code returns labels for the answer alone",
            "The text has a label for each of its tokens, those of the prompt included.",
            lambda prompt, answer: [*answer[1:], NOT_COUNTED],
            lambda prompt, answer: list(answer),
            lambda prompt, answer: [*answer, NOT_COUNTED],
        ),
        mistake(
            "your code shifts in the wrong direction",
            "A position predicts the token *after* it: the first label of the answer is at the last token of "
            "the prompt.",
            lambda prompt, answer: [NOT_COUNTED] * (len(prompt) + 1) + list(answer[:-1]),
            lambda prompt, answer: [NOT_COUNTED] * (len(prompt) + 1) + list(answer),
        ),
        mistake(
            "your labels lack the answer's last token",
            "The last token of the answer is EOS. Without it, the model never learns to stop.",
            lambda prompt, answer: [*next_labels([*prompt, *answer[:-1]], len(prompt)), NOT_COUNTED],
        ),
        mistake(
            "your labels have something to predict after the end",
            "The last token has no next one. Its label is -100.",
            *(lambda prompt, answer, end=end: [*_without_last(prompt, answer), end] for end in (0, 2, 3)),
        ),
        mistake(
            "your labels are those of the request",
            "Swap the two parts: -100 for the request, the next token for the answer.",
            lambda prompt, answer: [*prompt[1:], *[NOT_COUNTED] * (len(answer) + 1)],
        ),
    ),
)
