"""How large a classifier's last layer is."""

from course_lib.exercises.exercise import Exercise, mistake


def _both(tokens: int, d_model: int, classes: int) -> tuple[int, int]:
    return tokens * d_model * classes + classes, d_model * classes + classes


HEAD_SIZE = Exercise(
    id="09.head_size",
    reference=_both,
    inputs=((3, 4, 2), (16, 32, 5), (160, 64, 1000)),
    mistakes=(
        mistake(
            "forgets the biases",
            "A linear layer has one bias for each class, beside its matrix.",
            lambda tokens, d_model, classes: (tokens * d_model * classes, d_model * classes),
        ),
        mistake(
            "makes the pooled head as long as the text",
            "Mean, maximum and class token leave one vector of d_model numbers, however long the text is: "
            "the matrix is (classes, d_model).",
            lambda tokens, d_model, classes: (_both(tokens, d_model, classes)[0],) * 2,
        ),
        mistake(
            "makes the flattened head as short as the pooled one",
            "Flattened states are tokens · d_model numbers, and each has a weight for each class.",
            lambda tokens, d_model, classes: (_both(tokens, d_model, classes)[1],) * 2,
        ),
        mistake(
            "swaps the two",
            "First the flattened head, then the pooled one.",
            lambda tokens, d_model, classes: _both(tokens, d_model, classes)[::-1],
        ),
        mistake(
            "gives each place biases of its own",
            "The flattened head is one linear layer: one bias for each class.",
            lambda tokens, d_model, classes: (
                tokens * _both(tokens, d_model, classes)[1],
                _both(tokens, d_model, classes)[1],
            ),
        ),
    ),
)
