"""Results of experiments as JSON files, and the dataclasses that their runs are read into."""

import json
from dataclasses import asdict, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from course_lib.utils.files import atomic_path

Run = dict[str, Any]


def results_of(module: str | Path) -> Path:
    """The folder with the results of the experiment in this file."""
    return Path(module).parent / "results"


def read(path: Path) -> dict[str, Any]:
    """The content of a file of results. Raises FileNotFoundError if there is none."""
    return json.loads(path.read_text(encoding="utf-8"))


def write(path: Path, content: dict[str, Any]) -> None:
    """Write the runs by part, one run per line, so that the file can be read and diffed."""
    parts = []
    for name, runs in content["runs"].items():
        lines = ",\n".join(f"   {json.dumps(run, ensure_ascii=False)}" for run in runs)
        parts.append(f'  "{name}": [\n{lines}\n  ]')
    head = json.dumps({key: content[key] for key in content if key != "runs"}, indent=1)[:-2]
    path.parent.mkdir(exist_ok=True)
    with atomic_path(path) as temporary:
        temporary.write_text(head + ',\n "runs": {\n' + ",\n".join(parts) + "\n }\n}\n", encoding="utf-8")


def write_scores(path: Path, scores: dict[str, Any]) -> None:
    """Write the scores of a stored model, and print them."""
    text = json.dumps(scores, indent=1)
    with atomic_path(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
    print(text)


def plain(value: Any) -> Any:
    """A dataclass, or anything that JSON can hold, as it is read back from a file."""
    whole = is_dataclass(value) and not isinstance(value, type)
    return json.loads(json.dumps(asdict(value) if whole else value))


def stored(path: Path, kind: Any) -> dict[str, list[Any]]:
    """The stored runs by part, each as this type. They are read again when the file has changed."""
    state = path.stat()
    return _stored(path, kind, state.st_ino, state.st_mtime_ns, state.st_size)


@cache
def _stored(path: Path, kind: Any, *state: int) -> dict[str, list[Any]]:
    return {part: [typed(kind, run) for run in runs] for part, runs in read(path)["runs"].items()}


def typed(kind: Any, value: Any) -> Any:
    """A value read from JSON as its type: dataclasses, tuples, sets and dictionaries, and what they contain.

    Raises TypeError for a field that the dataclass does not have, and for one that is missing.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{name: typed(hints.get(name), part) for name, part in value.items()})
    if NoneType in parts:  # X | None
        return None if value is None else typed(parts[0], value)
    if origin is tuple and parts[-1] is not ...:
        return tuple(typed(part, one) for part, one in zip(parts, value, strict=True))
    if origin in (tuple, list, frozenset):
        return origin(typed(parts[0], one) for one in value)
    if origin is dict:
        return {parts[0](name): typed(parts[1], part) for name, part in value.items()}
    return value
