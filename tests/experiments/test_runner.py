"""The runner: what is planned is stored, missing runs are made one by one, and nothing stored is lost."""

import importlib
import json
import runpy
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from course_lib.experiments import __main__ as command
from course_lib.experiments import runner, storage
from course_lib.experiments.runner import Experiment
from course_lib.utils.files import PACKAGE

FOLDER = PACKAGE / "experiments"
OTHERS = ("real_words", "translation_quality", "translation_tries")  # they have tests of their own
CHAPTERS = FOLDER.parent / "chapters"
FILES = [path for path in sorted(CHAPTERS.glob("*/results/*.json")) if path.stem not in OTHERS]
MODULES = {
    path.stem: f"course_lib.chapters.{path.parent.name}.{path.stem}"
    for path in sorted(CHAPTERS.glob("*/*.py"))
    if "\nEXPERIMENT = " in path.read_text("utf-8")
}
EARLIER = {("cifar10_quality", "tries")}


def experiment_of(module: str) -> Experiment[Any]:
    if module == "d2l_system_run":
        pytest.importorskip("d2l")
    return importlib.import_module(MODULES[module]).EXPERIMENT


@pytest.mark.parametrize("module", MODULES)
def test_what_is_planned_is_stored_once_and_nothing_else(module: str) -> None:
    experiment = experiment_of(module)
    runs = experiment.read()["runs"]
    for part, plan in experiment.parts.items():
        planned = {json.dumps(experiment.identity_of(recipe)) for recipe in plan()}
        stored = [json.dumps(experiment.identity(run)) for run in runs[part]]
        assert set(stored) == planned and len(set(stored)) == len(stored), part
    others = {(module, part) for part in set(runs) - set(experiment.parts)}
    assert others <= EARLIER | {("d2l_system_run", "attention")}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_is_as_written_and_names_the_command_that_writes_it(path: Path, tmp_path: Path) -> None:
    """Byte for byte: nobody has edited it by hand."""
    content = storage.read(path)
    storage.write(tmp_path / "again.json", content)
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()
    *command, name = content["command"].split()[:4]
    assert command == ["python", "-m", "course_lib.experiments"] and content["machine"]["torch"]
    assert experiment_of(name).path == path


@dataclass(frozen=True, kw_only=True)
class Recipe:
    size: tuple[int, int]
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Result:
    recipe: Recipe
    losses: tuple[float, ...]
    scores: dict[int, frozenset[str]]
    points: list[tuple[int, float]]
    late: float | None = None


def result_of(recipe: Recipe) -> Result:
    return Result(recipe=recipe, losses=(1.5, 0.5), scores={}, points=[(1, 0.25)])


def test_stored_runs_are_read_into_their_types(tmp_path: Path) -> None:
    run = {"recipe": {"size": [1, 2], "seed": 3}, "losses": [1.0], "scores": {"7": ["a"]}}
    run["points"] = [[1, 0.5]]
    recipe = Recipe(size=(1, 2), seed=3)
    expected = Result(recipe=recipe, losses=(1.0,), scores={7: frozenset("a")}, points=[(1, 0.5)])
    assert storage.typed(Result, run) == expected
    assert storage.typed(Result, {**run, "late": None}) == expected
    assert storage.typed(Result, {**run, "late": 0.5}).late == 0.5
    with pytest.raises(TypeError, match="unexpected keyword argument 'loss'"):
        storage.typed(Result, {**run, "loss": 1.0})
    with pytest.raises(TypeError, match="missing .* 'losses'"):
        storage.typed(Result, {key: run[key] for key in run if key != "losses"})


