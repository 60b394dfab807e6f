"""Parameter count of a classification head."""

from course_lib.exercises.exercise import Answer, Exercise, mistake


def _both(tokens: int, d_model: int, classes: int) -> tuple[int, int]:
    return tokens * d_model * classes + classes, d_model * classes + classes


def _with_biases(flat: Answer, pooled: Answer) -> Answer:
    return lambda tokens, d_model, classes: (
        tokens * d_model * classes + flat(tokens, d_model),
        d_model * classes + pooled(tokens, d_model),
    )


_WRONG_BIASES: tuple[tuple[Answer, Answer], ...] = (
    (lambda tokens, d_model: 1, lambda tokens, d_model: 1),
    (lambda tokens, d_model: d_model, lambda tokens, d_model: d_model),
    (lambda tokens, d_model: tokens * d_model, lambda tokens, d_model: d_model),
    (lambda tokens, d_model: tokens, lambda tokens, d_model: 1),
)

HEAD_SIZE = Exercise(
    id="09.head_size",
    reference=_both,
    inputs=((3, 4, 2), (16, 32, 5), (160, 64, 1000)),
    mistakes=(
        mistake(
            "your answer forgets the biases",
            "A linear layer has one bias per class, besides its matrix. Add `classes` to both counts.",
            lambda tokens, d_model, classes: (tokens * d_model * classes, d_model * classes),
        ),
        mistake(
            "your answer lets the pooled head grow with the text",
            "Mean, maximum and class token give one vector of d_model features, however long the text "
            "is. The matrix is (classes, d_model).",
            lambda tokens, d_model, classes: (_both(tokens, d_model, classes)[0],) * 2,
        ),
        mistake(
            "your answer makes the flattened head as small as the pooled one",
            "The flattened hidden states have tokens · d_model features, and each has a weight per class.",
            lambda tokens, d_model, classes: (_both(tokens, d_model, classes)[1],) * 2,
        ),
        mistake(
            "your answer swaps the two heads",
            "Return the flattened head first, then the pooled one.",
            lambda tokens, d_model, classes: _both(tokens, d_model, classes)[::-1],
        ),
        mistake(
            "your answer gives each position its own biases",
            "The flattened head is one linear layer, with one bias per class.",
            lambda tokens, d_model, classes: (
                tokens * _both(tokens, d_model, classes)[1],
                _both(tokens, d_model, classes)[1],
            ),
        ),
        mistake(
            "your answer has a wrong number of biases",
            "A linear layer has one bias per output, that is, per class.",
            *(_with_biases(*both) for both in _WRONG_BIASES),
        ),
    ),
)
