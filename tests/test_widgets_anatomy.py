"""The stored runs of the lecture's anatomy, how they are made, and the widget that shows them."""

from dataclasses import replace

import pytest
from benchmarks import anatomy_runs as runs

from course_lib.lectures.dlstudio import Oddities, Procedure, corpus_of
from course_lib.widgets import anatomy, anatomy_explorer
from course_lib.widgets.anatomy_runs import EVALUATIONS, MENDS, as_json, as_run, make, parts_of, stored


def test_nothing_mended_is_the_lecture_and_all_mended_the_paper():
    model, procedure = parts_of([])
    assert replace(model, pass_per_position=True) == Oddities.lecture()
    assert procedure == replace(Procedure.lecture(), never_eval=False, peak=2e-3, warmup=100)
    model, procedure = parts_of(MENDS)
    assert replace(model, starts_with_eos=False) == Oddities()
    assert not (procedure.frozen_embeddings or procedure.lecture_rates)
    with pytest.raises(ValueError, match=r"\['soft'\] is none of the 10 mends"):
        parts_of(["soft"])


def test_stored_runs_are_in_order_and_the_cumulative_ones_whole():
    for part, made in stored().items():
        wanted = [frozenset(mended) for mended in runs.PARTS[part]()]
        assert [run.mended for run in made] == wanted[: len(made)]
        assert len(made) == len(wanted) or part != "cumulative"
    for run in stored()["cumulative"]:
        assert set(run.scores) == set(EVALUATIONS)
        assert as_run(as_json(run)) == run


def test_the_same_recipe_gives_the_same_run():
    from test_lectures_dlstudio import few_pairs

    pairs = corpus_of(few_pairs(), train=60, held_out=5)
    one, other = (replace(make(["flat_attention", "flat_ffn"], pairs, steps=2), seconds=0.0) for _ in "12")
    assert one == other and one.parameters < make([], pairs, steps=1).parameters / 5


def test_nearest_run_is_the_one_asked_for_where_it_is_stored():
    for made in stored().values():
        for run in made:
            assert anatomy.nearest(run.mended).mended == run.mended


def test_the_widget_says_what_is_mended():
    explorer = anatomy_explorer()
    assert "Nothing mended" in explorer.text.value
    for name in MENDS:
        explorer.controls[name].value = True
    assert "Everything mended" in explorer.text.value
    last = stored()["cumulative"][-1].scores["feedback"]
    assert f"BLEU {last.held_out_bleu}" in explorer.text.value
