"""The notebooks in a folder of handed-in work, and whose they are."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class HandedIn:
    """A notebook that a student has handed in."""

    student: str
    path: Path


def find(folder: Path) -> list[HandedIn]:
    """All notebooks: `folder/NAME.ipynb`, and any depth below `folder/NAME/`; NAME is the student's.

    Hidden folders are left out, and folders that are links are not followed: a student may have made them.
    """
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        inside = Path(place).relative_to(folder).parts
        found += [
            HandedIn(inside[0] if inside else Path(name).stem, Path(place, name))
            for name in sorted(files)
            if name.endswith(".ipynb") and not name.startswith(".")
        ]
    return found
