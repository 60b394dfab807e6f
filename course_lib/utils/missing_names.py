"""Advice for a cell that runs before those that it needs, as after a restart of the kernel."""

import sys
from typing import Any

ADVICE = (
    "If a cell further up defines `{name}`, run the cells above this one first. In JupyterLab: Run → Run All "
    "Above Selected Cell; on Colab: Runtime → Run before; in VS Code: the cell's Execute Above Cells."
)


def advise_on_missing_names() -> None:
    """From now on, print advice below each cell of this notebook that lacks a name."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None and advise not in shell.events.callbacks["post_run_cell"]:
        shell.events.register("post_run_cell", advise)


def advise(result: Any) -> None:
    """Print the advice if a cell failed because of a name that this notebook defines nowhere so far."""
    error = result.error_in_exec
    if not isinstance(error, NameError) or isinstance(error, UnboundLocalError) or not error.name:
        return
    frames = error.__traceback__
    while frames is not None and frames.tb_next is not None:
        frames = frames.tb_next
    if frames is not None and frames.tb_frame.f_globals.get("__name__") == "__main__":  # not in a library
        print(ADVICE.format(name=error.name))
