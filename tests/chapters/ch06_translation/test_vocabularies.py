"""The stored runs of chapter 6: how they are made, kept and read."""

from dataclasses import replace

import pytest

from course_lib.chapters.ch06_translation import vocabularies as runs
from course_lib.datasets import TranslationData
from course_lib.text.tokenizers import Tokenizer

PAIRS = [("he eats", "él come"), ("she eats bread", "ella come pan"), ("she reads", "ella lee")] * 4
DATA = TranslationData(
    name="tiny", source="English", target="Spanish", max_words=None,
    train=PAIRS, validation=PAIRS[:3], test=PAIRS[:2], left_out=[],
)  # fmt: skip
RECIPE = runs.Recipe(data="tiny", pairs=6, vocab=60, steps=5)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three sentences and a model for them, evaluated each second step."""
    monkeypatch.setattr(runs, "material", lambda name: DATA)
    monkeypatch.setattr(runs, "SIZES", {**runs.SIZES, "d_model": 8, "d_ff": 12, "heads": 2})
    monkeypatch.setattr(runs, "EVERY", 2)


def test_stored_runs_are_sound() -> None:
    for outcome in (outcome for part in runs.stored().values() for outcome in part):
        assert len(outcome.losses) == len(outcome.bleus) == outcome.recipe.steps / runs.EVERY
        assert 0 <= outcome.unknown < 1 <= outcome.tokens_per_word
        assert 0 <= outcome.bleu <= 100 and 0 <= outcome.train_bleu <= 100
        assert outcome.pairs == (outcome.recipe.pairs or outcome.pairs)


def test_a_recipe_can_be_repeated(tiny: None) -> None:
    outcome, again = runs.make(RECIPE), runs.make(RECIPE)
    assert replace(outcome, seconds=0.0) == replace(again, seconds=0.0)
    assert outcome.recipe == RECIPE and outcome.pairs == 6 and len(outcome.losses) == 3
    assert runs.make(replace(RECIPE, seed=1)).losses != outcome.losses


def test_unknown_words_are_counted_for_words_and_not_for_subwords() -> None:
    learnt = [text for pair in PAIRS[:2] for text in pair]
    found = {}
    for kind in ("words", "bpe"):
        tokens = Tokenizer.train(learnt, 60, kind)
        found[kind] = runs.coverage(tokens, [("She reads", "ella come"), ("bread", "pan")])
    assert found["words"] == (1 / 6, 1.0)
    assert found["bpe"][0] < 1 / 6 and found["bpe"][1] > 1


def test_capitals_and_gaps_do_not_count() -> None:
    assert runs.words("¿Dónde estás, Tom?") == ["¿", "dónde", "estás", ",", "tom", "?"]
    assert runs.words("¿ dónde estás , tom ?") == runs.words("¿Dónde estás, Tom?")
