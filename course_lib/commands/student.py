"""`student`: the notebooks without their solutions, for handing out."""

import argparse
import re
import shutil
from pathlib import Path

from nbformat import NotebookNode

from course_lib.commands import stored
from course_lib.commands.colab import BADGE
from course_lib.commands.environment import ROOT, SetUpError, is_repository
from course_lib.commands.lint import SOLUTION

HELP = "writes the notebooks without solutions into a folder, for handing out"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where to, and how much is kept."""
    parser.add_argument("folder", type=Path, help="where they are written; it holds no notebooks yet")
    parser.add_argument("--no-outputs", action="store_true", help="leave out what the cells have shown, too")
    parser.epilog = "The checks of the exercises stay as they are, and answer as in the full notebooks."


def run(args: argparse.Namespace) -> int:
    """Write the student version; returns 0. Raises SetUpError where it would write over notebooks."""
    if not is_repository():
        raise SetUpError("The notebooks are in the course's repository; run this in a copy of it.")
    there = sorted(path.name for path in args.folder.glob("*.ipynb"))
    if there:
        raise SetUpError(
            f"{args.folder} holds {there[0]} already, and perhaps someone's work. Name a new folder."
        )
    number = write_all(ROOT / "notebooks", args.folder, outputs=not args.no_outputs)
    print(
        f"{args.folder}: {number} notebooks without solutions. The checks are those of course_lib.exercises."
    )
    return 0


def write_all(notebooks: Path, folder: Path, outputs: bool = True) -> int:
    """Write all chapters of `notebooks` and the pictures they use into `folder`; returns how many.

    Raises SetUpError, and writes nothing, where a stored notebook holds an exercise that someone has solved.
    """
    chapters = {path.name: stored.read(path) for path in sorted(notebooks.glob("[0-9][0-9]*_*.ipynb"))}
    for name, nb in chapters.items():
        if done := solved(nb):
            raise SetUpError(
                f"{name} stores a solved exercise, {done[0]}. Take the answer out: git checkout {name}"
            )
        without_solutions(nb)
        if not outputs:
            without_outputs(nb)
    if (notebooks / "images").is_dir():
        shutil.copytree(notebooks / "images", folder / "images", dirs_exist_ok=True)
    for name, nb in chapters.items():
        stored.write(nb, folder / name)
    return len(chapters)


def solved(nb: NotebookNode) -> list[str]:
    """The exercises whose stored output says that they are passed."""
    printed = [output.get("text", "") for cell in nb.cells for output in cell.get("outputs", [])]
    return re.findall(r"(?m)^(\d\d[a-z]?\.[\w-]+): passed", "\n".join(printed))


def without_solutions(nb: NotebookNode) -> None:
    """Take out, in place, the solutions and the badge, which leads to the notebook that holds them."""
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            cell.source = SOLUTION.sub("", cell.source).strip()
            cell.source = re.sub(rf"(?m)^{re.escape(BADGE)}.*\n*", "", cell.source)
    nb.cells = [cell for cell in nb.cells if cell.source.strip()]


def without_outputs(nb: NotebookNode) -> None:
    """Clear, in place, everything that the cells have shown."""
    for cell in nb.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
