"""Perplexity, bits per character, and a bigram model as the baseline."""

import math
from collections import Counter
from collections.abc import Sequence
from statistics import fmean

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake

LN2 = math.log(2)
Losses = Sequence[float]


def _scores(losses: Losses, characters: int) -> tuple[float, float]:
    return math.exp(fmean(losses)), math.fsum(losses) / LN2 / characters


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
            "your perplexity uses base 2 for nats",
            "The losses are natural logarithms, so the perplexity is e to the power of their mean. "
            "Base 2 would be right for bits.",
            lambda losses, characters: (2 ** (sum(losses) / len(losses)), _scores(losses, characters)[1]),
        ),
        mistake(
            "your perplexity has the wrong sign in the exponent",
            "Perplexity is at least 1: e to the power of *plus* the mean loss.",
            lambda losses, characters: (math.exp(-fmean(losses)), _scores(losses, characters)[1]),
        ),
        mistake(
            "your second score takes the logarithm of the losses",
            "The losses are logarithms already. To convert nats into bits, divide by math.log(2).",
            lambda losses, characters: (
                _scores(losses, characters)[0], math.log2(sum(losses)) / characters,
            ),
        ),
        mistake(
            "your second score is characters per bit or nat",
            "Bits per character: the bits are above, the characters below.",
            lambda losses, characters: (_scores(losses, characters)[0], characters / sum(losses)),
            lambda losses, characters: (_scores(losses, characters)[0], 1 / _scores(losses, characters)[1]),
        ),
        mistake(
            "your perplexity is a mean of perplexities",
            "One token that the model did not expect would then outweigh all others. Take the mean of "
            "the losses first, then the exponential.",
            lambda losses, characters: (
                sum(map(math.exp, losses)) / len(losses), _scores(losses, characters)[1],
            ),
        ),
        mistake(
            "your perplexity uses the sum instead of the mean",
            "e to the power of the sum is one over the probability of the whole text. Perplexity is "
            "per token, so use the mean.",
            lambda losses, characters: (math.exp(sum(losses)), _scores(losses, characters)[1]),
        ),
        mistake(
            "your perplexity is per character",
            "Perplexity is per token: e to the power of the *mean* loss of a token. 2 to the power of the "
            "bits per character is per character, too.",
            lambda losses, characters: (
                math.exp(sum(losses) / characters), _scores(losses, characters)[1],
            ),
        ),
        mistake(
            "your first score is the mean loss",
            "Perplexity is e to the power of it.",
            lambda losses, characters: (fmean(losses), _scores(losses, characters)[1]),
        ),
        mistake(
            "your code returns the scores in the wrong order",
            "Return the perplexity first, then the bits per character.",
            lambda losses, characters: _scores(losses, characters)[::-1],
        ),
        mistake(
            "your second score is nats per character",
            "One nat is 1 / ln 2 = 1.44 bits. Divide by math.log(2).",
            lambda losses, characters: (_scores(losses, characters)[0], sum(losses) / characters),
        ),
        mistake(
            "your second score multiplies by ln 2",
            "A bit is smaller than a nat, so there are more bits than nats. Divide by math.log(2).",
            lambda losses, characters: (_scores(losses, characters)[0], sum(losses) * LN2 / characters),
        ),
        mistake(
            "your second score is bits per token",
            "Tokens of different vocabularies have different lengths, so only bits per character can "
            "be compared. Divide the sum of all losses by `characters`.",
            lambda losses, characters: (
                _scores(losses, characters)[0], sum(losses) / LN2 / len(losses),
            ),
        ),
        mistake(
            "your second score divides by tokens and by characters",
            "The bits of the whole text are the sum of all losses. Divide that sum by `characters` only.",
            lambda losses, characters: (
                _scores(losses, characters)[0], sum(losses) / LN2 / len(losses) / characters,
            ),
            lambda losses, characters: (_scores(losses, characters)[0], fmean(losses) / characters),
        ),
    ),
)  # fmt: skip


def _counts(ids: Sequence[int], vocab: int, most: float | int = math.inf) -> Tensor:
    """How often each token (column) follows each other one (row). most: where the counting stops."""
    table = torch.zeros(vocab, vocab)
    for (first, second), count in Counter(zip(ids, ids[1:], strict=False)).items():
        table[first, second] = min(count, most)
    return table


def _rows(counts: Answer) -> Answer:
    """Function that normalizes each row of a matrix of counts."""

    def probabilities(ids: Sequence[int], vocab: int, added: float | int) -> Tensor:
        table = counts(ids, vocab, added)
        return table / table.sum(dim=1, keepdim=True)

    return probabilities


def _divided(denominator: Answer) -> Answer:
    """Function that divides the smoothed counts by something else than their sum over each row."""

    def probabilities(ids: Sequence[int], vocab: int, added: float | int) -> Tensor:
        counts = _counts(ids, vocab)
        return (counts + added) / denominator(ids, counts, added)

    return probabilities


def _occurrences(ids: Sequence[int], counts: Tensor) -> Tensor:
    return torch.tensor([[float(list(ids).count(token))] for token in range(len(counts))])


