"""Costs of sequence models: gradient of an RNN, path length of a CNN, attention versus a GRU."""

import math

from course_lib.exercises.exercise import Exercise, mistake, value

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

LAYERS = Exercise(
    id="00.layers",
    reference=lambda tokens, width: -(-(tokens - 1) // (width - 1)),
    inputs=((2, 2), (9, 3), (10, 3), (11, 4), (100, 5), (101, 5), (64, 2)),
    mistakes=(
        mistake(
            "your code divides the number of tokens by the width",
            "A window of `width` tokens includes the token itself, so a layer reaches only width − 1 "
            "tokens further back. The first token is tokens − 1 steps from the last.",
            lambda tokens, width: math.ceil(tokens / width),
            lambda tokens, width: tokens // width,
            lambda tokens, width: tokens / width,
        ),
        mistake(
            "your code lets each layer reach `width` tokens further",
            "The window includes the token itself. Each layer reaches only width − 1 tokens further back.",
            lambda tokens, width: math.ceil((tokens - 1) / width),
        ),
        mistake(  # ⌈tokens / (width − 1)⌉ and (tokens − 1) // (width − 1) + 1 are equal
            "your answer has one layer too many if width − 1 divides tokens − 1",
            "The distance is tokens − 1, not tokens, and adding 1 after `//` does not round up: it also adds "
            "a layer where nothing is left over. Use math.ceil((tokens − 1) / (width − 1)).",
            lambda tokens, width: math.ceil(tokens / (width - 1)),
            lambda tokens, width: (tokens - 1) // (width - 1) + 1,
        ),
        mistake(
            "your code takes `tokens` as the distance",
            "From the last token back to the first there are only tokens − 1 steps.",
            lambda tokens, width: tokens / (width - 1),
            lambda tokens, width: tokens // (width - 1),
        ),
        mistake(
            "your code rounds down",
            "If the distance is not a multiple of width − 1, you need one more layer for the rest. Round up.",
            lambda tokens, width: (tokens - 1) // (width - 1),
        ),
        mistake(
            "your code does not round",
            "A fraction of a layer does not exist. Round up, with math.ceil or -(-a // b).",
            lambda tokens, width: (tokens - 1) / (width - 1),
        ),
        mistake(
            "your answer counts dilated convolutions",
            "The logarithm holds if the gaps grow from layer to layer. These windows have no gaps, so "
            "the reach grows by a constant per layer.",
            lambda tokens, width: math.ceil(math.log(tokens, width) - 1e-9),
        ),
        mistake(
            "your answer is one layer, as in attention",
            "Attention sees all tokens at once, but a convolution sees only its window. Stack layers "
            "until the windows reach back to the first token.",
            lambda tokens, width: 1,
        ),
        mistake(
            "your layers look in both directions",
            "A token depends on the tokens before it only, so each layer adds width − 1 tokens on one side.",
            lambda tokens, width: math.ceil((tokens - 1) / (2 * (width - 1))),
        ),
    ),
)

COST = Exercise(
    id="00.cost",
    reference=value(64),
    inputs=((),),
    mistakes=(
        mistake(
            "your answer leaves out the projections",
            "2·n²·d = 6·n·d² does give n = 3d. But the layer also multiplies each token by W_q, W_k, "
            "W_v and W_o: add 4·d² per token.",
            value(192),
        ),
        mistake(
            "your answer counts only the scores",
            "The scores take n²·d multiplications, and the weighted averages of the values as many "
            "again. Count 2·n²·d.",
            value(128),
        ),
        mistake(
            "your answer counts three projections instead of four",
            "Queries, keys and values need three matrices, and the output needs a fourth. Count 4·d² + "
            "2·n·d = 6·d² per token.",
            value(96),
        ),
        mistake(
            "your answer compares with an RNN of two matrices",
            "A GRU has three sets of weights with two matrices each. Count 6·d² multiplications per "
            "token.",
            value(-64), value(0),
        ),
        mistake(
            "your answer counts too much for the attention",
            "The exercise counts multiplications alone. The scores take n²·d of them and the weighted "
            "averages n²·d: together 2·n²·d, not 4·n²·d.",
            value(32),
        ),
        mistake(
            "your answer is the square of the width",
            "Divide both sides by n and by d: 4·d + 2·n = 6·d. What remains has no squares.",
            value(64**2),
        ),
    ),
)  # fmt: skip
