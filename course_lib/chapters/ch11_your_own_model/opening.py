"""Open a project with your own data, or with the course's."""

import sys
import zipfile
from pathlib import Path
from typing import Any

from course_lib.chapters.ch11_your_own_model.images_project import ImagesProject
from course_lib.chapters.ch11_your_own_model.pairs_project import PairsProject
from course_lib.chapters.ch11_your_own_model.project import Project
from course_lib.chapters.ch11_your_own_model.text_project import TextProject
from course_lib.datasets.text_files import PathLike

KINDS: dict[str, type[Any]] = {"text": TextProject, "pairs": PairsProject, "images": ImagesProject}
DEFAULT = {"text": "grammar", "pairs": "grammar", "images": "digits"}


def open_project(
    path: PathLike | None = None, kind: str = "text", limit: int | None = None, max_words: int | None = None
) -> Project:
    """Open a project: a text, sentence pairs, or images in a folder per class.

    path: of your file or folder, or the name of a data set; None for a small set of the course.
    kind: "text", "pairs" or "images". limit: the most training examples (characters of a text) to use.
    max_words: of a sentence of pairs (20); longer ones are left out.
    Raises ValueError for another kind, and as `load_text`, `load_translation` and `load_images` do.

    >>> project = open_project(kind="images")
    >>> project.unit, project.option, project.unique  # patches of 2×2 pixels, 16 of them in each image
    ('% accuracy', 2, 20240)
    """
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is none of {', '.join(map(repr, KINDS))}")
    if limit is not None and limit < 1:
        raise ValueError(f"limit={limit} must be at least 1")
    if max_words is not None and kind != "pairs":
        raise ValueError(f"max_words={max_words} is for pairs, not for kind={kind!r}")
    more = {k: v for k, v in {"limit": limit, "max_words": max_words}.items() if v is not None}
    project: Project = KINDS[kind].load(DEFAULT[kind] if path is None else path, **more)
    project.choose()
    return project


def upload(folder: PathLike = "my_data") -> str:
    """Ask for a file on Colab, and return the path of what it holds; a .zip becomes a folder.

    Raises RuntimeError anywhere else: there, give the path itself.
    """
    if "google.colab" not in sys.modules:
        raise RuntimeError("upload() works on Colab only; here, give the path of your file or folder")
    from google.colab import files  # type: ignore[import-not-found]

    sent = list(files.upload())
    if not sent:
        raise ValueError("no file has been chosen")
    return unpacked(Path(sent[0]), Path(folder))


def unpacked(file: Path, folder: Path) -> str:
    """The path of the file; of the folder in it if it is a .zip, below any folders that hold only one."""
    if file.suffix.lower() != ".zip":
        return str(file)
    with zipfile.ZipFile(file) as archive:  # which keeps each name inside the folder
        archive.extractall(folder)
    inside = [one for one in folder.iterdir() if one.name[0] not in "._"]
    while len(inside) == 1 and inside[0].is_dir():
        folder = inside[0]
        inside = [one for one in folder.iterdir() if one.name[0] not in "._"]
    return str(folder)
