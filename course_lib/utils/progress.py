"""Progress: which exercises are passed, kept in this session and in a folder of the user.

The folder holds one empty file per passed exercise, named after its id. Empty files cannot be corrupted,
several notebooks can write at once, and deleting a file reopens its exercise. The folder is
`~/.course_lib/passed` or `$COURSE_PROGRESS`. If it is not writable, or the variable is set but empty, the
progress lasts only for the session. Nothing is sent anywhere.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from course_lib.utils.device import on_colab

PASSED, OPEN = "■", "□"

_session: set[str] = set()


def folder() -> Path | None:
    """The folder of passed exercises; None if only the session keeps them."""
    chosen = os.environ.get("COURSE_PROGRESS")
    with suppress(OSError, RuntimeError):  # not writable, or the user has no home folder
        place = Path(chosen) if chosen is not None else Path.home() / ".course_lib" / "passed"
        if chosen != "":
            place.mkdir(parents=True, exist_ok=True)
            return place if os.access(place, os.W_OK) else None
    return None


def remember(exercise_id: str) -> None:
    """Save that an exercise was passed."""
    _session.add(exercise_id)
    if place := folder():
        with suppress(OSError):  # a full disk must not interrupt the lesson
            (place / exercise_id).touch()


def passed() -> set[str]:
    """Ids of the exercises passed in this session or an earlier one."""
    place = folder()
    return _session | ({path.name for path in place.iterdir()} if place else set())


def summary(exercises: Iterable[str]) -> str:
    """Progress report: one line per chapter, with its passed and open exercises."""
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
    return "\n".join(
        f"≈ {line}" for line in [*lines, location()]
    )  # ≈ marks output that differs between machines


def location() -> str:
    """Where the progress is saved, and for how long."""
    place = folder()
    if place is None:
        return "kept until this notebook's kernel stops"
    with suppress(ValueError):  # a folder outside the home folder is shown in full
        place = Path("~") / place.relative_to(Path.home())
    if on_colab():
        return f"saved in {place.as_posix()} until Colab reclaims this machine"
    return f"saved in {place.as_posix()}; to redo an exercise, delete the file with its name"
