"""Run a notebook with short training runs: `python short_notebook.py NOTEBOOK COSTS [--whole]`.

With COURSE_SECOND_DEVICE set, it trains on the device made of CPU memory, with the settings for a GPU.
Outputs and asserts about trained models belong to whole training runs, which nbval makes. All others
must hold here as well: they are how a notebook compares two ways to compute the same.

COSTS: a file for what the first step of each training run costs, as JSON. --whole: each run takes one step,
on a whole batch.
"""

import ast
import contextlib
import io
import itertools
import json
import math
import os
import sys
import time
from pathlib import Path

if os.environ.get("COURSE_SECOND_DEVICE"):
    from helpers import second_device  # before course_lib
else:
    second_device = None

import matplotlib
import matplotlib.pyplot as plt
import nbformat

from course_lib.datasets import DataSetUnavailable
from course_lib.datasets.batching import Batches
from course_lib.tasks import image_classification, language_modeling
from course_lib.training.config import TrainConfig
from course_lib.training.trainer import Trainer

STEPS, ROWS = 4, 8  # of a run, and of a batch
TRAINS = {"train", "pretrain", "train_denoiser", "backward"}  # names that make trained models
EQUALITY = {"allclose", "isclose", "equal"}


class Shorter(ast.NodeTransformer):
    """Cuts loops of training steps, and drops the asserts about trained models.

    A name is trained if its value comes from a call in TRAINS, through whatever functions and names. Asserts
    that say that two things are equal stay: they must hold after any number of steps.
    """

    def __init__(self) -> None:
        self.trained = set(TRAINS)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:  # noqa: N802
        about = _names(node)
        return ast.copy_location(ast.Pass(), node) if about & self.trained and not about & EQUALITY else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:  # noqa: N802
        for name, default in zip(node.args.args[::-1], node.args.defaults[::-1], strict=False):
            if name.arg == "steps" and isinstance(default, ast.Constant):
                default.value = min(default.value, STEPS)
        if _names(node) & self.trained:
            self.trained.add(node.name)
        return self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Assign | ast.AugAssign | ast.NamedExpr | ast.For | ast.comprehension):
            value = node.iter if isinstance(node, ast.For | ast.comprehension) else node.value
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if _names(value) & self.trained:
                self.trained |= set().union(*map(_names, targets))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):  # losses.append(loss)
            if any(_names(argument) & self.trained for argument in node.args):
                self.trained |= {n.id for n in ast.walk(node.func.value) if isinstance(n, ast.Name)}
        return super().generic_visit(node)


def _names(node: ast.AST) -> set[str]:
    found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return found | {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}


class Cut(int):
    """A number of steps that was cut; `asked` is the one before."""

    asked: int


def shorten_runs(most: int, rows: int | None) -> None:
    """Let each run have about so many steps, on so many rows of a batch, and evaluations on less data."""
    check, batches = TrainConfig.__post_init__, Batches.__iter__

    def cut(config: TrainConfig) -> None:
        check(config)
        if isinstance(config.steps, Cut):  # a copy of one that was cut
            return
        asked = config.steps or most
        every = config.evaluate_every or config.checkpoint_every or asked
        times = math.ceil(asked / every)
        apart = math.ceil(most / times)
        steps = Cut(min(asked, apart * times))
        steps.asked = asked
        short = {"steps": steps, "minutes": None}
        for name in ("evaluate_every", "checkpoint_every"):
            short[name] = math.ceil(getattr(config, name) * apart / every)
        for name, value in short.items():
            object.__setattr__(config, name, value)

    def few(self: Batches):  # a next epoch goes on where this one stops
        return (tuple(part[:rows] for part in batch) for batch in itertools.islice(batches(self), most))

    TrainConfig.__post_init__, Batches.__iter__ = cut, few
    loss, share = language_modeling.mean_loss, image_classification.accuracy
    language_modeling.mean_loss = lambda model, ids, **more: loss(model, ids[:1000], **more)
    image_classification.accuracy = lambda model, split, **more: share(model, split[:200], **more)


def measure_steps(costs: list[dict], names: dict) -> None:
    """Note what each training step costs: processor time, and on the second device its work and memory."""
    take = Trainer.training_step

    def measured(run: Trainer, batch: tuple) -> None:
        if run.step:
            return take(run, batch)
        begin = time.process_time()
        work = second_device.Work() if second_device else None
        if work:
            second_device.WORK = work
        take(run, batch)
        cost = {"cell": names["__cell__"], "steps": run.config.steps.asked, "precision": run.config.precision}
        cost["seconds"] = round(time.process_time() - begin, 4)
        if work:
            second_device.WORK = None
            weights = sum(p.nbytes for p in run.plain.parameters())  # and as much for each of two moments
            cost |= {"operations": work.operations, "multiplications": work.multiplications}
            cost["bytes"] = 3 * weights + work.peak
        costs.append(cost)

    Trainer.training_step = measured


def run(path: Path) -> list[dict]:
    """Run the code cells in order; an error's traceback names the cell. Returns what training steps cost.

    Models of a few steps write empty lists, say: for such errors, and names missing after them, it goes on.
    So it does for a data set that is not to be had.
    """
    names, shorter = {"__name__": "__main__"}, Shorter()
    costs: list[dict] = []
    measure_steps(costs, names)
    excused: tuple[type[Exception], ...] = (ArithmeticError, LookupError, DataSetUnavailable)
    for number, cell in enumerate(nbformat.read(path, as_version=4).cells):
        if cell.cell_type != "code":
            continue
        names["__cell__"] = number
        tree, printed = shorter.visit(ast.parse(cell.source)), io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(tree, f"{path.stem}, cell {number}", "exec"), names)
            compare(number, cell, printed.getvalue())
        except excused as error:
            excused = (*excused, NameError)
            print(f"cell {number}: {error!r}", file=sys.stderr)
        except Exception:
            if "raises-exception" not in cell.metadata.get("tags", ()):
                raise
        plt.close("all")
    return costs


def compare(number: int, cell: nbformat.NotebookNode, printed: str) -> None:
    """Raise AssertionError unless the exact lines of a stored output are printed here, too."""
    stored = "".join(output.text for output in cell.outputs if output.get("name") == "stdout")
    lines = iter(printed.splitlines())
    for line in stored.splitlines():
        if line and not line.startswith("≈") and line not in lines:  # `in` moves the iterator on
            raise AssertionError(f"cell {number}: {line!r} is stored, but here it prints:\n{printed}")


if __name__ == "__main__":
    matplotlib.use("Agg")
    path, costs, *whole = sys.argv[1:]
    shorten_runs(*((1, None) if whole else (STEPS, ROWS)))
    Path(costs).write_text(json.dumps(run(Path(path))))
