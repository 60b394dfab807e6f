"""Run a notebook with short training runs and without its asserts: `python short_notebook.py NOTEBOOK`.

With COURSE_SECOND_DEVICE set, it trains on the device made of CPU memory. Asserts are about whole training
runs; those run under nbval.
"""

import ast
import math
import os
import sys
from pathlib import Path

if os.environ.get("COURSE_SECOND_DEVICE"):
    from helpers import second_device  # noqa: F401, before course_lib

import matplotlib
import matplotlib.pyplot as plt
import nbformat

from course_lib.training.config import TrainConfig

STEPS = 8


class WithoutAsserts(ast.NodeTransformer):
    def visit_Assert(self, node: ast.Assert) -> ast.AST:  # noqa: N802
        return ast.copy_location(ast.Pass(), node)


def shorten_runs() -> None:
    """Let each TrainConfig have at most STEPS steps, and as many evaluations and checkpoints."""
    check = TrainConfig.__post_init__

    def cut(config: TrainConfig) -> None:
        check(config)
        steps = config.steps or STEPS
        every = config.evaluate_every or config.checkpoint_every or steps
        times = math.ceil(steps / every)
        apart = math.ceil(STEPS / times)
        short = {"steps": min(steps, apart * times), "minutes": None}
        for name in ("evaluate_every", "checkpoint_every"):
            short[name] = math.ceil(getattr(config, name) * apart / every)
        for name, value in short.items():
            object.__setattr__(config, name, value)

    TrainConfig.__post_init__ = cut


def run(path: Path) -> None:
    """Run the code cells in order; an error's traceback names the cell.

    Models of a few steps write empty lists, say: for such errors, and names missing after them, it goes on.
    """
    names, excused = {"__name__": "__main__"}, (ArithmeticError, LookupError)
    for number, cell in enumerate(nbformat.read(path, as_version=4).cells):
        if cell.cell_type == "code":
            tree = WithoutAsserts().visit(ast.parse(cell.source))
            try:
                exec(compile(tree, f"{path.stem}, cell {number}", "exec"), names)
            except excused as error:
                excused = (*excused, NameError)
                print(f"cell {number}: {error!r}", file=sys.stderr)
            except Exception:
                if "raises-exception" not in cell.metadata.get("tags", ()):
                    raise
            plt.close("all")


if __name__ == "__main__":
    matplotlib.use("Agg")
    shorten_runs()
    run(Path(sys.argv[1]))
