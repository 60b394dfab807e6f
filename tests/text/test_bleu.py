"""BLEU as taught equals sacrebleu's and d2l's, and says clearly what it cannot score."""

import math
import random

import pytest
from sacrebleu.metrics import BLEU, CHRF

from course_lib.exercises import find
from course_lib.text.bleu import corpus_bleu, held_out_scores, sentence_bleu_d2l

THE_CAT = "the cat is on the mat"


def _random_corpus(seed: int, sentences: int, vocabulary: int) -> tuple[list[list[str]], list[list[str]]]:
    rng = random.Random(seed)
    words = [f"w{i}" for i in range(vocabulary)]
    references = [rng.choices(words, k=rng.randint(1, 12)) for _ in range(sentences)]
    candidates = [
        [word if rng.random() < 0.8 else rng.choice(words) for word in reference[: rng.randint(0, 14)]]
        for reference in references
    ]
    return candidates, references


def _sacrebleu(candidates, references, max_n, smooth):
    metric = BLEU(tokenize="none", smooth_method="exp" if smooth else "none", max_ngram_order=max_n)
    return metric.corpus_score([" ".join(c) for c in candidates], [[" ".join(r) for r in references]])


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("max_n", range(1, 7))
def test_equals_sacrebleu(max_n: int, smooth: bool) -> None:
    scores = set()
    for seed in range(60):
        candidates, references = _random_corpus(seed, sentences=1 + seed % 5, vocabulary=3 + seed % 17)
        ours = corpus_bleu(candidates, references, max_n, smooth)
        theirs = _sacrebleu(candidates, references, max_n, smooth)
        assert ours.score == pytest.approx(theirs.score, abs=1e-9)
        assert ours.brevity_penalty == pytest.approx(theirs.bp)
        assert (ours.candidate_length, ours.reference_length) == (theirs.sys_len, theirs.ref_len)
        if any(theirs.counts):
            assert [100 * p for p in ours.precisions] == pytest.approx(theirs.precisions)
        scores.add(round(ours.score, 6))
    assert len(scores) > 10  # the corpora do not all score 0 or 100


def test_counts_are_clipped() -> None:
    score = corpus_bleu([["the"] * 7], [THE_CAT.split()], max_n=1)
    assert score.precisions == (pytest.approx(2 / 7),)  # the lecture's example
    assert score.brevity_penalty == 1


def test_short_candidate_pays() -> None:
    score = corpus_bleu(["the cat is".split()], [THE_CAT.split()], max_n=3)
    assert score.precisions == (1, 1, 1)
    assert score.score == pytest.approx(100 * math.exp(1 - 6 / 3))


def test_counts_are_summed_over_the_corpus() -> None:
    score = corpus_bleu([["a", "b"], ["c", "x", "x", "x"]], [["a", "b"], ["c", "d", "e", "f"]], max_n=1)
    assert score.precisions == (pytest.approx(3 / 6),)  # not the mean of 2/2 and 1/4


def test_smoothing_has_to_be_asked_for() -> None:
    pair = [list("abcx")], [list("abcd")]  # no 4-gram in common
    assert corpus_bleu(*pair).score == 0 < corpus_bleu(*pair, smooth=True).score


@pytest.mark.parametrize(
    ("candidate", "reference"),
    [
        ([], ["a", "b"]),
        (["a", "b"], ["a", "b"]),
        (["x"] * 5, ["a", "b", "c", "d"]),
        ([], []),
        (["a"] * 4, []),
    ],
)
def test_scores_zero(candidate: list[str], reference: list[str]) -> None:
    """An empty candidate, one shorter than max_n, one without a match, two empty ones, an empty reference."""
    for smooth in (False, True):
        assert corpus_bleu([candidate], [reference], max_n=4, smooth=smooth).score == 0


def test_refusals() -> None:
    with pytest.raises(ValueError, match="0 candidates"):
        corpus_bleu([], [])
    with pytest.raises(ValueError, match="1 candidates do not match 2 references"):
        corpus_bleu([["a"]], [["a"], ["b"]])
    with pytest.raises(ValueError, match="max_n=0"):
        corpus_bleu([["a"]], [["a"]], max_n=0)
    with pytest.raises(ValueError, match="k=0"):
        sentence_bleu_d2l("a", "a", 0)


def test_d2l_formula_by_hand() -> None:
    expected = math.exp(1 - 6 / 5) * (4 / 5) ** 0.5 * (3 / 4) ** 0.25  # A B B C D against A B C D E F
    assert sentence_bleu_d2l("A B B C D", "A B C D E F", 2) == pytest.approx(expected)


def test_equals_d2l() -> None:
    pytest.importorskip("d2l", reason="d2l is not installed")
    from course_lib.pretrained.torchvision_ops import import_torchvision

    import_torchvision()
    from d2l import torch as d2l

    for seed in range(60):
        for candidate, reference in zip(*_random_corpus(seed, sentences=5, vocabulary=4), strict=True):
            for k in (1, 2, 3, 5):
                texts = " ".join(candidate), " ".join(reference)
                assert sentence_bleu_d2l(*texts, k) == pytest.approx(d2l.bleu(*texts, k), abs=1e-12)


def test_held_out_scores_are_sacrebleus() -> None:
    candidates = ["The cat sat on the mat.", "Where is the station?", "He didn't come."]
    references = ["The cat sat on a mat.", "Where's the station?", "He did not come."]
    scores = held_out_scores(candidates, references)
    assert scores.bleu == BLEU().corpus_score(candidates, [references]).score
    assert scores.chrf == CHRF().corpus_score(candidates, [references]).score
    assert 20 < scores.bleu < scores.chrf < 100
    assert "tok:13a" in scores.signature and "chrF" in scores.signature
    with pytest.raises(ValueError, match="3 candidates do not match 2 references"):
        held_out_scores(candidates, references[:2])
    with pytest.raises(ValueError, match="0 candidates"):
        held_out_scores([], [])


@pytest.mark.parametrize(("max_n", "max_chars", "max_words"), [(1, 6, 0), (2, 3, 1), (6, 1, 2), (4, 6, 2)])
def test_orders_are_sacrebleus(max_n: int, max_chars: int, max_words: int) -> None:
    candidates, references = ([" ".join(words) for words in side] for side in _random_corpus(max_n, 5, 6))
    scores = held_out_scores(candidates, references, max_n, max_chars, max_words)
    bleu, chrf = BLEU(max_ngram_order=max_n), CHRF(char_order=max_chars, word_order=max_words)
    assert scores.bleu == bleu.corpus_score(candidates, [references]).score
    assert scores.chrf == chrf.corpus_score(candidates, [references]).score
    assert f"nc:{max_chars}|nw:{max_words}" in scores.signature


@pytest.mark.parametrize("orders", [(0,), (4, 0), (4, 6, -1)])
def test_orders_below_one_are_refused(orders: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="less than 1, 1, 0"):
        held_out_scores(["a"], ["a"], *orders)


def test_chrf_of_the_exercise_is_sacrebleus_for_any_length() -> None:
    draw = random.Random(0)
    for _ in range(300):
        candidate, reference = ("".join(draw.choices("ab c", k=draw.randrange(9))) for _ in range(2))
        expected = CHRF().sentence_score(candidate, [reference]).score
        assert find("06c.chrf").reference(candidate, reference) == pytest.approx(expected, abs=1e-9)
