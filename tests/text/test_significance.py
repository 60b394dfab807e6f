"""Summed statistics of sentences give corpus BLEU; the bootstrap agrees with sacrebleu's."""

import random

import pytest
import torch
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from course_lib.text.bleu import corpus_bleu
from course_lib.text.significance import (
    bleu_from_statistics,
    bootstrap_bleu,
    bootstrap_draws,
    interval,
    paired_bootstrap,
    sentence_statistics,
)


def corpus(seed: int, sentences: int, wrong: float, shortest: int = 1):
    """References, and candidates in which each word is replaced with probability `wrong`."""
    rng, words = random.Random(0), [f"w{i}" for i in range(40)]
    references = [rng.choices(words, k=rng.randint(shortest, 12)) for _ in range(sentences)]
    rng = random.Random(seed)
    candidates = [
        [rng.choice(words) if rng.random() < wrong else w for w in text[rng.randint(0, 1) :]]
        for text in references
    ]
    return candidates, references


@pytest.mark.parametrize(("sentences", "wrong"), [(1, 0.0), (3, 0.2), (30, 0.1), (30, 0.9)])
def test_summed_statistics_give_corpus_bleu(sentences: int, wrong: float) -> None:
    for seed in range(20):
        pair = corpus(seed, sentences, wrong)
        score = bleu_from_statistics(sentence_statistics(*pair).sum(dim=0))
        assert score.item() == pytest.approx(corpus_bleu(*pair).score)


def test_a_mean_gives_the_same_score_as_a_sum_and_many_corpora_come_at_once() -> None:
    statistics = sentence_statistics(*corpus(1, 30, 0.1))
    both = bleu_from_statistics(torch.stack([statistics.mean(dim=0), statistics[:9].sum(dim=0)]))
    assert both[0] == pytest.approx(bleu_from_statistics(statistics.sum(dim=0)).item())
    assert both[1] == bleu_from_statistics(statistics[:9].sum(dim=0)) != both[0]


def test_an_empty_candidate_scores_0() -> None:
    assert bleu_from_statistics(sentence_statistics([[]], [["a", "b"]])).tolist() == [0]


def test_a_round_scores_the_sentences_drawn_with_their_repetitions() -> None:
    candidates, references = corpus(2, 8, 0.2)
    draws = torch.tensor([[0, 3, 3, 7], [1, 1, 1, 1]])
    scores = bootstrap_bleu(sentence_statistics(candidates, references), draws)
    for score, draw in zip(scores.tolist(), draws.tolist(), strict=True):
        assert score == pytest.approx(
            corpus_bleu([candidates[i] for i in draw], [references[i] for i in draw]).score
        )


def test_draws_are_with_replacement_and_repeatable() -> None:
    draws = bootstrap_draws(500, rounds=20, seed=3)
    assert draws.shape == (20, 500) and draws.min() >= 0 and draws.max() < 500
    distinct = [len(draw.unique()) / 500 for draw in draws]
    assert sum(distinct) / 20 == pytest.approx(1 - 2.718281828**-1, abs=0.02)
    assert torch.equal(draws, bootstrap_draws(500, rounds=20, seed=3))
    assert not torch.equal(draws, bootstrap_draws(500, rounds=20, seed=4))


def test_the_interval_and_the_significance_agree_with_sacrebleu() -> None:
    (a, references), (b, _) = corpus(1, 300, 0.30, shortest=5), corpus(2, 300, 0.15, shortest=5)
    draws = bootstrap_draws(300, rounds=2000)
    plain_a, plain_b, plain = ([" ".join(words) for words in side] for side in (a, b, references))
    metric = BLEU(tokenize="none", references=[plain])
    test = PairedTest([("a", plain_a), ("b", plain_b)], {"BLEU": metric}, None, test_type="bs")
    _, results = test()
    for system, theirs in zip((a, b), results["BLEU"], strict=True):
        low, high = interval(bootstrap_bleu(sentence_statistics(system, references), draws))
        assert (high - low) / 2 == pytest.approx(theirs.ci, rel=0.15)
        assert (high + low) / 2 == pytest.approx(theirs.mean, abs=0.3)
    differences = paired_bootstrap(
        sentence_statistics(a, references), sentence_statistics(b, references), draws
    )
    assert interval(differences)[0] > 0 and results["BLEU"][1].p_value < 0.05


def test_two_equal_systems_differ_in_no_round_and_pairing_narrows_the_interval() -> None:
    a, references = corpus(1, 100, 0.3, shortest=5)
    b = [[*words[:-1], "x"] if i % 9 == 0 else words for i, words in enumerate(a)]  # few sentences differ
    first, second = sentence_statistics(a, references), sentence_statistics(b, references)
    draws, others = bootstrap_draws(100), bootstrap_draws(100, seed=1)
    assert paired_bootstrap(first, first, draws).abs().max() == 0
    apart = bootstrap_bleu(second, others) - bootstrap_bleu(first, draws)
    assert paired_bootstrap(first, second, draws).std() < 0.3 * apart.std()


def test_numbers_of_sentences_must_agree() -> None:
    with pytest.raises(ValueError, match="1 candidates do not match 2 references"):
        sentence_statistics([["a"]], [["a"], ["b"]])
    statistics = sentence_statistics(*corpus(0, 4, 0.2))
    with pytest.raises(ValueError, match="system a has 4 sentences and system b has 3"):
        paired_bootstrap(statistics, statistics[:3], bootstrap_draws(3))
