"""A small picture of each notebook, from one of its stored figures: docs/images/thumb_03.png.

python -m course_lib.cli.thumbnails

Which figure is said in the chapter's chapter.toml; without such words, it is the first wide one.
"""

import base64
import io
from pathlib import Path

from nbformat import NotebookNode
from PIL import Image

from course_lib.cli import notebook_io
from course_lib.cli.environment import ROOT
from course_lib.utils.chapters import chapter_settings
from course_lib.utils.files import atomic_path

IMAGES = ROOT / "docs" / "images"
WIDTH, HEIGHT = 240, 160
MARGIN = 4
COLORS = 64
LANDSCAPE = (1.1, 2.4)  # width / height of figures that fill a thumbnail


def figures(nb: NotebookNode) -> list[tuple[str, Image.Image]]:
    """The code and the picture of each cell that stores one; the widgets' only if there are no others."""
    found = []
    for cell in nb.cells:
        for output in cell.get("outputs", []):
            stored = output.get("data", {}).get("image/png")
            if stored:
                found.append((cell.source, Image.open(io.BytesIO(base64.b64decode(stored))).convert("RGB")))
    return [one for one in found if "explorer(" not in one[0]] or found


def chosen(number: str, nb: NotebookNode) -> Image.Image:
    """The figure for a notebook's thumbnail. Raises ValueError if the notebook stores none."""
    stored = figures(nb)
    if not stored:
        raise ValueError(f"notebook {number} stores no figure")
    words, (least, most) = chapter_settings("thumbnail").get(number), LANDSCAPE
    named = [picture for code, picture in stored if words and words in code]
    wide = [picture for _, picture in stored if least <= picture.width / picture.height <= most]
    return (named or wide or [stored[0][1]])[0]


def thumbnail(picture: Image.Image) -> Image.Image:
    """The picture on white, as large as it fits, in few colors."""
    small = picture.copy()
    small.thumbnail((WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN), Image.Resampling.LANCZOS)
    sheet = Image.new("RGB", (WIDTH, HEIGHT), "white")
    sheet.paste(small, ((WIDTH - small.width) // 2, (HEIGHT - small.height) // 2))
    return sheet.quantize(COLORS)


def pictured() -> list[Path]:
    """The notebooks with a thumbnail: all chapters, and the appendices A1 and A3."""
    folder = ROOT / "notebooks"
    return sorted([*folder.glob("[0-9][0-9]*_*.ipynb"), *folder.glob("A[13]_*.ipynb")])


def main(folder: Path = IMAGES, only: str | None = None) -> list[Path]:
    """Write all thumbnails, or that of one chapter; returns where they are."""
    written = []
    for path in pictured():
        number = path.name.partition("_")[0]
        if only not in (None, number):
            continue
        with atomic_path(folder / f"thumb_{number}.png") as part:
            thumbnail(chosen(number, notebook_io.read(path))).save(part, format="png", optimize=True)
        written.append(folder / f"thumb_{number}.png")
    return written


if __name__ == "__main__":
    print(*main(), sep="\n")
