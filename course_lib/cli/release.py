"""`release`: the notebooks without their solutions, for handing out, and an instructor's key beside them."""

import argparse
import re
import shutil
from contextlib import nullcontext
from pathlib import Path

from nbformat import NotebookNode

from course_lib.cli import answer_key, notebook_io
from course_lib.cli.arguments import integer, output_folder
from course_lib.cli.environment import ROOT, SetUpError, is_repository
from course_lib.cli.front_page import BADGE
from course_lib.cli.lint import SOLUTION
from course_lib.exercises.later import folded
from course_lib.utils.chapters import CHAPTER
from course_lib.utils.files import atomic_path

ANSWER = re.compile(r"<details>\s*<summary>(?:Our a|A)nswers?</summary>.*?</details>", re.DOTALL)
SHOWN_LATER = (  # an exercise, and how a later cell begins whose code is a solution of it
    ("01.softmax", "shifted = (large - large.max()).exp()"),
    ("01.attention", "q, k, v = normal(2, 5, 64, seed=0)"),
    ("01.gradient", "# @title Figure: the norm of the Jacobian by width"),
    ("05.pre_norm", "WAYS = {"),
    ("05.decoder_block", "x, memory, mask = normal(2, 4, 12)"),
    ("06.train", "english, spanish = zip(*data.validation[:200]"),
    ("06.train", "gold = target[:, 1:]"),
)
SOURCE = "inspect.getsource("  # the output is the library's own version of what an exercise asks for
HELP = "writes the notebooks without solutions into a folder, for handing out"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=output_folder, help="where to write them; must not contain notebooks")
    parser.add_argument("--no-outputs", action="store_true", help="remove the outputs as well")
    parser.add_argument(
        "--seed",
        type=integer(0, 2**31 - 1),
        metavar="N",
        help="also write exam questions beside the folder: the exercises with other numbers, drawn from N",
    )
    parser.epilog = "The checks of the exercises work exactly as in the full notebooks."


def run(args: argparse.Namespace) -> int:
    """Write the student version, and beside it the key and the questions; returns 0."""
    if not is_repository():
        raise SetUpError("The notebooks are in the course's repository; run this in a copy of it.")
    there = sorted(path.name for path in args.folder.glob("*.ipynb"))
    if there:
        raise SetUpError(
            f"{args.folder} already contains {there[0]}, perhaps with someone's work. Choose a new folder."
        )
    new = not args.folder.exists()  # then nothing is left of it if the disk is full
    with atomic_path(args.folder) if new else nullcontext(args.folder) as folder:
        number = write_all(ROOT / "notebooks", folder, outputs=not args.no_outputs)
    print(
        f"{args.folder}: {number} notebooks without solutions. The checks are those of course_lib.exercises."
    )
    texts = {"key": answer_key.key(ROOT / "notebooks")}
    if args.seed is not None:
        texts["questions"], answers = answer_key.exam(args.seed)
        texts["key"] += answers
    for name, text in texts.items():
        place = args.folder.resolve()
        with atomic_path(place.with_name(f"{place.name}-{name}.md")) as part:
            part.write_text(text, encoding="utf-8")
        print(f"{place.name}-{name}.md, beside the folder: keep it to yourself.")
    return 0


def write_all(notebooks: Path, folder: Path, outputs: bool = True) -> int:
    """Write the chapters and appendices of `notebooks`, and their pictures, into `folder`; returns how many.

    Raises SetUpError, and writes nothing, if a stored notebook contains a solved exercise.
    """
    paths = sorted(notebooks.glob("[0-9A][0-9]*_*.ipynb"))
    chapters = {path.name: notebook_io.read(path) for path in paths}
    for name, nb in chapters.items():
        if done := solved(nb):
            raise SetUpError(
                f"{name} contains a solved exercise, {done[0]}. Remove the answer: git checkout {name}"
            )
        without_solutions(nb)
        for cell in nb.cells:
            if cell.cell_type == "code" and not outputs:
                cell.outputs, cell.execution_count = [], None
    if (notebooks / "images").is_dir():
        shutil.copytree(notebooks / "images", folder / "images", dirs_exist_ok=True)
    for name, nb in chapters.items():
        notebook_io.write(nb, folder / name)
    return len(chapters)


def solved(nb: NotebookNode) -> list[str]:
    """The exercises that passed, according to their stored outputs."""
    printed = [output.get("text", "") for cell in nb.cells for output in cell.get("outputs", [])]
    return re.findall(rf"(?m)^({CHAPTER}\.[\w-]+): passed", "\n".join(printed))


def without_solutions(nb: NotebookNode) -> None:
    """Remove, in place, solutions, answers to questions in the text, and the badge, which links to them.

    Cells that show a solution later are folded, and the printed sources of the library are removed.
    """
    for cell in nb.cells:
        if cell.cell_type != "code":
            cell.source = ANSWER.sub("", SOLUTION.sub("", cell.source)).strip()
            cell.source = re.sub(rf"(?m)^{re.escape(BADGE)}.*\n*", "", cell.source)
            continue
        if SOURCE in cell.source:
            cell.outputs = [output for output in cell.outputs if output.output_type != "stream"]
        for exercise_id, beginning in SHOWN_LATER:
            if cell.source.startswith(beginning):
                cell.source = folded(exercise_id, cell.source)
    nb.cells = [cell for cell in nb.cells if cell.source.strip()]
