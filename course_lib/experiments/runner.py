"""The runner of all experiments: which runs are planned, how one is made, and where its results are stored.

    python -m course_lib.experiments norms grid --minutes 5

makes the missing runs of an experiment. Each is stored as soon as it is made, so the command can be called
again to resume; what another process has stored meanwhile is kept, and not made twice.
"""

import argparse
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import nn

from course_lib.datasets.batching import Batches
from course_lib.experiments import storage
from course_lib.training.config import TrainConfig
from course_lib.training.trainer import History, train
from course_lib.utils import machine
from course_lib.utils.progress_bar import say, tracked

Result = TypeVar("Result")
Plan = Callable[[], Iterable[Any]]
Make = Callable[..., Any]
LONG = ("losses", "evaluations", "confusion", "drawn")  # not printed


@dataclass(eq=False)
class Experiment(Generic[Result]):
    """An experiment: its plan, the function that makes a run, and the file with the results.

    module: the file of its module. The results are in the folder `results` beside it, in a file of the same
    name unless `name` gives another.
    parts: for each part of the results, a function that returns its recipes, dataclasses or dictionaries; it
    may read the parts before it. make: returns the run of a recipe, or a list of runs, as dataclasses or
    dictionaries; one function for all parts, or one for each. A recipe that is a dictionary is passed as
    keyword arguments.
    result: the type that stored runs are read into. keys: the fields that identify a run, which a recipe has,
    too; or "recipe", if a run contains the whole recipe.
    settings: returns what a new file says about all its runs. threads: of the CPU; None: PyTorch's choice.
    flags: options of the command; each decides by a recipe, and whether it is given, if the run is made.
    shared: whether a run that another part has, and that the same function makes, is copied.
    """

    module: str | Path
    parts: Mapping[str, Plan]
    make: Make | Mapping[str, Make]
    result: Callable[..., Result]
    keys: tuple[str, ...] = ("recipe",)
    name: str = ""
    settings: Callable[[], Mapping[str, Any]] = dict
    threads: int | None = 1
    flags: Mapping[str, Callable[[Any, bool], bool]] = field(default_factory=dict)
    shared: bool = False

    @property
    def path(self) -> Path:
        """The file of results."""
        return storage.results_of(self.module) / f"{self.name or self.command}.json"

    @property
    def command(self) -> str:
        """Its name on the command line."""
        return Path(self.module).stem

    def read(self) -> dict[str, Any]:
        """The content of the file; if there is none, the header of a new one."""
        if self.path.exists():
            return storage.read(self.path)
        command = f"python -m course_lib.experiments {self.command}"
        return {"command": command, "machine": machine.describe("cpu"), **self.settings(), "runs": {}}

    def stored(self) -> dict[str, list[Result]]:
        """The stored runs by part."""
        return storage.stored(self.path, self.result) if self.path.exists() else {}

    def part(self, name: str) -> list[Result]:
        """The stored runs of a part; there may be none."""
        return self.stored().get(name, [])

    def identity(self, run: Mapping[str, Any]) -> list[Any]:
        """The values of the keys in a run."""
        return [run.get(key) for key in self.keys]

    def identity_of(self, recipe: Any) -> list[Any]:
        """The values of the keys in the run of this recipe."""
        fields = storage.plain(recipe)
        return [fields] if self.keys == ("recipe",) else self.identity(fields)

    def find(self, recipe: Any, *parts: str) -> dict[str, Any] | None:
        """The stored run of a recipe in these parts, as it is in the file."""
        wanted, runs = self.identity_of(recipe), self.read()["runs"]
        known = (run for part in parts for run in runs.get(part, []))
        return next((run for run in known if self.identity(run) == wanted), None)

    def add(self, part: str, *runs: Any) -> None:
        """Store runs of a part, in place of those with the same keys, and print them."""
        new = [storage.plain(run) for run in runs]
        content, keys = self.read(), [self.identity(run) for run in new]
        kept = [run for run in content["runs"].get(part, []) if self.identity(run) not in keys]
        content["runs"][part] = kept + new
        storage.write(self.path, content)
        for run in new:
            say(f"{part}: {', '.join(f'{key} {value}' for key, value in run.items() if key not in LONG)}")

    def run(
        self,
        *parts: str,
        minutes: float = 60.0,
        again: bool = False,
        chosen: Callable[[Any], bool] = lambda recipe: True,
    ) -> int:
        """Make the chosen runs of these parts, or of all, until the time is up; returns how many are planned.

        again: also those that are stored, which are replaced.
        """
        end, planned = time.monotonic() + 60 * minutes, 0
        for part in parts or self.parts:
            recipes, made = [recipe for recipe in self.parts[part]() if chosen(recipe)], list[Any]()
            planned += len(recipes)
            missing = [recipe for recipe in recipes if again or self.find(recipe, part) is None]
            if recipes and not missing:
                say(f"{part}: everything is stored already; --again makes it again")
            for recipe in tracked(missing, part, "run"):
                if time.monotonic() >= end:
                    break
                if self.identity_of(recipe) in made or not (again or self.find(recipe, part) is None):
                    continue  # made with another one, or by another process
                alike = self.parts if self.shared and not again else ()
                alike = [other for other in alike if self.maker(other) is self.maker(part)]
                runs = self.find(recipe, *alike) or self.new(part, recipe)
                runs = runs if isinstance(runs, list) else [runs]
                made += [self.identity(storage.plain(run)) for run in runs]
                self.add(part, *runs)
        return planned

    def new(self, part: str, recipe: Any) -> Any:
        """A new run of a recipe, or a list of runs."""
        make = self.maker(part)
        return make(**recipe) if isinstance(recipe, dict) else make(recipe)

    def maker(self, part: str) -> Make:
        """The function that makes the runs of a part."""
        return self.make[part] if isinstance(self.make, Mapping) else self.make

    def main(self, about: str | None, arguments: Sequence[str] | None = None) -> None:
        """The command: makes missing runs. about: its description."""
        parser = argparse.ArgumentParser(
            prog=f"python -m course_lib.experiments {self.command}",
            description=about,
            formatter_class=argparse.RawTextHelpFormatter,
        )
        parts = f"of {', '.join(map(repr, self.parts))}; or the name of a recipe; without any, all"
        parser.add_argument("parts", nargs="*", metavar="part", help=parts)
        parser.add_argument("--minutes", type=float, default=60.0, help="no run begins after them")
        parser.add_argument("--seeds", type=int, nargs="+", help="only these of the planned ones")
        parser.add_argument("--again", action="store_true", help="make stored runs again and replace them")
        for flag in self.flags:
            parser.add_argument(f"--{flag}", action="store_true")
        given = parser.parse_args(arguments)
        names = [name for name in given.parts if name not in self.parts]

        def chosen(recipe: Any) -> bool:
            fields = storage.plain(recipe)
            return (
                (not names or fields.get("name") in names)
                and (given.seeds is None or fields.get("seed") in given.seeds)
                and all(keep(recipe, getattr(given, flag)) for flag, keep in self.flags.items())
            )

        if self.threads:
            torch.set_num_threads(self.threads)
        some = [part for part in given.parts if part in self.parts]
        try:
            planned = self.run(*some, minutes=given.minutes, again=given.again, chosen=chosen)
        except ValueError as error:  # such as a part that needs another one first
            parser.exit(1, f"{error}\n")
        if not planned:
            parser.error(f"nothing is planned for parts or names {given.parts}, seeds {given.seeds}; {parts}")


def every(**choices: Iterable[Any]) -> Callable[[], list[dict[str, Any]]]:
    """A plan of all combinations of these choices, as dictionaries; the last choice varies fastest."""
    return lambda: [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


def learn(
    objective: nn.Module,
    batches: Batches,
    config: TrainConfig,
    evaluate: Callable[[], dict[str, float]] | None = None,
) -> tuple[History, float]:
    """Train on the CPU; returns the history, and the processor time in seconds, without evaluations."""
    aside = 0.0

    def evaluate_aside() -> dict[str, float]:
        nonlocal aside
        before = time.process_time()
        scores = evaluate() if evaluate else {}
        aside += time.process_time() - before
        return scores

    before = time.process_time()
    history = train(
        objective, batches, config, evaluate=evaluate and evaluate_aside, device="cpu", progress=False
    )
    return history, round(time.process_time() - before - aside, 1)
