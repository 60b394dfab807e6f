"""The stored runs of the lecture's anatomy, how they are made, and the widget that shows them."""

import html
from dataclasses import replace

import pytest
from helpers.few_pairs import few_pairs

from course_lib.chapters.chA1_dlstudio import anatomy as runs
from course_lib.chapters.chA1_dlstudio import anatomy_explorer, anatomy_samples
from course_lib.chapters.chA1_dlstudio import anatomy_widget as anatomy
from course_lib.chapters.chA1_dlstudio.anatomy import EVALUATIONS, FIXES, as_json, make, parts_of, stored
from course_lib.experiments import storage
from course_lib.lectures.dlstudio import Deviations, Procedure, corpus_of


def test_nothing_fixed_is_the_lecture_and_all_fixed_the_paper():
    model, procedure = parts_of([])
    assert model == Deviations.lecture()
    assert procedure == replace(Procedure.lecture(), never_eval=False, peak=2e-3, warmup=100)
    model, procedure = parts_of(FIXES)
    assert replace(model, starts_with_eos=False) == Deviations()
    assert not (procedure.frozen_embeddings or procedure.lecture_rates)
    with pytest.raises(ValueError, match=r"unknown fixes \['soft'\]: choose from \['passes'"):
        parts_of(["soft"])


def test_stored_runs_are_in_order_and_the_cumulative_ones_whole():
    for part, made in stored().items():
        assert [run.fixed for run in made] == [frozenset(fixed) for fixed in runs.PARTS[part]]
        if part.endswith("timed"):
            assert all(abs(run.steps * run.seconds - runs.SECONDS) < 2 * run.seconds + 0.2 for run in made)
        else:
            assert {run.steps for run in made} == {runs.STEPS}
    for run in stored()["cumulative"]:
        assert set(run.scores) == set(EVALUATIONS)
        assert storage.typed(runs.Run, as_json(run)) == run


@pytest.mark.slow
def test_the_same_recipe_gives_the_same_run():
    pairs = corpus_of(few_pairs(), train=60, held_out=5)
    one, other = (replace(make(["flat_attention", "flat_ffn"], pairs, steps=2), seconds=0.0) for _ in "12")
    assert one == other and one.steps == 2 and one.parameters < make([], pairs, steps=1).parameters / 5


def test_a_budget_of_seconds_ends_the_training():
    run = make(["flat_attention", "flat_ffn"], corpus_of(few_pairs(), train=60, held_out=5), seconds=0.3)
    assert run.steps * run.seconds >= 0.29 > (run.steps - 1) * run.seconds - 0.2
    assert run.speed == pytest.approx(450 / run.seconds)


def test_nearest_run_is_the_one_asked_for_where_it_is_stored():
    for part, made in stored().items():
        for run in made:
            timed = part.endswith("timed")
            assert anatomy.nearest(run.fixed, timed).fixed == run.fixed
            assert anatomy.distance(run, run.fixed, timed) == 0
    assert anatomy.nearest(frozenset()).fixed == {"passes"}  # no difference with a budget in steps
    assert anatomy.distance(anatomy.nearest(frozenset()), frozenset(), timed=False) == 0


def test_the_samples_are_of_the_stored_runs_and_the_first_pairs():
    pairs, translated = anatomy_samples.stored()
    assert pairs == anatomy_samples.chosen(runs.corpus())
    for made in stored().values():
        for run in made:
            samples = translated.get((run.fixed, run.steps)) or translated[run.fixed, runs.STEPS]
            assert set(samples) == set(EVALUATIONS)
            assert all(len(lines) == 2 * anatomy_samples.EACH for lines in samples.values())


@pytest.mark.slow
def test_repeating_a_run_gives_its_loss_and_its_translations():
    pairs = corpus_of(few_pairs(), train=60, held_out=5)
    run = make(["flat_attention", "flat_ffn"], pairs, steps=3)
    again, same = (anatomy_samples.make(run.fixed, run.steps, pairs) for _ in "12")
    assert again == same and again["loss"] == run.loss and set(again["samples"]) == set(EVALUATIONS)


def test_the_widget_names_the_fixes_and_shows_their_scores_and_sample_translations():
    explorer = anatomy_explorer()
    assert "Nothing fixed" in explorer.line
    for name in FIXES:
        explorer.controls[name].value = True
    assert "Everything fixed" in explorer.line
    for budget, part in ((f"{runs.SECONDS} s of CPU time", "timed"), (f"{runs.STEPS} steps", "cumulative")):
        explorer.controls["trained"].value = budget
        assert f"BLEU {stored()[part][-1].scores['feedback'].held_out_bleu}" in explorer.line
    pairs, translated = anatomy_samples.stored()
    lines = translated[frozenset(FIXES), runs.STEPS]["feedback"]
    shown = html.unescape(explorer.text.value)
    for text in (*lines, *sum(pairs, ()), f"Sample translations after {runs.STEPS} steps"):
        assert text in shown
