"""The translator's recipe: each variant is what it says, and the runs are kept and read."""

import math

import pytest
import torch
from helpers.tiny_translation import DATA, SMALL

from course_lib.chapters.ch06_translation import equal_cost
from course_lib.chapters.ch06_translation import translation_recipe as recipes
from course_lib.experiments import storage
from course_lib.experiments.recipes import presets
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """A few sentences, small models, and results stored elsewhere."""
    variants = {
        "original": recipes.Variant(about="the original", settings=SMALL),
        "rotary": recipes.Variant(about="rotary", parts=("positions",), settings=SMALL),
        "untied": recipes.from_modern("untied", untied=True, **SMALL),
    }
    monkeypatch.setattr("course_lib.datasets.load_translation", lambda name, max_words: DATA)
    monkeypatch.setattr(storage, "results_of", lambda module: tmp_path)
    monkeypatch.setattr(recipes, "VARIANTS", variants)
    monkeypatch.setattr(recipes, "STEPS", 6)
    monkeypatch.setattr(equal_cost, "TURN", 1)
    monkeypatch.setattr(equal_cost, "TURNS", 2)


def test_a_variant_changes_the_parts_that_it_names(tiny):
    config = recipes.prepare("rotary", 0, 5)[2].model.config
    assert (config.positions, config.qk_norm, config.activation) == ("rotary", False, "relu")
    trainer = recipes.prepare("untied", 0, 5)[2]
    assert trainer.model.config.qk_norm and trainer.config.optimizer == "muon" and trainer.config.lr == 0.01
    assert isinstance(trainer.model, recipes.UntiedSeq2Seq)


def test_an_untied_output_layer_starts_as_the_embedding_and_learns_on_its_own():
    torch.manual_seed(0)
    sizes = Seq2SeqConfig(vocab=11, d_model=8, heads=2, d_ff=12, encoder_layers=1, decoder_layers=1)
    model, hidden_states = recipes.UntiedSeq2Seq(sizes), torch.randn(3, 8)
    assert torch.equal(model.output_logits(hidden_states), Seq2Seq.output_logits(model, hidden_states))
    model.output_logits(hidden_states).sum().backward()
    assert model.output_weight.grad is not None and model.embedding.weight.grad is None


def test_runs_of_equal_cost_are_kept_and_read_back(tiny):
    with pytest.raises(ValueError, match="the cost of a step of 'original' is not known yet"):
        recipes.EXPERIMENT.run("tries")
    recipes.EXPERIMENT.run("costs")
    costs = recipes.EXPERIMENT.part("costs")
    assert [one["name"] for one in costs] == list(recipes.VARIANTS) and costs[0]["cost"] == 1.0
    recipes.EXPERIMENT.add("costs", {"name": "original", "cost": 1.0}, {"name": "rotary", "cost": 1.5})
    recipes.EXPERIMENT.run("tries", chosen=lambda one: one["name"] != "untied")
    found = [(run.name, run.seed, run.steps) for run in recipes.stored()]
    assert found == [("original", 0, 6), ("original", 1, 6), ("rotary", 0, 4), ("rotary", 1, 4)]
    assert all(math.isfinite(run.loss) and run.parameters > 0 for run in recipes.stored())


def test_the_modern_variant_is_the_preset():
    settings = vars(recipes.settings_of(recipes.VARIANTS["modern"], seed=0))
    preset = presets("translation")["spa-eng-8"]
    differ = {key for key, value in preset.items() if settings[key] != value}
    assert differ == {"steps", "form"}  # the form is set by the parts of the model
    assert set(recipes.VARIANTS["modern"].parts) == set(recipes.SINCE_GPT2)


def test_stored_runs_are_whole():
    costs = {one["name"]: one["cost"] for one in recipes.EXPERIMENT.part("costs")}
    for run in recipes.stored():
        assert run.cost == costs[run.name] and math.isfinite(run.loss) and 0 < run.bleu < run.chrf < 100
