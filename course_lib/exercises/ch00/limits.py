"""What a recurrent network costs: how far gradients reach, how long paths are, when attention is dearer."""

import math

from course_lib.exercises.exercise import Exercise, mistake, value

REACH = Exercise(
    id="00.reach",
    reference=lambda w, k: w**k,
    inputs=((0.5, 1), (0.5, 3), (1.0, 4), (1.5, 10), (-0.8, 5), (0.9, 0)),
    mistakes=(
        mistake(
            "counts one step too many",
            "With k = 0 the newest input goes into the newest state as it is: the derivative is 1.",
            lambda w, k: w ** (k + 1),
        ),
        mistake(
            "counts one step too few",
            "The input k steps back is multiplied by w once in each of the k steps that follow it.",
            lambda w, k: w ** (k - 1),
        ),
        mistake(
            "adds the steps up instead of multiplying",
            "Each step multiplies what the one before it left: w · w · … · w. The chain rule multiplies "
            "along a path; it adds only over different paths.",
            lambda w, k: k * w,
            lambda w, k: sum([w] * k),
        ),
        mistake(
            "divides by w instead of multiplying",
            "Going back one step multiplies by w once more: with w = 0.5 the gradient gets smaller.",
            lambda w, k: w**-k,
            lambda w, k: (1 / w) ** k,
        ),
        mistake(
            "swaps base and exponent",
            "w is multiplied by itself, k times: w to the power k.",
            lambda w, k: k**w,
        ),
        mistake(
            "takes the derivative of a power",
            "k·w^(k−1) is the derivative with respect to w. Asked is the one with respect to the input, "
            "which w^k multiplies.",
            lambda w, k: k * w ** (k - 1),
        ),
        mistake(
            "loses the sign",
            "A negative w turns the sign at each step: only after an even number of steps is it positive.",
            lambda w, k: abs(w) ** k,
        ),
    ),
)

LAYERS = Exercise(
    id="00.layers",
    reference=lambda tokens, width: -(-(tokens - 1) // (width - 1)),
    inputs=((2, 2), (9, 3), (10, 3), (11, 4), (100, 5), (101, 5), (64, 2)),
    mistakes=(
        mistake(
            "divides the tokens by the width",
            "Of the `width` tokens that a window shows, one is the token itself: a layer reaches only "
            "width − 1 further back. And token 1 lies tokens − 1 before the last one.",
            lambda tokens, width: math.ceil(tokens / width),
            lambda tokens, width: tokens // width,
            lambda tokens, width: tokens / width,
        ),
        mistake(
            "reaches a whole window further with each layer",
            "Each layer reaches width − 1 tokens further back: the window includes the token itself.",
            lambda tokens, width: math.ceil((tokens - 1) / width),
        ),
        mistake(
            "takes all tokens for the distance",
            "From the last token back to the first there are tokens − 1 steps.",
            lambda tokens, width: math.ceil(tokens / (width - 1)),
            lambda tokens, width: tokens / (width - 1),
        ),
        mistake(
            "rounds down",
            "Where the distance is no multiple of width − 1, one more layer is needed for the rest.",
            lambda tokens, width: (tokens - 1) // (width - 1),
        ),
        mistake(
            "does not round",
            "There is no part of a layer: round up, with math.ceil or -(-a // b).",
            lambda tokens, width: (tokens - 1) / (width - 1),
        ),
        mistake(
            "counts windows with gaps",
            "The logarithm belongs to convolutions whose gaps grow from layer to layer. These windows have "
            "no gaps.",
            lambda tokens, width: math.ceil(math.log(tokens, width) - 1e-9),
        ),
        mistake(
            "is one layer, as in attention",
            "A convolution sees only its window; layers must be stacked until the windows reach back far "
            "enough.",
            lambda tokens, width: 1,
        ),
    ),
)

COST = Exercise(
    id="00.cost",
    reference=value(64),
    inputs=((),),
    mistakes=(
        mistake(
            "leaves the projections out",
            "2·n²·d = 6·n·d² holds at n = 3d. But the layer also multiplies each token by W_q, W_k, W_v and "
            "W_o: 4·d² for each token.",
            value(192),
        ),
        mistake(
            "forgets that each score is followed by an average",
            "n²·d products go into the scores, and as many into the averages of the values: 2·n²·d.",
            value(128),
        ),
        mistake(
            "counts three projections instead of four",
            "Queries, keys and values make three; the averages go through a fourth matrix. So 4·d² + 2·n·d = "
            "6·d² for each token.",
            value(96),
        ),
        mistake(
            "compares with an RNN of two matrices",
            "A GRU has three gates with two matrices each, so 6·d² products for a token.",
            value(-64), value(0),
        ),
        mistake(
            "is the square of the width",
            "Divide both sides by n and by d: 4·d + 2·n = 6·d.",
            value(64**2),
        ),
    ),
)  # fmt: skip
