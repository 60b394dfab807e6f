"""Open a project with your own data, or with the course's."""

import sys
import tempfile
import zipfile
import zlib
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


def upload() -> str:
    """Ask for files on Colab, and return the path of what they hold, in a folder of this upload alone.

    One file: its path. A .zip: what is in it. Several files: the folder with them.
    Raises RuntimeError anywhere else: there, give the path itself. Raises ValueError for no file, and for a
    .zip that cannot be read.
    """
    if "google.colab" not in sys.modules:
        raise RuntimeError("upload() works on Colab only; here, give the path of your file or folder")
    from google.colab import files  # type: ignore[import-not-found]

    sent: dict[str, bytes] = files.upload()
    if not sent:
        raise ValueError("no file has been chosen: run the cell again")
    folder = Path(tempfile.mkdtemp()) / "my_data"  # a new one, so that nothing of an earlier upload is in it
    folder.mkdir()
    for name, content in sent.items():
        (folder / Path(name).name).write_bytes(content)
    first, *others = (folder / Path(name).name for name in sent)
    return str(folder) if others else unpacked(first, folder.parent / "unpacked" / first.stem)


def unpacked(file: Path, folder: Path) -> str:
    """The path of the file; if it is a .zip, of what is in it, below any folders that hold only one thing.

    Raises ValueError if the .zip is damaged or has a password.
    """
    if file.suffix.lower() != ".zip":
        return str(file)
    folder.mkdir(parents=True)  # a .zip of nothing makes none
    try:
        try:
            extract(file, folder, "utf-8")
        except UnicodeDecodeError:  # neither marked as UTF-8 nor in it: the old encoding of Windows
            extract(file, folder, "cp437")
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError) as error:
        raise ValueError(f"{file.name} cannot be unpacked: {error}") from None
    inside = visible(folder)
    if not inside:
        raise ValueError(f"{file.name} holds no files")
    while len(inside) == 1:
        folder = inside[0]
        inside = visible(folder) if folder.is_dir() else []
    return str(folder)


def extract(file: Path, folder: Path, encoding: str) -> None:
    """Unpack a .zip. encoding: of the names that are not marked as UTF-8; macOS marks none."""
    with zipfile.ZipFile(file, metadata_encoding=encoding) as archive:
        archive.extractall(folder)  # which keeps each name inside the folder


def visible(folder: Path) -> list[Path]:
    """What a folder holds, without hidden things and those that macOS adds."""
    return [one for one in folder.iterdir() if one.name[0] != "." and one.name != "__MACOSX"]