class Counting:
    """Makes runs as dictionaries, and notes what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def __call__(self, **recipe: Any) -> dict[str, Any]:
        self.asked.append(recipe)
        return {**recipe, "loss": float(len(self.asked)), "losses": [0.5]}


def recipes(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "seed": seed} for seed in (0, 1) for name in names]


def test_a_plan_of_all_combinations() -> None:
    assert runner.every(seed=(0, 1), name="ab")() == [
        {"seed": seed, "name": name} for seed in (0, 1) for name in ("a", "b")
    ]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Counting:
    monkeypatch.setattr(storage, "results_of", lambda module: tmp_path)
    return Counting()


def small(make: Any, **more: Any) -> Experiment[dict[str, Any]]:
    parts = {"first": lambda: recipes("a", "b"), "second": lambda: recipes("b", "c")}
    options = {"keys": ("name", "seed"), "settings": lambda: {"every": 25}, **more}
    return Experiment("small", parts, make, dict, **options)


def test_missing_runs_are_made_once_and_a_new_file_says_how(make: Counting, capsys: Any) -> None:
    experiment = small(make)
    assert experiment.stored() == {} and experiment.part("first") == []
    assert experiment.run() == 8 and make.asked == recipes("a", "b") + recipes("b", "c")
    content = json.loads(experiment.path.read_text(encoding="utf-8"))
    assert list(content) == ["command", "machine", "every", "runs"] and content["every"] == 25
    assert content["command"] == "python -m course_lib.experiments small"
    assert [run["loss"] for run in experiment.part("second")] == [5.0, 6.0, 7.0, 8.0]
    assert "first: name a, seed 0, loss 1.0\n" in capsys.readouterr().out  # and no curve
    experiment.run()
    assert len(make.asked) == 8 and "second: everything is stored already; --again" in capsys.readouterr().out


def test_stored_runs_are_made_again_on_demand_and_replaced(make: Counting) -> None:
    experiment = small(make)
    experiment.run("first")
    experiment.run("first", again=True, chosen=lambda recipe: recipe["name"] == "a")
    losses = {(run["name"], run["seed"]): run["loss"] for run in experiment.part("first")}
    assert losses == {("b", 0): 2.0, ("b", 1): 4.0, ("a", 0): 5.0, ("a", 1): 6.0}


def test_runs_end_with_the_time_and_go_on_where_they_ended(make: Counting, monkeypatch: Any) -> None:
    now = iter([0.0, 59.0, 60.0, *[100.0] * 20])
    monkeypatch.setattr(runner.time, "monotonic", lambda: next(now))
    small(make).run("first", minutes=1.0)
    assert make.asked == recipes("a", "b")[:1]
    small(make).run("first", minutes=1.0)
    assert make.asked == recipes("a", "b")


def test_what_another_process_stores_meanwhile_is_kept_and_not_made(make: Counting) -> None:
    other = {"name": "b", "seed": 1, "loss": 0.125}

    def slow(**recipe: Any) -> dict[str, Any]:
        if not make.asked:
            small(make).add("first", other)
        return make(**recipe)

    small(slow).run("first")
    assert {"name": "b", "seed": 1} not in make.asked and len(make.asked) == 3
    assert other in small(make).part("first") and len(small(make).part("first")) == 4


def test_a_run_that_fails_leaves_the_others(make: Counting) -> None:
    def failing(**recipe: Any) -> dict[str, Any]:
        return make(**recipe) if recipe["name"] == "a" else 1 / 0

    with pytest.raises(ZeroDivisionError):
        small(failing).run("first")
    assert [run["name"] for run in small(make).part("first")] == ["a"]


def test_runs_of_another_part_are_copied_where_that_is_asked_for(make: Counting) -> None:
    small(make, shared=True).run()
    assert make.asked == [*recipes("a", "b"), *recipes("c")]
    assert small(make).part("second")[0] == small(make).part("first")[1]


def test_runs_that_are_measured_together_are_stored_together(make: Counting) -> None:
    def together(**recipe: Any) -> list[dict[str, Any]]:
        return [make(**one) for one in recipes("a", "b")]

    for again in (False, True):
        small({"first": together, "second": make}).run("first", again=again)
    assert len(make.asked) == 8 and [run["loss"] for run in small(make).part("first")] == [5.0, 6.0, 7.0, 8.0]


def test_a_whole_recipe_identifies_a_run(make: Counting) -> None:
    plan = [Recipe(size=(1, 2), seed=seed) for seed in (0, 1)]
    experiment = Experiment("whole", {"runs": lambda: plan}, result_of, Result)
    experiment.run(chosen=lambda recipe: recipe.seed == 1)
    assert experiment.part("runs") == [result_of(plan[1])]


COMMAND = small(Counting(), flags={"late": lambda recipe, given: given or recipe["name"] != "c"})


@pytest.mark.parametrize(
    ("arguments", "made"),
    [
        ([], recipes("a", "b") + recipes("b")),
        (["--late"], recipes("a", "b") + recipes("b", "c")),
        (["first", "--minutes", "5"], recipes("a", "b")),
        (["second", "c", "--late", "--seed", "1"], [{"name": "c", "seed": 1}]),
        (["b", "--seeds", "0"], [{"name": "b", "seed": 0}] * 2),
    ],
)
def test_the_command_chooses_parts_names_and_seeds(make: Counting, arguments: list[str], made: list) -> None:
    small(make, flags=COMMAND.flags).main("What it does.", arguments)
    assert make.asked == made


@pytest.mark.parametrize("arguments", [["third"], ["first", "--seeds", "7"], ["second", "c"]])
def test_what_is_not_planned_is_refused(make: Counting, arguments: list[str], capsys: Any) -> None:
    with pytest.raises(SystemExit, match="2"):
        small(make, flags=COMMAND.flags).main("What it does.", arguments)
    message = capsys.readouterr().err
    assert repr(arguments[0]) in message and "'first', 'second'" in message and not make.asked


def test_what_cannot_be_made_yet_is_said_in_one_line(make: Counting, capsys: Any) -> None:
    def refuse(**recipe: Any) -> dict[str, Any]:
        raise ValueError("'second' must be run after 'first'")

    with pytest.raises(SystemExit, match="1"):
        small(refuse).main("What it does.", ["second"])
    assert capsys.readouterr().err == "'second' must be run after 'first'\n"


@pytest.fixture
def arguments(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    monkeypatch.setattr(sys, "argv", ["course_lib.experiments"])
    yield sys.argv


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
def test_one_command_runs_all_experiments_and_lists_them(arguments: list[str], capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["normz"])
    first, *lines = str(ended.value).splitlines()
    assert first == "no experiment 'normz'; there are"
    assert set(MODULES) <= {line.split()[0] for line in lines}
    command.main(["norms", "grid"])
    assert "grid: everything is stored already" in capsys.readouterr().out
    sys.argv[1:] = ["blocks"]  # and each module is a command, as files and notebooks call it
    runpy.run_module("course_lib.chapters.ch05_blocks.norms", run_name="__main__", alter_sys=True)
    assert "blocks: everything is stored already" in capsys.readouterr().out
