"""Progress: what a student has passed and answered, kept in this session and in one small JSON file.

The file `progress.json` maps a key, such as the id of an exercise, to an entry, `{"state": "passed",
"answer": "def …"}`. It is replaced as a whole, after what other notebooks wrote has been read. It lies in
`~/.course_lib`, on Colab in Google Drive where that is mounted, or in the folder `$COURSE_PROGRESS`. Where it
cannot be written, or if the variable is set but empty, the progress lasts only for the session. Nothing is
sent anywhere.
"""

import json
import os
import reprlib
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from course_lib.utils.device import on_colab
from course_lib.utils.files import atomic_path

PASSED, OPEN = "■", "□"
DONE = ("passed", "right")  # states that stay
FILE = "progress.json"
DRIVE = Path("/content/drive/MyDrive")  # where Colab mounts it
LONGEST = 20_000  # characters of an answer that is kept

Entries: TypeAlias = dict[str, dict[str, str]]

_session: Entries = {}
_said: set[str] = set()


def file() -> Path | None:
    """Where the progress is saved, whether it exists or not; None if only the session keeps it."""
    chosen = os.environ.get("COURSE_PROGRESS")
    if chosen is not None:
        return Path(chosen) / FILE if chosen else None
    if on_colab() and os.path.isdir(DRIVE):  # False as well where Drive has been disconnected
        return DRIVE / "course_lib" / FILE
    with suppress(RuntimeError):  # the user has no home folder
        return Path.home() / ".course_lib" / FILE
    return None


def remember(key: str, state: str = "passed", answer: str = "") -> None:
    """Save an answer and its state: "passed" (exercise), "right", "wrong" (question), "written", "predicted".

    What was passed or right stays so. Never raises: if the file cannot be written, one line says so, once.
    """
    _keep({key: {"state": state, "answer": answer[:LONGEST]}})


def _keep(new: Entries) -> None:
    _session.update(_merged(new, _session))
    place = file()
    if place is None:
        return
    try:
        before = _read(place)
        after = _merged(_session, before)
        if after != before:
            _write(place, after)
    except OSError as error:
        _say(f"Your progress cannot be saved in {place.parent}: {error.strerror or error}.")
    except ValueError:
        _say(f"Your progress cannot be saved: {place} is damaged. Rename or delete that file.")


def entries() -> Entries:
    """All that is saved, by key, from this session and earlier ones."""
    place = file()
    if place is not None:
        with suppress(OSError, ValueError):
            return _merged(_session, _read(place))
    return dict(_session)


def passed() -> set[str]:
    """Ids of the exercises passed in this session or an earlier one."""
    return {key for key, entry in entries().items() if entry["state"] == "passed"}


class ProgressError(ValueError):
    """A mistake in a call of `progress`: a notebook shows its one line, without a traceback."""

    def _render_traceback_(self) -> list[str]:  # IPython's hook
        return [str(self)]


def export(path: str | os.PathLike[str]) -> tuple[Path, int]:
    """Write all progress to a file, or into a folder, for another computer.

    What an exported file already holds is kept, so that an export in place of a `load` loses nothing.
    Returns the file's path, and how many entries it has.
    Raises ProgressError if it cannot be written, or holds something else.
    """
    target, own = _named("export", path), file()
    if not os.path.isdir(target.parent):
        raise ProgressError(f"export: there is no folder {target.parent}")
    if os.path.exists(target) and not os.path.isfile(target):  # a device would be replaced by a file
        raise ProgressError(f"export: {target} is not a file; choose another name")
    found = dict(_session)
    for place in filter(None, (own, target)):
        try:
            found = _merged(found, _read(place))
        except OSError as error:
            raise ProgressError(f"export: {place} cannot be read: {error.strerror or error}") from None
        except ValueError:
            why = "is damaged; rename or delete it" if place == own else "is another file; choose a new name"
            raise ProgressError(f"export: {place} {why}") from None
    try:
        _write(target, found)
    except OSError as error:
        raise ProgressError(f"export: {target} cannot be written: {error.strerror or error}") from None
    return target, len(found)


