"""Significance of BLEU: statistics of each sentence that add up, and bootstrap resampling."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.text.bleu import check_words, matches

MAX_N = 4  # length of the longest n-grams


def sentence_statistics(
    candidates: Sequence[Sequence[str]], references: Sequence[Sequence[str]]
) -> Float[Tensor, "sentences 10"]:
    """The ten numbers per sentence from which corpus BLEU is computed; they add up over sentences.

    In order: the clipped matches for n = 1 to 4, the candidate's n-grams for n = 1 to 4, and the lengths of
    candidate and reference in words.
    Raises ValueError for unequal numbers of sentences, and for sentences not split into words.

    >>> sentence_statistics([["the", "cat"]], [["the", "dog"]]).int().tolist()
    [[1, 0, 0, 0, 2, 1, 0, 0, 2, 2]]
    """
    check_words(candidates, references)
    lengths = range(1, MAX_N + 1)
    rows = [
        [
            *(matches(candidate, reference, n) for n in lengths),
            *(max(len(candidate) - n + 1, 0) for n in lengths),
            len(candidate),
            len(reference),
        ]
        for candidate, reference in zip(candidates, references, strict=True)
    ]
    return torch.tensor(rows, dtype=torch.float64).reshape(len(rows), 2 * MAX_N + 2)


def bleu_from_statistics(sums: Float[Tensor, "*corpora 10"]) -> Float[Tensor, "*corpora"]:
    """Corpus BLEU, 0 to 100, from summed `sentence_statistics`, for any number of corpora at once.

    >>> words = "the cat sat down".split()
    >>> bleu_from_statistics(sentence_statistics([words], [words]).sum(dim=0)).round()
    tensor(100., dtype=torch.float64)
    """
    found, total, lengths = sums.split([MAX_N, MAX_N, 2], dim=-1)
    precisions = torch.where(total > 0, found / total, 0)
    candidate, reference = lengths.unbind(dim=-1)
    penalty = torch.where(candidate > 0, (1 - reference / candidate).clamp(max=0).exp(), 0)
    return 100 * penalty * precisions.log().mean(dim=-1).exp()


def bootstrap_draws(sentences: int, rounds: int = 1000, seed: int = 0) -> Int[Tensor, "rounds sentences"]:
    """Bootstrap resampling: in each round, the indices of `sentences` sentences drawn with replacement.

    >>> bootstrap_draws(sentences=4, rounds=3).shape
    torch.Size([3, 4])
    """
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(sentences, (rounds, sentences), generator=generator)


def bootstrap_bleu(
    statistics: Float[Tensor, "sentences 10"], draws: Int[Tensor, "rounds drawn"]
) -> Float[Tensor, " rounds"]:
    """BLEU of each test set of a bootstrap: each row of `draws` holds the indices of its sentences.

    >>> words = "the cat sat down".split()
    >>> statistics = sentence_statistics([words, words], [words, words])
    >>> bootstrap_bleu(statistics, bootstrap_draws(sentences=2, rounds=3)).round()
    tensor([100., 100., 100.], dtype=torch.float64)
    """
    return bleu_from_statistics(torch.stack([statistics[draw].sum(dim=0) for draw in draws]))


def interval(scores: Float[Tensor, " rounds"]) -> tuple[float, float]:
    """The middle 95% of the scores: their 2.5% and 97.5% quantiles.

    >>> interval(torch.arange(201.0))
    (5.0, 195.0)
    """
    low, high = scores.quantile(torch.tensor([0.025, 0.975], dtype=scores.dtype)).tolist()
    return low, high


def paired_bootstrap(
    a: Float[Tensor, "sentences 10"], b: Float[Tensor, "others 10"], draws: Int[Tensor, "rounds drawn"]
) -> Float[Tensor, " rounds"]:
    """Paired bootstrap: BLEU of system b minus BLEU of system a, on the same sentences in each round.

    Raises ValueError if the systems have translated different numbers of sentences.
    Source: Koehn 2004, Statistical Significance Tests for Machine Translation Evaluation.

    >>> words, others = "the cat sat down".split(), "a dog ran off".split()
    >>> a, b = (sentence_statistics([candidate], [words]) for candidate in (others, words))
    >>> paired_bootstrap(a, b, bootstrap_draws(sentences=1, rounds=2)).round()
    tensor([100., 100.], dtype=torch.float64)
    """
    if len(a) != len(b):
        raise ValueError(
            f"system a has {len(a)} sentences and system b has {len(b)}; a pair needs the same ones"
        )
    return bootstrap_bleu(b, draws) - bootstrap_bleu(a, draws)
