"""How much memory the kernel of each notebook needs: its largest size from the first cell to the last.

cd tests && python -m benchmarks.memory                     # all notebooks, one after the other
cd tests && python -m benchmarks.memory ../notebooks/06*    # these

Prints the rows of README's table. Linux only. The files of PyTorch, 0.16 GB that all kernels share, are
counted in each.
"""

import argparse
from pathlib import Path

from nbformat.v4 import new_code_cell

from course_lib.commands import stored
from course_lib.commands.environment import ROOT
from course_lib.commands.refresh import execute

# The last cell. ru_maxrss would do on other systems, but it begins with the size of what started the kernel.
ASK = "print([line for line in open('/proc/self/status') if line.startswith('VmHWM')][0])"
CELL_SECONDS = 900


def peak(path: Path, timeout: int = CELL_SECONDS) -> int:
    """Run a notebook in a new kernel and return that kernel's largest size in bytes; no file is changed.

    Raises NotebookFailed where a cell raises, or takes longer than `timeout` seconds.
    """
    nb = stored.read(path)
    nb.cells.append(new_code_cell(ASK))
    execute(nb, path.resolve().parent, timeout)
    _, number, unit = nb.cells[-1].outputs[-1]["text"].split()
    if unit != "kB":
        raise ValueError(f"the kernel's size came in {unit} instead of kB")
    return int(number) * 1024


def row(path: Path, size: int) -> str:
    """The line of README's table."""
    return f"| `{path.stem}` | {size / 1e9:.2f} |"


def main() -> None:
    """Measure, and print each row as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("notebooks", nargs="*", type=Path, help="files (default: all in notebooks/)")
    for path in parser.parse_args().notebooks or sorted((ROOT / "notebooks").glob("*.ipynb")):
        print(row(path, peak(path)), flush=True)


if __name__ == "__main__":
    main()