def load(path: str | os.PathLike[str]) -> int:
    """Add the progress in an exported file to the present one; returns how many entries it has.

    Raises ProgressError if the file cannot be read, or is no such file.
    """
    place = _named("load", path)
    try:
        found = _parsed(place.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ProgressError(f"load: {place} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise ProgressError(f"load: {place} is not a file that progress(export=…) wrote") from None
    _keep(_merged(entries(), found))
    return len(found)


def _named(option: str, path: str | os.PathLike[str]) -> Path:
    """The file that a user means, who may have written `~` or the name of a folder."""
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        wrong = reprlib.repr(path)
        raise ProgressError(
            f'{option}: {wrong} is not the name of a file; write progress({option}="my.json")'
        )
    try:
        place = Path(text).expanduser()
        return place / FILE if place.is_dir() else place
    except (OSError, RuntimeError) as error:  # too long; another user's home
        raise ProgressError(f"{option}: {reprlib.repr(text)}: {error}") from None


def summary(exercises: Iterable[str]) -> str:
    """Progress report: one line per chapter with its passed and open exercises, and one for other answers."""
    chapters: dict[str, list[str]] = {}
    for one in exercises:
        chapters.setdefault(one.partition(".")[0], []).append(one)
    done, known = passed(), [one for ids in chapters.values() for one in ids]
    lines = [f"{len(done.intersection(known))} of {len(known)} exercises passed"]
    for chapter, ids in chapters.items():
        marks = "".join(PASSED if one in done else OPEN for one in ids)
        to_do = [one for one in ids if one not in done]
        lines.append(
            f"chapter {chapter:3} {marks:12} {len(ids) - len(to_do):2} of {len(ids):2}"
            + (f"   next: {to_do[0]}" if to_do else "   all passed")
        )
    lines += filter(None, [answered(), location()])
    return "\n".join(f"≈ {line}" for line in lines)  # ≈ marks output that differs between machines


def answered() -> str:
    """How many questions were answered, and how many right, in one line; empty if there are none."""
    count = Counter(entry["state"] for entry in entries().values())
    asked, right = count["right"] + count["wrong"], count["right"]
    parts = [f"closed-book questions: {right} of {asked} answered right" if asked else ""]
    parts += [
        f"{word}: {count[state]}" if count[state] else ""
        for word, state in (("predictions", "predicted"), ("written answers", "written"))
    ]
    return "; ".join(filter(None, parts))


def location() -> str:
    """Where the progress is saved, and for how long."""
    place = file()
    if place is None or not _can_write(place.parent):
        return "kept until this notebook's kernel stops"
    if on_colab() and not place.is_relative_to(DRIVE):
        return 'kept until Colab takes this machine back; to download it: progress(export="progress.json")'
    with suppress(ValueError, RuntimeError):  # a folder outside the home folder is shown in full
        place = Path("~") / place.relative_to(Path.home())
    return f"saved in {place.as_posix()}"


def _can_write(folder: Path) -> bool:
    """Whether the folder can be written to, or made."""
    existing = next((one for one in (folder, *folder.parents) if os.path.exists(one)), folder)
    return os.path.isdir(existing) and os.access(existing, os.W_OK)


def _merged(new: Entries, old: Entries) -> Entries:
    """Both, the new ones first; but what was passed or right stays so."""
    kept = {key for key, entry in old.items() if entry["state"] in DONE}
    return old | {key: entry for key, entry in new.items() if entry["state"] in DONE or key not in kept}


def _read(place: Path) -> Entries:
    """What a file holds; if there is none, what an earlier version of the course saved beside it."""
    try:
        return _parsed(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        earlier = place.parent / "passed"  # one empty file per passed exercise
        names = [path.name for path in earlier.iterdir()] if earlier.is_dir() else []
        return {name: {"state": "passed", "answer": ""} for name in sorted(names) if not name.startswith(".")}


def _parsed(text: str) -> Entries:
    """The entries in a text. Raises ValueError if it holds none."""
    found = json.loads(text)
    keys = {"state", "answer"}
    if not isinstance(found, dict) or not all(
        isinstance(entry, dict) and set(entry) == keys and all(isinstance(one, str) for one in entry.values())
        for entry in found.values()
    ):
        raise ValueError("no progress")
    return found


def _write(place: Path, found: Entries) -> None:
    with atomic_path(place) as part:
        part.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _say(text: str) -> None:
    """Print a line, once in a session."""
    if text not in _said:
        _said.add(text)
        print(f"{text} It lasts until this kernel stops.")
