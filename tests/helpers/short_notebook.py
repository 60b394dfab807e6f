"""Run notebooks with short training runs: `python short_notebook.py FOLDER NOTEBOOK …`.

With COURSE_SECOND_DEVICE set, it trains on the device made of CPU memory, with the settings for a GPU.
Outputs and asserts about trained models belong to whole training runs, which nbval makes. All others
must hold here as well: they are how a notebook compares two ways to compute the same.

FOLDER gets a file for each notebook, in JSON: the error that stopped it, or None; what a training step of
each run costs on the second device; its processor time. One process runs them all, because each of them
needs the imports, and many the pairs of the grammar.
"""

import ast
import contextlib
import io
import itertools
import json
import math
import os
import re
import sys
import time
import traceback
from pathlib import Path
from typing import Any

if os.environ.get("COURSE_SECOND_DEVICE"):
    from helpers import second_device  # before course_lib
else:
    second_device = None

import matplotlib
import matplotlib.pyplot as plt
import nbformat
import torch

from course_lib.chapters.ch10_pixels import symmetry_denoiser
from course_lib.datasets import DataSetUnavailable
from course_lib.datasets.batching import Batches
from course_lib.tasks import image_classification, instructions, language_modeling
from course_lib.training.config import TrainConfig
from course_lib.training.trainer import Trainer

FRESH = torch.default_generator.initial_seed()  # of a kernel that has not been seeded
STEPS, ROWS = 4, 8  # of a run, and of a batch
# Functions that train the models they are given, or new ones.
TRAIN = {"train", "pretrain", "train_denoiser", "train_translator", "trained", "my_train"}
TRAINING_METHODS = {"backward", "make"}  # of a loss; of the sweep in chapter 7c
# exact lines that say how long a run was, or count its batches
OF_WHOLE_RUNS = ("checkpoints at steps ", "similar length: ", "random pairs: ")
COSTS: dict[str, Any] = {}  # of the notebook that is running: the section, the runs so far
EQUALITY = {"allclose", "isclose", "equal"}


class Shorter(ast.NodeTransformer):
    """Cuts loops of training steps, and drops the asserts about trained models.

    A function trains if it calls one in TRAIN, or TRAINING_METHODS. What it returns is trained, what it is
    given, and what comes from either, through whatever names. Asserts that two things are equal stay: they
    must hold after any number of steps.
    """

    def __init__(self) -> None:
        self.trains, self.trained = set(TRAIN), set()

    def from_training(self, *nodes: ast.AST) -> bool:
        known = self.trains | self.trained
        return any(_names(node) & known or _attributes(node) & TRAINING_METHODS for node in nodes)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:  # noqa: N802
        dropped = self.from_training(node) and not _attributes(node) & EQUALITY
        return ast.copy_location(ast.Pass(), node) if dropped else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:  # noqa: N802
        if "backward" in _attributes(node):  # a loop of its own
            for name, default in zip(node.args.args[::-1], node.args.defaults[::-1], strict=False):
                if name.arg == "steps":
                    default.value = min(default.value, STEPS)
        if _names(node) & self.trains or _attributes(node) & TRAINING_METHODS:
            self.trains.add(node.name)
        else:
            self._set({node.name}, self.from_training(node))
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        for target in node.targets:  # of `x[i] = …`, x stays what it is
            whole = isinstance(target, ast.Name | ast.Tuple)
            self._set(_names(target), self.from_training(node.value), keep=not whole)
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.For | ast.comprehension):
            self._set(_names(node.target), self.from_training(node.iter))
        elif isinstance(node, ast.withitem) and node.optional_vars:
            self._set(_names(node.optional_vars), self.from_training(node.context_expr))
        elif isinstance(node, ast.AugAssign | ast.NamedExpr):
            self._set(_names(node.target), self.from_training(node.value), keep=True)
        elif isinstance(node, ast.Call):
            if _names(node.func) & self.trains:
                self._set(set().union(*map(_names, node.args)), trained=True)
            elif isinstance(node.func, ast.Attribute):  # losses.append(loss)
                self._set(_names(node.func.value), self.from_training(*node.args), keep=True)
        return super().generic_visit(node)

    def _set(self, names: set[str], trained: bool, keep: bool = False) -> None:
        if trained:
            self.trained |= names
        elif not keep:
            self.trained -= names


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _attributes(node: ast.AST) -> set[str]:
    return {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}


class Cut(int):
    """A setting that was cut; `asked` is the one before."""

    asked: int

    @classmethod
    def to(cls, value: int, asked: int) -> "Cut":
        cut = cls(value)
        cut.asked = asked
        return cut