BIGRAM = Exercise(
    id="07.bigram",
    reference=_rows(lambda ids, vocab, added: _counts(ids, vocab) + added),
    inputs=(([0, 1, 0, 0], 2, 1), ([2, 0, 1, 2, 0, 2, 0, 3], 5, 0.5), ([0, 0, 0, 1, 0, 2], 3, 0.1)),
    mistakes=(
        mistake(
            "your code leaves pairs that never occurred at 0",
            "A pair that never occurred gets probability 0, and an infinite loss when it does occur. "
            "Add `added` to every count.",
            _rows(lambda ids, vocab, added: _counts(ids, vocab)),
            lambda ids, vocab, added: (
                _counts(ids, vocab) / _counts(ids, vocab).sum(1, keepdim=True).clamp(min=1)
            ),
        ),
        mistake(
            "your code always adds 1",
            "1 is a lot for a large vocabulary: each row then has `vocab` pairs that nobody has seen. Add "
            "`added` instead.",
            _rows(lambda ids, vocab, added: _counts(ids, vocab) + 1),
        ),
        mistake(
            "your code smooths only the pairs that never occurred",
            "Then a pair that occurred once may end up below one that never did. Add `added` to every count.",
            _rows(lambda ids, vocab, added: _counts(ids, vocab).where(_counts(ids, vocab) > 0, added)),
        ),
        mistake(
            "your code notes whether a pair occurred, not how often",
            "A pair that occurs twice as often is twice as likely. The loop visits each distinct pair only "
            "once, so += 1 makes 1 as well: assign its number, pairs[first, second].",
            _rows(lambda ids, vocab, added: _counts(ids, vocab, most=1) + added),
        ),
        mistake(
            "your code divides each column by the sum of a row",
            "Without keepdim=True, the sums have shape (vocab,), and PyTorch takes them for a row: entry j "
            "is divided by the sum of row j. Use counts.sum(dim=1, keepdim=True).",
            _divided(lambda ids, counts, added: (counts + added).sum(1)),
        ),
        mistake(
            "your code does not normalize",
            "Row i must hold probabilities: divide each row by its sum.",
            lambda ids, vocab, added: _counts(ids, vocab) + added,
            lambda ids, vocab, added: _counts(ids, vocab),
        ),
        mistake(
            "your code smooths only the pairs that occurred",
            "A pair that never occurred still has probability 0, and an infinite loss when it does occur. "
            "Add `added` to the whole table, after the loop.",
            _rows(lambda ids, vocab, added: _counts(ids, vocab) + added * (_counts(ids, vocab) > 0)),
            lambda ids, vocab, added: (
                (counts := _counts(ids, vocab) + added * (_counts(ids, vocab) > 0))
                / counts.sum(1, keepdim=True).clamp(min=1e-9)
            ),
        ),
        mistake(
            "your code takes a softmax of the counts",
            "A bigram model estimates a probability by the relative frequency, count / sum. Divide each row "
            "by its sum.",
            lambda ids, vocab, added: (_counts(ids, vocab) + added).softmax(dim=1),
            lambda ids, vocab, added: (_counts(ids, vocab) + added).log_softmax(dim=1),
            lambda ids, vocab, added: _counts(ids, vocab).softmax(dim=1),
        ),
        mistake(
            "your code adds `added` after normalizing",
            "Then the rows sum to more than 1. Add to the counts first, then normalize.",
            lambda ids, vocab, added: _rows(lambda i, v, a: _counts(i, v))(ids, vocab, added) + added,
            lambda ids, vocab, added: (
                _counts(ids, vocab) / _counts(ids, vocab).sum(1, keepdim=True).clamp(min=1) + added
            ),
        ),
        mistake(
            "your code puts the next token in the rows",
            "Row i must hold what follows token i. Index the counts as [first, second], and normalize "
            "each row.",
            _rows(lambda ids, vocab, added: _counts(ids, vocab).T + added),
            lambda ids, vocab, added: _rows(lambda i, v, a: _counts(i, v) + a)(ids, vocab, added).T,
        ),
        mistake(
            "your code normalizes the columns",
            "That answers another question: which token came before this one? Divide each row by its sum.",
            _divided(lambda ids, counts, added: (counts + added).sum(0)),
        ),
        mistake(
            "your code normalizes the whole matrix",
            "That gives the probability of the pair. The exercise asks for the probability of the "
            "second token given the first: divide each row by its sum.",
            _divided(lambda ids, counts, added: (counts + added).sum()),
        ),
        mistake(
            "your code divides by the counts before smoothing",
            "Then the rows sum to more than 1. Each of the `vocab` entries grew by `added`, so compute the "
            "row sums after adding.",
            _divided(lambda ids, counts, added: counts.sum(1, keepdim=True)),
            _divided(lambda ids, counts, added: counts.sum(1, keepdim=True) + added),
        ),
        mistake(
            "your code counts the last token as if something followed it",
            "No pair begins with the last token of the text, so its occurrences are more than the sum "
            "of its row. Divide by the sum of the row.",
            _divided(lambda ids, counts, added: _occurrences(ids, counts) + added * len(counts)),
        ),
        mistake(
            "your code connects the end of the text to its beginning",
            "The last token has no successor. There are only len(ids) − 1 pairs.",
            _rows(lambda ids, vocab, added: _counts([*ids, ids[0]], vocab) + added),
        ),
        mistake(
            "your code pairs each token with the one after next",
            "Pair each token with its direct successor: zip(ids, ids[1:]).",
            _rows(lambda ids, vocab, added: _counts_apart(ids, vocab) + added),
        ),
        mistake(
            "your code adds `added` twice to the pairs that occurred",
            "Fill the table with the counts alone, then add `added` to every entry once.",
            _rows(
                lambda ids, vocab, added: (
                    _counts(ids, vocab) + added * (1 + (_counts(ids, vocab) > 0).float())
                )
            ),
        ),
    ),
)


def _counts_apart(ids: Sequence[int], vocab: int) -> Tensor:
    table = torch.zeros(vocab, vocab)
    for first, second in zip(ids, ids[2:], strict=False):
        table[first, second] += 1
    return table
