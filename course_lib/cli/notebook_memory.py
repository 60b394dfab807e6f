"""Peak memory of each notebook's kernel, from the first cell to the last.

python -m course_lib.cli.notebook_memory                     # all notebooks, one at a time
python -m course_lib.cli.notebook_memory ../notebooks/06*    # these

Prints the rows of the table in docs/server.md. Linux only. Each figure includes PyTorch's files, 0.16 GB
that all kernels share.
"""

import argparse
from pathlib import Path

from nbformat.v4 import new_code_cell

from course_lib.cli import notebook_io
from course_lib.cli.environment import ROOT
from course_lib.cli.refresh import execute
from course_lib.utils.progress_bar import say, tracked

# The last cell. ru_maxrss would work on other systems, but it starts at the size of the parent process.
ASK = "print([line for line in open('/proc/self/status') if line.startswith('VmHWM')][0])"
CELL_SECONDS = 900


def peak(path: Path, timeout: int = CELL_SECONDS) -> int:
    """The peak memory in bytes of a new kernel that runs a notebook; changes no file."""
    nb = notebook_io.read(path)
    nb.cells.append(new_code_cell(ASK))
    execute(nb, path.resolve().parent, timeout)
    _, number, unit = nb.cells[-1].outputs[-1]["text"].split()
    if unit != "kB":
        raise ValueError(f"the kernel's size is in {unit} instead of kB")
    return int(number) * 1024


def row(path: Path, size: int) -> str:
    """The row of the table in docs/server.md."""
    return f"| `{path.stem}` | {size / 1e9:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("notebooks", nargs="*", type=Path, help="files (default: all in notebooks/)")
    paths = parser.parse_args().notebooks or sorted((ROOT / "notebooks").glob("*.ipynb"))
    for path in tracked(paths, "running", "notebook"):
        say(row(path, peak(path)))


if __name__ == "__main__":
    main()
