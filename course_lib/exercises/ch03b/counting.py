"""What multi-head attention costs: parameters and multiplications."""

from course_lib.exercises.exercise import Exercise, mistake

PARAMETERS = Exercise(
    id="03b.parameters",
    reference=lambda d_model, heads, bias: 4 * d_model**2 + 4 * d_model * bias,
    inputs=((4, 2, False), (6, 3, True), (512, 8, True), (12, 1, True)),
    mistakes=(
        mistake(
            "your answer counts every head at full width",
            "Queries, keys and values of a head have only d_model / heads features each. All heads "
            "together fill the d_model columns of each matrix once, not `heads` times.",
            lambda d, h, bias: h * (3 * d**2 + 3 * d * bias) + d**2 + d * bias,
            lambda d, h, bias: h * (4 * d**2 + 4 * d * bias),
            lambda d, h, bias: h * 3 * (d**2 + d * bias) + h * d**2 + d * bias,
            lambda d, h, bias: 4 * h * d**2 + 4 * d * bias,
            lambda d, h, bias: 3 * h * d**2 + d**2 + 4 * d * bias,
            lambda d, h, bias: 3 * h * d**2 + d**2,
        ),
        mistake(
            "your answer forgets the output projection",
            "Besides the matrices for queries, keys and values, a fourth one mixes the merged heads. "
            "Count four.",
            lambda d, h, bias: 3 * d**2 + 3 * d * bias,
        ),
        mistake(
            "your answer forgets the biases",
            "With bias=True, each of the four projections also has a vector of d_model parameters.",
            lambda d, h, bias: 4 * d**2,
        ),
        mistake(
            "your answer gives each head only a slice of the input",
            "A head projects the whole vector, from d_model to d_head features. From slice to slice, "
            "d_head to d_head, the matrices would be `heads` times smaller.",
            lambda d, h, bias: 3 * d**2 // h + d**2 + 4 * d * bias,
            lambda d, h, bias: 4 * d**2 // h + 4 * d * bias,
            lambda d, h, bias: 3 * d**2 // h + 3 * d * bias,
        ),
        mistake(
            "your answer counts only one head",
            "Each matrix holds d_model · d_head parameters per head. All `heads` heads together come "
            "to d_model · d_model.",
            lambda d, h, bias: 3 * (d + bias) * (d // h) + d**2 + d * bias,
            lambda d, h, bias: 4 * (d + bias) * (d // h),
            lambda d, h, bias: 3 * d * (d // h) + d**2,
            lambda d, h, bias: 3 * (d + bias) * (d // h) + (d // h) * d + d * bias,
        ),
        mistake(
            "your answer gives each projection a single number as its bias",
            "A bias is a vector with one number per output feature. Count d_model per projection.",
            lambda d, h, bias: 4 * d**2 + 4 * bias,
        ),
        mistake(
            "your answer adds biases where there are none",
            "With bias=False, the four projections have only their matrices. Add the biases only if "
            "`bias` is True.",
            lambda d, h, bias: 4 * d**2 + 4 * d,
        ),
        mistake(
            "your answer forgets the bias of one projection",
            "All four have one, W_O too: 4 · d_model biases.",
            lambda d, h, bias: 4 * d**2 + 3 * d * bias,
        ),
        mistake(
            "your answer adds the biases if there are none",
            "`bias` is True where the projections have biases. Add 4 · d_model only then.",
            lambda d, h, bias: 4 * d**2 + 4 * d * (not bias),
        ),
        mistake(
            "your answer gives one bias to all projections",
            "Each of the four projections has its own bias, with d_model numbers.",
            lambda d, h, bias: 4 * d**2 + d * bias,
        ),
    ),
)  # fmt: skip

MULTIPLICATIONS = Exercise(
    id="03b.multiplications",
    reference=lambda n, m, d_model, heads: 2 * n * d_model**2 + 2 * m * d_model**2 + 2 * n * m * d_model,
    inputs=((2, 3, 4, 2), (5, 5, 6, 3), (1, 7, 8, 1)),
    mistakes=(
        mistake(
            "your answer multiplies the attention by the number of heads",
            "Each head computes n · m scores, but each of them has only d_model / heads terms. Over all "
            "heads that is n · m · d_model.",
            lambda n, m, d, h: 2 * n * d**2 + 2 * m * d**2 + 2 * h * n * m * d,
        ),
        mistake(
            "your answer counts the attention of one head only",
            "n · m · d_head is the cost of one head. All `heads` of them together cost n · m · d_model.",
            lambda n, m, d, h: 2 * n * d**2 + 2 * m * d**2 + 2 * n * m * d // h,
        ),
        mistake(
            "your answer counts only one of the two products inside the attention",
            "The scores cost n · m · d_model, and so does the average of the values. Count both.",
            lambda n, m, d, h: 2 * n * d**2 + 2 * m * d**2 + n * m * d,
        ),
        mistake(
            "your answer forgets the output projection",
            "After merging, W_O multiplies each of the n results. Add n · d_model².",
            lambda n, m, d, h: n * d**2 + 2 * m * d**2 + 2 * n * m * d,
        ),
        mistake(
            "your answer projects keys and values of the wrong sequence",
            "Queries and results belong to the n tokens, keys and values to the m tokens of the memory.",
            lambda n, m, d, h: 4 * n * d**2 + 2 * n * m * d,
            lambda n, m, d, h: n * d**2 + 3 * m * d**2 + 2 * n * m * d,
            lambda n, m, d, h: 2 * m * d**2 + 2 * m * d**2 + 2 * n * m * d,
        ),
        mistake(
            "your answer counts additions, too",
            "2 · n · m · k is the number of floating-point operations of a product. The exercise asks for "
            "the multiplications alone, half of them.",
            lambda n, m, d, h: 4 * n * d**2 + 4 * m * d**2 + 4 * n * m * d,
        ),
        mistake(
            "your answer leaves out the projections",
            "The attention itself is only a part. Each of the n tokens is multiplied by W_Q and W_O, each "
            "of the m tokens by W_K and W_V: d_model² multiplications each.",
            lambda n, m, d, h: 2 * n * m * d,
        ),
        mistake(
            "your answer projects only one token",
            "A projection takes d_model² multiplications per token: n · d_model² for W_Q and W_O, m · "
            "d_model² for W_K and W_V.",
            lambda n, m, d, h: 4 * d**2 + 2 * n * m * d,
        ),
        mistake(
            "your answer has the scores of self-attention",
            "There are n · m scores, one for each pair of query and key.",
            lambda n, m, d, h: 2 * n * d**2 + 2 * m * d**2 + 2 * n * n * d,
            lambda n, m, d, h: 2 * n * d**2 + 2 * m * d**2 + 2 * m * m * d,
            lambda n, m, d, h: 4 * n * d**2 + 2 * n * n * d,
        ),
        mistake(
            "your answer counts one multiplication for each score",
            "A score is a dot product of d_head terms: over all heads, d_model multiplications for each "
            "pair.",
            lambda n, m, d, h: 2 * n * d**2 + 2 * m * d**2 + 2 * n * m,
        ),
    ),
)  # fmt: skip
