"""Notebook files: read unchanged, cleaned of what varies from run to run, written atomically."""

import base64
import hashlib
import io
import json
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from PIL import Image

from course_lib.cli.carry import beginning
from course_lib.utils.chapters import CHAPTER
from course_lib.utils.files import atomic_path

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
LANGUAGE = {
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "pygments_lexer": "ipython3",
}
KEPT = {"accelerator", "colab"}  # of a notebook's metadata, in addition to the two above: Colab reads them
KEPT_IN_CELLS = {"tags", "slideshow", "cellView", "jupyter"}


@dataclass(frozen=True)
class Notebook:
    """A notebook as stored; number: see `chapter_of`."""

    number: str | None
    metadata: NotebookNode
    cells: list[NotebookNode]

    @classmethod
    def load(cls, path: Path) -> "Notebook":
        """Raises ValueError for anything but a notebook of format 4."""
        nb = read(path)
        return cls(chapter_of(path), nb.metadata, nb.cells)

    def of_type(self, cell_type: str) -> list[tuple[str, NotebookNode]]:
        """The cells of one type, each with its place in words."""
        places = [(place(i, cell), cell) for i, cell in enumerate(self.cells, start=1)]
        return [(where, cell) for where, cell in places if cell.cell_type == cell_type]


def chapter_of(path: Path) -> str | None:
    """The chapter (03, 03b, A1) with which the name of a notebook begins; None for other notebooks."""
    found = re.match(rf"{CHAPTER}(?=_)", path.name)
    return found and found[0]


def image(png: str) -> Image.Image:
    """A picture that a notebook stores. Raises OSError or ValueError if it is none."""
    return Image.open(io.BytesIO(base64.b64decode(png)))


def place(number: int, cell: NotebookNode) -> str:
    """A cell's place in words: its number, counted from 1, and how it begins."""
    return f"cell {number} ({beginning(cell.source) or 'empty'})"


def read(path: Path) -> NotebookNode:
    """The notebook exactly as stored. Raises ValueError for anything but a notebook of format 4."""
    try:
        version = json.loads(path.read_text(encoding="utf-8"))["nbformat"]
        nb = nbformat.v4.reads(path.read_text(encoding="utf-8"))
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"{path.name} is not a notebook ({type(error).__name__}: {error})") from None
    if version != 4:
        raise ValueError(f"{path.name} has notebook format {version} instead of 4")
    for error in nbformat.validator.iter_validate(nb):
        if "'id' is a required property" not in error.message:
            raise ValueError(f"{path.name} is not a valid notebook: {error.message[:200]}")
    return nb


def write(nb: NotebookNode, path: Path) -> None:
    """Replace the file by the notebook, atomically, with the same bytes on every system."""
    with atomic_path(path) as part:
        part.write_text(nbformat.v4.writes(nb) + "\n", encoding="utf-8", newline="\n")


def clean(nb: NotebookNode) -> None:
    """Remove, in place, what varies from run to run or from machine to machine; keep outputs and counts."""
    kept = {key: value for key, value in nb.metadata.items() if key in KEPT}
    nb.metadata = nbformat.from_dict({**kept, "kernelspec": KERNEL, "language_info": LANGUAGE})
    nb.nbformat_minor = 5
    for number, cell in enumerate(nb.cells, start=1):
        cell.metadata = NotebookNode({k: v for k, v in cell.metadata.items() if k in KEPT_IN_CELLS})
        if not cell.get("id"):  # from place and text, so that a second run on the same file gives the same
            cell.id = hashlib.sha256(f"{number} {cell.source}".encode()).hexdigest()[:8]
        if cell.cell_type == "code":
            cell.outputs = _clean_outputs(cell.outputs)


def _clean_outputs(outputs: list[NotebookNode]) -> list[NotebookNode]:
    cleaned: list[NotebookNode] = []
    for output in outputs:
        before = cleaned[-1] if cleaned else NotebookNode()
        if output.output_type == "stream" and before.get("name") == output.name:
            before.text += output.text  # how a stream is split depends on timing
            continue
        if "data" in output:  # a widget's id belongs to one run; its text describes it
            output.data.pop(WIDGET_VIEW, None)
            output.metadata.pop(WIDGET_VIEW, None)
        if output.output_type == "error":  # the frames contain paths of this machine, and nbval ignores them
            output.traceback = [f"{output.ename}: {output.evalue}"]
        cleaned.append(output)
    return cleaned
