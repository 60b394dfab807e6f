"""Keys of the chapters, with which the names of notebooks and exercises begin, and their settings."""

import tomllib
from pathlib import Path
from typing import Any

CHAPTER = r"(?:\d\d[a-z]?|A\d)"  # a regular expression: 03, 03b for going deeper, A1 for an appendix
SETTINGS = "chapter.toml"


def chapter_settings(name: str) -> dict[str, Any]:
    """What the files chapter.toml in the folders of `course_lib/chapters` say under a name, by chapter.

    >>> chapter_settings("button")["05b"]
    'norms'
    """
    files = (Path(__file__).parents[1] / "chapters").glob(f"ch*/{SETTINGS}")
    read = (tomllib.loads(file.read_text(encoding="utf-8")).items() for file in files)
    return dict(sorted((key, about[name]) for tables in read for key, about in tables if name in about))
