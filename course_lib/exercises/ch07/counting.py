"""Two numbers for the quality of a language model, and the simplest one to compare it with."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake

LN2 = math.log(2)
Losses = Sequence[float]


def _scores(losses: Losses, characters: int) -> tuple[float, float]:
    return math.exp(sum(losses) / len(losses)), sum(losses) / LN2 / characters


SCORES = Exercise(
    id="07.scores",
    reference=_scores,
    inputs=(
        ([LN2, LN2], 4),
        ([math.log(4), math.log(2), math.log(8)], 12),
        ([0.5, 2.0, 3.5, 1.0, 0.1], 17),
    ),
    mistakes=(
        mistake(
            "takes 2 to the power of nats",
            "The losses are natural logarithms, so the perplexity is e to the power of their mean. 2 to the "
            "power of the mean would be right for bits.",
            lambda losses, characters: (2 ** (sum(losses) / len(losses)), _scores(losses, characters)[1]),
        ),
        mistake(
            "takes the mean of the perplexities",
            "Mean first, exponential afterwards. Otherwise one token that the model did not expect outweighs "
            "all the others.",
            lambda losses, characters: (
                sum(map(math.exp, losses)) / len(losses), _scores(losses, characters)[1],
            ),
        ),
        mistake(
            "takes the sum instead of the mean",
            "e to the power of the sum is one over the probability of the whole text. The perplexity is that "
            "of a token, so it needs the mean.",
            lambda losses, characters: (math.exp(sum(losses)), _scores(losses, characters)[1]),
        ),
        mistake(
            "gives nats for each character",
            "One nat is 1 / ln 2 = 1.44 bits: divide by math.log(2).",
            lambda losses, characters: (_scores(losses, characters)[0], sum(losses) / characters),
        ),
        mistake(
            "multiplies by ln 2",
            "A bit is the smaller unit, so there are more bits than nats: divide by math.log(2).",
            lambda losses, characters: (_scores(losses, characters)[0], sum(losses) * LN2 / characters),
        ),
        mistake(
            "gives bits for each token",
            "Tokens of different vocabularies are differently long. The sum over all tokens, divided by the "
            "number of characters, can be compared.",
            lambda losses, characters: (
                _scores(losses, characters)[0], sum(losses) / LN2 / len(losses),
            ),
        ),
        mistake(
            "divides by tokens and by characters",
            "The bits of the whole text are the sum of all losses: divide that by the characters alone.",
            lambda losses, characters: (
                _scores(losses, characters)[0], sum(losses) / LN2 / len(losses) / characters,
            ),
        ),
    ),
)  # fmt: skip


def _counts(ids: Sequence[int], vocab: int) -> Tensor:
    table = torch.zeros(vocab, vocab)
    for first, second in zip(ids, ids[1:], strict=False):
        table[first, second] += 1
    return table


def _rows(counts: Answer) -> Answer:
    """A function that makes each row of a table of counts sum to 1."""

    def probabilities(ids: Sequence[int], vocab: int) -> Tensor:
        table = counts(ids, vocab)
        return table / table.sum(dim=1, keepdim=True)

    return probabilities


BIGRAM = Exercise(
    id="07.bigram",
    reference=_rows(lambda ids, vocab: _counts(ids, vocab) + 1),
    inputs=(([0, 1, 0, 0], 2), ([2, 0, 1, 2, 0, 2, 0, 3], 5)),
    mistakes=(
        mistake(
            "adds nothing to the counts",
            "A pair that never occurred gets the probability 0, and costs an infinite loss where it does "
            "occur. Add 1 to every count.",
            _rows(_counts),
            lambda ids, vocab: _counts(ids, vocab) / _counts(ids, vocab).sum(1, keepdim=True).clamp(min=1),
        ),
        mistake(
            "has the token that follows in the rows",
            "Row i holds what follows token i, and each row sums to 1.",
            _rows(lambda ids, vocab: _counts(ids, vocab).T + 1),
            lambda ids, vocab: _rows(lambda i, v: _counts(i, v) + 1)(ids, vocab).T,
        ),
        mistake(
            "makes the columns sum to 1",
            "That answers another question: which token came before this one? Divide each row by its sum.",
            lambda ids, vocab: (_counts(ids, vocab) + 1) / (_counts(ids, vocab) + 1).sum(0),
        ),
        mistake(
            "makes the whole table sum to 1",
            "That is the probability of the pair. What is wanted is the probability of the second token once "
            "the first one is known: divide each row by its sum.",
            lambda ids, vocab: (_counts(ids, vocab) + 1) / (_counts(ids, vocab) + 1).sum(),
        ),
        mistake(
            "divides by the counts before 1 was added",
            "Then the rows sum to more than 1. Each of the `vocab` cells has got 1 more, so the sum of a row "
            "has grown by `vocab`.",
            lambda ids, vocab: (_counts(ids, vocab) + 1) / _counts(ids, vocab).sum(1, keepdim=True),
            lambda ids, vocab: (_counts(ids, vocab) + 1) / (_counts(ids, vocab).sum(1, keepdim=True) + 1),
        ),
        mistake(
            "joins the end of the text to its beginning",
            "The last token has no successor: there are len(ids) − 1 pairs.",
            _rows(lambda ids, vocab: _counts([*ids, ids[0]], vocab) + 1),
        ),
    ),
)  # fmt: skip