def shorten_runs() -> None:
    """Let each run have about STEPS steps, on ROWS rows of a batch, and evaluate on less data."""
    check, batches = TrainConfig.__post_init__, Batches.__iter__

    def cut(config: TrainConfig) -> None:
        check(config)
        names = ("steps", "evaluate_every", "checkpoint_every")
        # a copy of a config, with changes, has settings that were cut, and others
        asked = {name: getattr(getattr(config, name), "asked", getattr(config, name)) for name in names}
        steps = asked["steps"] or STEPS
        every = asked["evaluate_every"] or asked["checkpoint_every"] or steps
        times = math.ceil(steps / every)
        apart = math.ceil(STEPS / times)
        short = {name: Cut.to(math.ceil(asked[name] * apart / every), asked[name]) for name in names[1:]}
        short["steps"] = Cut.to(min(steps, apart * times), steps)
        for name, value in (short | {"minutes": None}).items():
            object.__setattr__(config, name, value)

    def few(self: Batches):  # a next epoch goes on where this one stops
        return (tuple(part[:ROWS] for part in batch) for batch in itertools.islice(batches(self), STEPS))

    TrainConfig.__post_init__, Batches.__iter__ = cut, few
    symmetry_denoiser.train_denoiser.__defaults__ = (STEPS, 0, 1e-2)  # it has a loop of its own
    instructions.is_correct = lambda request, answer: len(answer) % 2 == 0  # or no judge prefers any answer
    pairs = instructions.instruction_pairs
    instructions.instruction_pairs = lambda number, **more: pairs(min(number, 100), **more)
    loss, share = language_modeling.mean_loss, image_classification.accuracy
    language_modeling.mean_loss = lambda model, ids, **more: loss(model, ids[:1000], **more)
    image_classification.accuracy = lambda model, split, **more: share(model, split[:200], **more)


def measure_steps() -> None:
    """Note in COSTS what the first training step of each run costs, for a whole batch."""
    take = Trainer.training_step

    def measured(run: Trainer, batch: tuple) -> None:
        if run.step or run.device.type == "cpu":
            return take(run, batch)
        second_device.WORK = work = second_device.Work()
        update, forward_and_back = run.optimizer.step, []

        def counted(*args: Any, **options: Any) -> Any:
            forward_and_back.append(work.multiplications)
            return update(*args, **options)

        run.optimizer.step = counted
        take(run, batch)
        run.optimizer.step, second_device.WORK = update, None
        larger = run.batches.batch_sampler.batch / len(batch[0])  # in proportion to its rows
        weights = sum(p.nbytes for p in run.plain.parameters())  # as much for gradients, and for two moments
        cost = {
            "section": COSTS["section"],
            "steps": run.config.steps.asked,
            "precision": run.config.precision,
            "operations": work.operations,
            "multiplications": round(work.multiplications + forward_and_back[0] * (larger - 1)),
            "bytes": round(4 * weights + (work.peak - weights) * larger),
        }
        COSTS["runs"].append(cost)

    Trainer.training_step = measured


def run(path: Path) -> None:
    """Run the code cells in order; an error's traceback names the cell.

    Models of a few steps write empty lists, say: for such errors, and names missing after them, it goes on.
    So it does for a data set that is not to be had.
    """
    names, shorter = {"__name__": "__main__"}, Shorter()
    excused: tuple[type[Exception], ...] = (ArithmeticError, LookupError, DataSetUnavailable)
    for number, cell in enumerate(nbformat.read(path, as_version=4).cells):
        if cell.cell_type != "code":  # headings stay what they are when cells are added
            for heading in re.findall(r"^#+ (.+)", cell.source, re.M):
                COSTS["section"] = heading
            continue
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


def compare(number: int, cell: nbformat.NotebookNode, printed: str) -> None:
    """Raise AssertionError unless the exact lines of a stored output are printed here, too."""
    stored = "".join(output.text for output in cell.outputs if output.get("name") == "stdout")
    lines = iter(printed.splitlines())
    for line in stored.splitlines():
        if line.startswith(("≈", *OF_WHOLE_RUNS)) or not line:
            continue
        if line not in lines:  # `in` moves the iterator on
            raise AssertionError(f"cell {number}: {line!r} is stored, but here it prints:\n{printed}")


def result(path: Path) -> dict[str, Any]:
    """Run a notebook as in a fresh kernel, and say what happened."""
    torch.manual_seed(FRESH)
    torch.set_printoptions(profile="default")
    COSTS["runs"], begin, error = [], time.process_time(), None
    try:
        run(path)
    except Exception:
        error = traceback.format_exc()
    return {"error": error, "runs": COSTS["runs"], "seconds": round(time.process_time() - begin)}


if __name__ == "__main__":
    matplotlib.use("Agg")
    shorten_runs()
    if second_device:
        measure_steps()
    folder, *paths = map(Path, sys.argv[1:])
    for path in paths:
        (folder / f"{path.stem}.json").write_text(json.dumps(result(path)))
