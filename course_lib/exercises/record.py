"""Which exercises are passed: remembered in this session, and in one folder of the user's own.

The folder holds an empty file for each exercise that was passed, named after it. Nothing in it could be
damaged, several notebooks may write at once, and deleting a file makes its exercise open again. It is
`~/.course_lib/passed`, or `$COURSE_PROGRESS`; where that cannot be written, or is set to nothing, the session
alone remembers. Nothing is sent anywhere.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from course_lib.commands.doctor import on_colab

PASSED, OPEN = "■", "□"

_session: set[str] = set()


def folder() -> Path | None:
    """Where passed exercises are remembered; None where only the session remembers."""
    chosen = os.environ.get("COURSE_PROGRESS")
    with suppress(OSError, RuntimeError):  # it cannot be written, or this user has no home
        place = Path(chosen) if chosen is not None else Path.home() / ".course_lib" / "passed"
        if chosen != "":
            place.mkdir(parents=True, exist_ok=True)
            return place if os.access(place, os.W_OK) else None
    return None


def remember(exercise_id: str) -> None:
    """Note that an exercise was passed."""
    _session.add(exercise_id)
    if place := folder():
        with suppress(OSError):  # a full disk is no reason to stop a lesson
            (place / exercise_id).touch()


def passed() -> set[str]:
    """The ids of the exercises that were passed, in this session or an earlier one."""
    place = folder()
    return _session | ({path.name for path in place.iterdir()} if place else set())


def page(exercises: Iterable[str]) -> str:
    """The lines of the progress page: one for each chapter, with its passed and its open exercises."""
    chapters: dict[str, list[str]] = {}
    for one in exercises:
        chapters.setdefault(one.partition(".")[0], []).append(one)
    done = passed()
    known = [one for ids in chapters.values() for one in ids]
    lines = [f"{len(done.intersection(known))} of {len(known)} exercises passed"]
    for chapter, ids in chapters.items():
        marks = "".join(PASSED if one in done else OPEN for one in ids)
        to_do = [one for one in ids if one not in done]
        lines.append(
            f"chapter {chapter:3} {marks:12} {len(ids) - len(to_do):2} of {len(ids):2}"
            + (f"   next: {to_do[0]}" if to_do else "   all passed")
        )
    return "\n".join(f"≈ {line}" for line in [*lines, kept()])  # each line is of this machine


def kept() -> str:
    """Where the progress is kept, and how long."""
    place = folder()
    if place is None:
        return "remembered until this notebook's kernel ends"
    with suppress(ValueError):  # a folder that is not below the user's home is named in full
        place = Path("~") / place.relative_to(Path.home())
    if on_colab():
        return f"remembered in {place.as_posix()} until Colab takes this machine back"
    return f"remembered in {place.as_posix()}; to do an exercise again, delete the file of its name there"
