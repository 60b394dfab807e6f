"""The gradient that reaches k steps back in the smallest recurrent network."""

from course_lib.exercises.exercise import Exercise, mistake

REACH = Exercise(
    id="00.reach",
    reference=lambda w, k: w**k,
    inputs=((0.5, 1), (0.5, 3), (1.0, 4), (1.5, 10), (-0.8, 5), (0.9, 0)),
    mistakes=(
        mistake(
            "your answer is one step too far",
            "For k = 0 the input enters the newest hidden state directly, so the derivative is 1. The "
            "exponent is k, not k + 1.",
            lambda w, k: w ** (k + 1),
        ),
        mistake(
            "your answer is one step short",
            "Each of the k steps after the input multiplies it by w once. The exponent is k, not k − 1.",
            lambda w, k: w ** (k - 1),
        ),
        mistake(
            "your code adds the steps instead of multiplying",
            "The chain rule multiplies the derivatives along a path: w · w · … · w. It adds only over "
            "different paths.",
            lambda w, k: k * w,
            lambda w, k: sum([w] * k),
        ),
        mistake(
            "your code divides by w instead of multiplying",
            "Each step back multiplies by w once more. Check with w = 0.5: the gradient must shrink.",
            lambda w, k: w**-k,
            lambda w, k: (1 / w) ** k,
        ),
        mistake(
            "your code swaps base and exponent",
            "k factors of w make the power w^k: the base is w and the exponent is k.",
            lambda w, k: k**w,
        ),
        mistake(
            "your answer is the derivative with respect to w",
            "k·w^(k−1) says how w^k changes with w. The question is about the input: it is multiplied "
            "by w^k, and that factor is its derivative.",
            lambda w, k: k * w ** (k - 1),
        ),
        mistake(
            "your answer does not depend on k",
            "w is the derivative over a single step. The path from an input k steps back has k of them, and "
            "the chain rule multiplies their derivatives.",
            lambda w, k: w,
        ),
        mistake(
            "your code loses the sign",
            "A negative w flips the sign at every step, so the derivative is negative for odd k. Keep "
            "w as it is.",
            lambda w, k: abs(w) ** k,
        ),
        mistake(
            "your answer is wrong for k = 0",
            "The newest input enters the last hidden state directly: 0 steps back, the derivative is w⁰ = 1.",
            lambda w, k: w ** max(k, 1),
        ),
        mistake(
            "your answer adds the derivatives of all inputs up to k steps back",
            "Each input has its own derivative. Return only w^k, that of the input k steps back.",
            lambda w, k: sum(w**i for i in range(k + 1)),
        ),
    ),
)
