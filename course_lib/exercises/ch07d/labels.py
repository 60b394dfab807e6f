"""Labels for instruction tuning: the loss counts the answer only."""

from course_lib.exercises.exercise import Answer, Exercise, mistake
from course_lib.tasks.prefix_lm import NOT_COUNTED, next_labels


def _labels(late: int = 0, ignore: int = NOT_COUNTED) -> Answer:
    """Labels that begin `late` tokens after the answer does."""

    def answer(prompt: list[int], answer: list[int]) -> list[int]:
        labels = next_labels([*prompt, *answer], len(prompt) + late)
        return [ignore if label == NOT_COUNTED else label for label in labels]

    return answer


def _without_last(prompt: list[int], answer: list[int]) -> list[int]:
    return [NOT_COUNTED] * (len(prompt) - 1) + list(answer)


ANSWER_LABELS = Exercise(
    id="07d.answer_labels",
    reference=lambda prompt, answer: _labels()(prompt, answer),
    inputs=(([1, 7, 2], [9, 2]), ([1, 7, 8, 2], [8, 7, 2]), ([1, 20, 11, 12, 13, 2], [13, 12, 11, 2])),
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
            "your labels lack the answer's last token",
            "The last token of the answer is EOS. Without it, the model never learns to stop.",
            lambda prompt, answer: [*next_labels([*prompt, *answer[:-1]], len(prompt)), NOT_COUNTED],
        ),
    ),
)
