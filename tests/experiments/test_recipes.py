"""Training recipes without the command line: presets, overrides, and what cannot be had."""

import pytest

from course_lib.cli import train
from course_lib.datasets import TranslationData
from course_lib.experiments import recipes

PAIRS = [("he eats", "él come"), ("she eats bread", "ella come pan"), ("she reads", "ella lee")] * 4


@pytest.mark.parametrize("kind", recipes.OWN)
def test_every_preset_gives_a_whole_recipe(kind):
    for name, values in recipes.presets(kind).items():
        recipe = recipes.recipe(kind, preset=name, seed=3)
        settings = vars(recipe)
        assert settings["seed"] == 3 and values.items() <= settings.items()
        assert (settings["steps"] is None) != (settings["minutes"] is None)
        unset = {key for key, value in settings.items() if value is None}
        assert unset <= {"steps", "minutes", "device", *recipes.OWN[kind]}
        config = recipes.train_config(recipe)
        assert (config.steps, config.minutes) == (settings["steps"], settings["minutes"])


def test_a_given_length_drops_the_other():
    def length(**overrides):
        settings = recipes.recipe("translation", **overrides)
        return settings.steps, settings.minutes

    assert length() == (None, 10.0)
    assert length(preset="spa-eng-8") == (7900, None)
    assert length(steps=7) == length(preset="spa-eng-8", steps=7) == (7, None)
    assert length(preset="spa-eng-8", minutes=2.0) == (None, 2.0)


def test_an_override_may_be_zero_and_overrides_the_preset():
    settings = recipes.recipe("translation", preset="multi30k", dropout=0.0, heads=2)
    assert (settings.dropout, settings.heads, settings.layers) == (0.0, 2, 3)


@pytest.mark.parametrize(
    ("arguments", "overrides", "message"),
    [
        (["speech"], {}, "kind='speech' is not one of translation, gpt, vision"),
        (["gpt"], {"preset": "gpt-5"}, "preset='gpt-5' is not one of grammar, nanogpt-cpu"),
        (["gpt"], {"max_words": 8, "lr": 1.0}, "max_words: not a setting of gpt; those are average, batch"),
    ],
)
def test_what_does_not_exist_is_named(arguments, overrides, message):
    with pytest.raises(ValueError, match=message):
        recipes.recipe(*arguments, **overrides)


def test_the_command_line_has_the_same_kinds():
    assert set(train.KINDS) == set(recipes.OWN)


def test_a_recipe_prepares_the_model_that_it_describes(monkeypatch):
    data = TranslationData(
        name="tiny", source="English", target="Spanish", max_words=8,
        train=PAIRS, validation=PAIRS[:3], test=PAIRS[:2], left_out=[],
    )  # fmt: skip
    asked = []
    monkeypatch.setattr(
        "course_lib.datasets.load_translation",
        lambda name, max_words: asked.append((name, max_words)) or data,
    )
    sizes = {"d_model": 128, "layers": 1, "vocab": 60, "batch": 4, "steps": 5}
    settings = recipes.recipe("translation", preset="spa-eng-8", seed=2, **sizes)
    _, tokenizer, loss, batches, config = recipes.prepare_translation(settings)
    model = loss.model.config
    assert asked == [("spa-eng", 8)] and model.vocab == len(tokenizer) <= 60
    assert (model.d_model, model.heads, model.d_ff, model.encoder_layers) == (128, 2, 512, 1)
    assert (config.steps, config.minutes, config.seed, config.lr) == (5, None, 2, 0.01)
    assert batches.batch_sampler.batch == 4 and loss.label_smoothing == 0.1
