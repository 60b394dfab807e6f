"""BLEU: scores a translation by the n-grams that it shares with a reference."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

from course_lib.text.unicode_text import refuse_text, refuse_texts

Token = TypeVar("Token", bound=Hashable)


@dataclass(frozen=True)
class Bleu:
    """BLEU of a corpus, and its components.

    score: 0 to 100. precisions: n-gram precisions for n = 1, 2, …, from 0 to 1.
    brevity_penalty: 0 to 1; 1 if the candidates together are at least as long as the references.
    candidate_length, reference_length: in words.
    """

    score: float
    precisions: tuple[float, ...]
    brevity_penalty: float
    candidate_length: int
    reference_length: int


@dataclass(frozen=True)
class Scores:
    """BLEU and chrF by sacrebleu, both 0 to 100, and the signature that says how they were computed."""

    bleu: float
    chrf: float
    signature: str


def ngrams(words: Sequence[Token], n: int) -> Counter[tuple[Token, ...]]:
    """Count each n-gram.

    >>> ngrams("to be or not to be".split(), n=2)[("to", "be")]
    2
    """
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def matches(candidate: Sequence[str], reference: Sequence[str], n: int) -> int:
    """Number of matching n-grams, each counted at most as often as it occurs in the reference (clipping)."""
    return (ngrams(candidate, n) & ngrams(reference, n)).total()


def brevity_penalty(candidate_length: int, reference_length: int) -> float:
    """Brevity penalty: e^(1 - r/c) if the candidates (c words) are shorter than the references (r), or 1.

    >>> brevity_penalty(10, 9), round(brevity_penalty(8, 10), 4)
    (1.0, 0.7788)
    """
    if candidate_length >= reference_length:
        return 1.0
    return math.exp(1 - reference_length / candidate_length) if candidate_length else 0.0


def corpus_bleu(
    candidates: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    max_n: int = 4,
    smooth: bool = False,
) -> Bleu:
    """Corpus BLEU of tokenized candidates, with one tokenized reference each.

    Matches are summed over the corpus before the precisions are computed.
    max_n: length of the longest n-grams. smooth: count n-grams without any match as 1/2 of a match, the next
    longer ones as 1/4, and so on. Without it, the score is 0 as soon as one precision is 0.
    Raises ValueError for an empty corpus, unequal numbers of sentences, and sentences not split into words.
    Source: Papineni et al. 2002, section 2.3; the smoothing is that of NIST's mteval-v13a.

    >>> bleu = corpus_bleu([["the", "cat", "sat", "here"]], [["the", "cat", "sat", "down"]], max_n=3)
    >>> bleu.precisions
    (0.75, 0.6666666666666666, 0.5)
    >>> round(bleu.score, 2)
    63.0
    """
    check_words(candidates, references)
    check_some(len(candidates))
    if max_n < 1:
        raise ValueError(f"max_n={max_n} must be at least 1: it is the length of the longest n-grams")
    precisions: list[float] = []
    halvings = 0
    for n in range(1, max_n + 1):
        found = sum(matches(c, r, n) for c, r in zip(candidates, references, strict=True))
        total = sum(max(len(c) - n + 1, 0) for c in candidates)
        if smooth and found == 0 and any(precisions):
            halvings += 1
            found = 0.5**halvings
        precisions.append(found / total if total else 0.0)
    c_length, r_length = sum(map(len, candidates)), sum(map(len, references))
    penalty = brevity_penalty(c_length, r_length)
    mean = math.exp(fmean(map(math.log, precisions))) if all(precisions) else 0.0
    return Bleu(100 * penalty * mean, tuple(precisions), penalty, c_length, r_length)


def sentence_bleu_d2l(candidate: str, reference: str, k: int) -> float:
    """Sentence BLEU as d2l's `bleu` computes it, 0 to 1, of words separated by single spaces.

    k: length of the longest n-grams. Unlike in `corpus_bleu`, the n-gram precision has the exponent 1/2^n,
    and n-grams longer than the candidate do not count.
    Source: Zhang et al., Dive into Deep Learning, section 10.7.6.

    >>> sentence_bleu_d2l("he is calm", "he is calm", k=2)
    1.0
    """
    if k < 1:
        raise ValueError(f"k={k} must be at least 1: it is the length of the longest n-grams")
    words, expected = candidate.split(" "), reference.split(" ")
    score = brevity_penalty(len(words), len(expected))
    for n in range(1, min(k, len(words)) + 1):
        score *= (matches(words, expected, n) / (len(words) - n + 1)) ** (0.5**n)
    return score


def held_out_scores(
    candidates: Sequence[str],
    references: Sequence[str],
    max_n: int = 4,
    max_chars: int = 6,
    max_words: int = 0,
) -> Scores:
    """Corpus BLEU and chrF of plain text by sacrebleu; with the default settings comparable between papers.

    max_n: length of BLEU's longest n-grams. max_chars, max_words: those of chrF, in characters and in words;
    with max_words=2 it is called chrF++.
    Raises ValueError for a single text, an empty corpus, unequal numbers of sentences and lengths below 1.
    Source: Popović 2015 (chrF); Popović 2017 (chrF++).

    >>> scores = held_out_scores(["The cat sat down."], ["The cat sat down."])
    >>> round(scores.bleu), round(scores.chrf)
    (100, 100)
    """
    from sacrebleu.metrics import BLEU, CHRF  # here, so that `corpus_bleu` needs nothing but Python

    check_pairs(candidates, references)
    check_some(len(candidates))
    if min(max_n, max_chars, max_words + 1) < 1:
        raise ValueError(f"max_n={max_n}, max_chars={max_chars}, max_words={max_words}: less than 1, 1, 0")
    bleu, chrf = BLEU(max_ngram_order=max_n), CHRF(char_order=max_chars, word_order=max_words)
    of_bleu, of_chrf = (metric.corpus_score(candidates, [references]).score for metric in (bleu, chrf))
    return Scores(of_bleu, of_chrf, f"BLEU {bleu.get_signature()}, chrF {chrf.get_signature()}")


def check_words(candidates: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> None:
    """Raise ValueError as `check_pairs` does, and for sentences that are not split into words."""
    check_pairs(candidates, references)
    refuse_texts(candidates=candidates, references=references)


def check_pairs(candidates: Sequence, references: Sequence) -> None:
    """Raise ValueError for a single text and for unequal numbers of sentences."""
    refuse_text(candidates=candidates, references=references)
    if len(candidates) != len(references):
        raise ValueError(f"{len(candidates)} candidates do not match {len(references)} references")


def check_some(number: int) -> None:
    """Raise ValueError for an empty corpus."""
    if not number:
        raise ValueError("0 candidates: there is nothing to score")
