"""The stored scores of the presets: each run once, means of its seeds, and the page of results."""

import json
import re
import statistics
from pathlib import Path

import pytest

from course_lib.chapters.ch06_translation.translation_quality import RESULTS
from course_lib.experiments.recipes import recipe

QUALITY = json.loads(RESULTS.read_text(encoding="utf-8"))
PAGE = (Path(__file__).resolve().parents[3] / "docs" / "results.md").read_text(encoding="utf-8")


def test_each_run_is_that_of_a_preset_and_stored_once() -> None:
    runs = [(run["preset"], run["seed"], run["steps"]) for run in QUALITY["runs"]]
    assert len(set(runs)) == len(runs)
    for run in QUALITY["runs"]:
        preset = recipe("translation", preset=run["preset"])
        assert run["command"].startswith("python -m course_lib train translation --preset ")
        assert run["settings"]["d_model"] == preset.d_model and run["batch"] == preset.batch
        assert run["greedy"]["bleu"] < run["beam"]["bleu"] < run["beam"]["chrf"] < 100


def test_means_are_over_the_seeds_of_equal_runs() -> None:
    for row in QUALITY["means"]:
        equal = [run for run in QUALITY["runs"] if all(run[key] == row[key] for key in ("preset", "steps"))]
        assert [run["seed"] for run in equal] == row["seeds"] == [0, 1, 2]
        for way in ("greedy", "beam"):
            scores = [run[way]["bleu"] for run in equal]
            both = [statistics.mean(scores), statistics.stdev(scores)]
            assert row[way]["bleu"] == pytest.approx(both, abs=0.006)


def test_the_page_of_results_has_the_means() -> None:
    for row in QUALITY["means"]:
        greedy, beam, chrf = row["greedy"]["bleu"], row["beam"]["bleu"], row["beam"]["chrf"]
        cells = [rf"\**{mean:.1f} ± {deviation:.1f}\**" for mean, deviation in (greedy, beam, chrf)]
        assert re.search(rf"`{row['preset']}`.* \| {' [|] '.join(cells)} \|", PAGE), row["preset"]
