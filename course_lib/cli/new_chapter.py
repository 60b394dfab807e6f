"""`new-chapter NUMBER TITLE`: the skeleton of a chapter, whose notebook runs, and what is still missing."""

import argparse
import re
from pathlib import Path

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course_lib.cli import arguments, colab, lint, notebook_io, thumbnails
from course_lib.cli.environment import ROOT
from course_lib.cli.refresh import refresh
from course_lib.cli.requirements import is_repository
from course_lib.cli.venv import SetUpError
from course_lib.exercises.questions import read
from course_lib.utils.chapters import CHAPTER, SETTINGS
from course_lib.utils.files import atomic_path

HELP = "makes the skeleton of a chapter: notebook, folder, row in the README"
TEMPLATES = Path(__file__).parent / "templates" / "chapter"
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}
SETTINGS_HEAD = (
    "# button: of the chapter, in the gallery of widgets. "
    "thumbnail: words in the code of the cell whose figure README shows.\n"
    "# widgets: in the gallery, each with notes for the teacher: "
    "a question for the class, what to move, what to expect.\n"
)
TITLE_PATTERN = r"[^\W_](?:[^|\\\"{}]*\S)?"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    number = arguments.matching(CHAPTER, "a chapter such as 12, 12b (for going deeper) or A5 (an appendix)")
    title = arguments.matching(f"(?u:{TITLE_PATTERN})", 'a title in one line without | \\ " { }')
    parser.add_argument("number", type=number, help="such as 12; 12b shares the folder of 12")
    parser.add_argument("title", type=title, help="of the notebook, in quotation marks")


def run(args: argparse.Namespace) -> int:
    """Write the skeleton, run its notebook, picture it; prints what is still missing. Returns 0."""
    if not is_repository():
        raise SetUpError("Chapters are in the course's repository; run this in a copy of it.")
    written = create(ROOT, args.number, args.title)
    notebook = written[0]
    refresh(notebook)
    written += thumbnails.main(only=args.number)
    colab.stamp(ROOT, colab.stamped_as(ROOT))
    print(*(f"written: {path.relative_to(ROOT)}" for path in [*written, ROOT / "README.md"]), sep="\n")
    for problem in lint.problems(notebook):
        print(f"missing: {problem}")
    print(f"missing: a section in docs/teaching.md, and words about {notebook.name} in its row of README.md")
    print(f"Then run: python -m course_lib refresh notebooks/{notebook.name}")
    return 0


def create(root: Path, number: str, title: str) -> list[Path]:
    """Write the files of a chapter below `root`, which must not exist; returns them, the notebook first.

    Raises ValueError if the chapter exists, if a lettered one has no chapter to go with, or if the title has
    no letter or digit of ASCII to name files with.
    """
    name = "_".join(re.findall(r"[a-z0-9]+", title.lower()))
    if not name:
        raise ValueError(f"title {title!r} needs a letter from a to z, or a digit, to name the files with")
    if taken := [path.name for path in (root / "notebooks").glob(f"{number}_*.ipynb")]:
        raise ValueError(f"chapter {number} exists: notebooks/{taken[0]}")
    chapters = root / "course_lib" / "chapters"
    folders = sorted(chapters.glob(f"ch{number[:2]}_*"))
    if number[2:] and not folders:
        raise ValueError(f"chapter {number} goes with chapter {number[:2]}, which has no folder yet")
    folder = folders[0] if folders else chapters / f"ch{number}_{name}"
    words = {
        "number": number,
        "shown": number.lstrip("0") or "0",
        "title": title,
        "button": title[0].lower() + title[1:],
        "folder": folder.name,
        "figure": f"diagram_{name}",
        "recall": ", ".join(f"{earlier}.1" for earlier in _three_before(number)),
    }
    module = folder / f"figures_{number}.py"
    stub = folder / "__init__.pyi"
    texts = {
        folder / f"{number}_exercises.md": _filled("exercises", words),
        folder / f"{number}_questions.md": _filled("questions", words),
        module: _filled("figures", words),
        folder / SETTINGS: (_before(folder / SETTINGS) or SETTINGS_HEAD) + _filled("settings", words),
        stub: _before(stub) + f"from course_lib.chapters.{folder.name}.{module.stem} import (\n"
        f"    {words['figure']} as {words['figure']},\n)\n",
    }
    if not (folder / "__init__.py").exists():
        texts[folder / "__init__.py"] = _filled("package", words)
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        with atomic_path(path) as part:
            part.write_text(text.lstrip("\n"), encoding="utf-8", newline="\n")
    notebook = root / "notebooks" / f"{number}_{name}.ipynb"
    _write_notebook(notebook, _filled("notebook", words), root)
    return [notebook, *texts]


def _three_before(number: str) -> list[str]:
    """The chapters from which the skeleton recalls a question: the last three before it."""
    files = (Path(__file__).parents[1] / "chapters").glob("ch*/*_questions.md")
    earlier = sorted(chapter for file in files if (chapter := file.name.split("_")[0]) < number)
    return [chapter for chapter in earlier if read(chapter).questions][-3:]


def _before(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _filled(template: str, words: dict[str, str]) -> str:
    text = (TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")
    return re.sub(r"\{(\w+)\}", lambda found: words[found[1]], text)


def _write_notebook(path: Path, text: str, root: Path) -> None:
    cells = []
    for kind, source in re.findall(r"(?ms)^# %% ?(\S*)\n(.*?)(?=^# %%|\Z)", text):
        if kind == "[markdown]":
            cells.append(new_markdown_cell(source.strip()))
        else:
            code = colab.setup_cell(colab.stamped_as(root)) if kind == "setup" else source.strip()
            cells.append(new_code_cell(code, metadata=FOLDED if kind else {}))
    for place, cell in enumerate(cells, start=1):
        cell.id = f"{path.stem.partition('_')[0]}-{place:02}"
    nb = new_notebook(cells=cells)
    notebook_io.clean(nb)
    notebook_io.write(nb, path)
