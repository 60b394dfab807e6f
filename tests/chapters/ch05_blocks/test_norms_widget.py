"""The norm explorer: it shows the stored runs, and the gradients are those of the model."""

from dataclasses import replace
from itertools import product

import pytest
import torch
from matplotlib.figure import Figure

from course_lib.chapters.ch05_blocks import norm_explorer
from course_lib.chapters.ch05_blocks import norms as norm_runs
from course_lib.chapters.ch05_blocks import norms_widget as norms
from course_lib.tasks import TranslationDataset
from course_lib.text.unigram import unigram_loss


def test_each_choice_has_its_runs() -> None:
    controls = norm_explorer().controls
    choices = [controls[name].options for name in ("norm", "depth", "lr", "warmup")]
    for norm, depth, lr, warmup in product(*choices):
        runs = norms.runs_of(norm, depth, lr, warmup)
        assert sorted(run.recipe.seed for run in runs) == [0, 1, 2]
    assert tuple(controls["lr"].options) == norm_runs.RATES


def test_the_text_says_what_is_stored() -> None:
    explorer = norm_explorer()
    explorer.controls["depth"].value = 6
    explorer.controls["lr"].value = 4e-3
    runs = norms.runs_of("post", 6, 4e-3, 0)
    losses = [run.losses[-1] for run in runs]
    assert f"the loss of 3 runs is {min(losses):.2f} to {max(losses):.2f}" in explorer.line
    assert "no warm-up" in explorer.line
    explorer.controls["warmup"].value = 100
    assert "100 steps of warm-up" in explorer.line


def test_the_lines_are_the_stored_losses() -> None:
    figure = Figure(layout="none")
    update = norms.norm_picture(figure)
    update("pre", 6, 2e-3, 100)
    drawn = [line for line in figure.axes[1].lines if line.get_animated()]
    widest = max(line.get_linewidth() for line in drawn)
    chosen = [line for line in drawn if line.get_linewidth() == widest]
    curves = [run.losses for run in norms.runs_of("pre", 6, 2e-3, 100)]
    assert [tuple(line.get_ydata()) for line in chosen] == curves
    assert list(chosen[0].get_xdata()) == [norm_runs.EVERY * (i + 1) for i in range(len(curves[0]))]
    assert len(drawn) == 2 * len(chosen)


def test_the_gradients_are_those_of_each_block() -> None:
    sizes = norms.block_gradients("post", 2)
    assert len(sizes) == 4
    post, pre = (norms.block_gradients(norm, 6) for norm in ("post", "pre"))
    assert post[-1] > 2 * pre[-1]  # Xiong et al. 2020: near the output post-norm's are the larger ones
    assert norms.block_gradients("pre", 2)[-1] > 1.3 * pre[-1]  # and pre-norm's shrink with depth
    assert abs(post[-1] / norms.block_gradients("post", 2)[-1] - 1) < 0.5


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ((5.4, 5.5, 5.4), "Every run collapsed"),
        ((5.4, 3.0, 3.1), "1 of 3 runs collapsed"),
        ((4.94, 5.233, 4.95), "1 of 3 runs collapsed"),  # within 2 % of the unigram level
        ((5.06, 5.14, 5.1), "No run collapsed"),
        ((3.0, 3.1, 3.2), "No run collapsed"),
    ],
)
def test_the_verdict(ends: tuple[float, ...], said: str) -> None:
    recipe = norms.runs_of("post", 6, 4e-3, 0)[0].recipe
    assert said in norms.verdict(
        [norm_runs.Curve(recipe, (6.0, *[end] * norm_runs.ENDING), 0.0) for end in ends]
    )


def test_a_run_is_judged_by_its_last_100_steps_as_in_chapter_5() -> None:
    recipe = norms.runs_of("post", 6, 4e-3, 0)[0].recipe
    noisy = norm_runs.Curve(recipe, (6.0, 5.1, 5.35, 5.1, 5.1), 0.0)
    assert noisy.end == pytest.approx(5.1625) and noisy.collapsed
    assert not norm_runs.Curve(recipe, (6.0, 5.35, 5.1, 5.1, 5.1, 5.1), 0.0).collapsed


def test_the_unigram_level_is_that_of_the_data() -> None:
    data, tokenizer = norm_runs.material()
    targets = [i for _, target in TranslationDataset(data.train, tokenizer) for i in target[1:]]
    assert unigram_loss(targets, norm_runs.VOCAB) == pytest.approx(norm_runs.UNIGRAM, abs=0.005)


def test_the_stored_runs_are_whole_and_of_the_same_making() -> None:
    stored = norm_runs.stored()
    assert set(stored) == {"grid", "rates", "fair", "lecture", "blocks"}
    for curves in stored.values():
        recipes = [curve.recipe for curve in curves]
        assert len(set(recipes)) == len(recipes)
        for curve in curves:
            assert len(curve.losses) == curve.recipe.steps / norm_runs.EVERY
            assert all(0 < loss < 20 for loss in curve.losses)
            assert 0 <= curve.bleu <= 100


@pytest.mark.slow
def test_a_run_follows_its_recipe() -> None:
    """Same recipe, same curve; another seed, another one."""
    recipe = norm_runs.Recipe(norm="pre", layers=(1, 2), lr=4e-3, warmup=5, steps=25, seed=0)
    curve, again = norm_runs.make(recipe), norm_runs.make(recipe)
    assert replace(curve, seconds=0.0) == replace(again, seconds=0.0)
    assert len(curve.losses) == 1 and curve.losses[0] < 6.2
    other = norm_runs.Recipe(**{**vars(recipe), "seed": 1})
    assert norm_runs.make(other).losses != curve.losses


def test_the_model_has_the_blocks_of_the_recipe() -> None:
    model = norm_runs.small_model("post", (1, 3), seed=2)
    assert (len(model.encoder), len(model.decoder)) == (1, 3)
    assert isinstance(model.encoder_norm, torch.nn.Identity)
    assert len(norm_runs.material()[1]) == norm_runs.VOCAB
