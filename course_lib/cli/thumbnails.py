"""A small picture of each notebook, from one of its stored figures: docs/images/thumb_03.png.

python -m course_lib.cli.thumbnails

Which figure is said in the chapter's chapter.toml; without such words, it is the first wide one.
"""

from pathlib import Path

from nbformat import NotebookNode
from PIL import Image, ImageOps

from course_lib.cli import notebook_io
from course_lib.cli.environment import ROOT
from course_lib.cli.lint import REFERENCE
from course_lib.utils.chapters import chapter_settings
from course_lib.utils.files import atomic_path

IMAGES = ROOT / "docs" / "images"
WIDTH, HEIGHT = 240, 160
MARGIN = 4
COLORS = 64
LANDSCAPE = (1.1, 2.4)  # width / height of figures that fill a thumbnail


def figures(nb: NotebookNode) -> list[tuple[str, Image.Image]]:
    """The code and the picture of each cell that stores one; the widgets' only if there are no others."""
    outputs = [
        (cell.source, output.get("data", {})) for cell in nb.cells for output in cell.get("outputs", [])
    ]
    found = [(code, notebook_io.image(data["image/png"])) for code, data in outputs if "image/png" in data]
    return [one for one in found if "explorer(" not in one[0]] or found


def chosen(number: str, nb: NotebookNode) -> Image.Image:
    """The figure for a notebook's thumbnail. Raises ValueError if the notebook stores none."""
    stored = figures(nb)
    if not stored:
        raise ValueError(f"notebook {number} stores no figure")
    words, (least, most) = chapter_settings("thumbnail").get(number), LANDSCAPE
    named = [picture for code, picture in stored if words and words in code]
    wide = [picture for _, picture in stored if least <= picture.width / picture.height <= most]
    return (named or wide or [stored[0][1]])[0].convert("RGB")


def thumbnail(picture: Image.Image) -> Image.Image:
    """The picture on white, as large as it fits, in few colors."""
    inner = (WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN)
    fitted = ImageOps.pad(picture, inner, method=Image.Resampling.LANCZOS, color="white")
    return ImageOps.expand(fitted, MARGIN, "white").quantize(COLORS)


def main(folder: Path = IMAGES, only: str = "*") -> list[Path]:
    """Write the thumbnails of the notebooks with exercises, or of one; returns where they are."""
    written = []
    for path in sorted((ROOT / "notebooks").glob(f"{only}_*.ipynb")):
        number = notebook_io.chapter_of(path)
        if number is None or number in REFERENCE:
            continue
        written.append(folder / f"thumb_{number}.png")
        with atomic_path(written[-1]) as part:
            thumbnail(chosen(number, notebook_io.read(path))).save(part, format="png", optimize=True)
    return written


if __name__ == "__main__":
    print(*main(), sep="\n")
