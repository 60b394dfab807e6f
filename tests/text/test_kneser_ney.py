"""The Kneser–Ney model: equal to NLTK's, a distribution after every context, and better than its parts."""

import itertools
import math
import random

import pytest
from nltk.lm import KneserNeyInterpolated, Vocabulary
from nltk.util import everygrams

from course_lib.text.kneser_ney import KneserNey

RNG = random.Random(0)
DRAWN = [int(RNG.triangular(0, 7, 1)) for _ in range(150)]  # 0 to 6; token 7 never occurs
IDS = DRAWN + DRAWN[:4]  # so that each n-gram follows a token; NLTK counts those at the start differently
VOCAB = 8


class NltkModel(KneserNeyInterpolated):
    """NLTK's, whose model without context has no discount: ours interpolates it with equal probabilities."""

    def __init__(self, n: int, discount: float):
        words = [str(i) for i in range(VOCAB)]
        super().__init__(n, discount=discount, vocabulary=Vocabulary(words))
        self.fit([list(everygrams([str(i) for i in IDS], max_len=n))])
        self.estimator.unigram_score = self.without_context

    def without_context(self, word: str) -> float:
        count, total = self.estimator._continuation_counts(word)
        kinds = sum(self.estimator._continuation_counts(str(i))[0] > 0 for i in range(VOCAB))
        discount = self.estimator.discount
        return (max(count - discount, 0) + discount * kinds / VOCAB) / total


@pytest.mark.parametrize("n", [2, 3, 4])
def test_it_is_the_model_of_nltk(n: int) -> None:
    ours, theirs = KneserNey(IDS, n, VOCAB, discount=0.6), NltkModel(n, 0.6)
    for length in range(1, n):
        for context in itertools.islice(itertools.product(range(6), repeat=length), 80):
            expected = [theirs.score(str(i), [str(j) for j in context]) for i in range(VOCAB)]
            assert [ours.probability(context, i) for i in range(VOCAB)] == pytest.approx(expected)


def test_all_tokens_together_have_probability_1_after_every_context() -> None:
    model = KneserNey(IDS, 3, VOCAB)
    for context in ([], [1], [7], [1, 2], [2, 7], [7, 2], [5, 1, 2]):
        assert sum(model.probability(context, i) for i in range(VOCAB)) == pytest.approx(1)
        assert model.probability(context, 7) > 0
    assert model.probability([5, 1, 2], 0) == model.probability([1, 2], 0)  # it reads two tokens


def test_the_loss_is_the_mean_over_all_tokens_but_the_first() -> None:
    model, text = KneserNey(IDS, 3, VOCAB), [2, 1, 0, 3]
    each = [model.probability(text[:i], text[i]) for i in range(1, len(text))]
    assert model.loss(text) == pytest.approx(-sum(map(math.log, each)) / 3)


def test_a_word_of_a_fixed_phrase_is_unlikely_elsewhere() -> None:
    text = "san francisco the cat a cat my cat san francisco san francisco".split()
    model = KneserNey(text, 2, vocab=6)
    assert text.count("francisco") == text.count("cat") == 3
    assert model.probability([], "cat") > 2 * model.probability([], "francisco")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n=0 must be 1 to 154"),
        ({"n": 155}, "n=155 must be 1 to 154"),
        ({"discount": 1.0}, "discount=1.0"),
        ({"discount": 0.0}, "discount=0.0"),
        ({"ids": "a text"}, "ids is the text 'a text'"),
        ({"vocab": 0}, "vocab=0"),
    ],
)
def test_errors_name_the_field_and_its_range(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KneserNey(**{"ids": IDS, "n": 2, "vocab": VOCAB, **arguments})
