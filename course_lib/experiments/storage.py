"""Results of experiments, stored as JSON files."""

import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from course_lib.utils import machine
from course_lib.utils.files import atomic_path
from course_lib.utils.progress_bar import say, tracked

Planned = TypeVar("Planned")
Run = dict[str, Any]


def until(end: float, runs: Iterable[Planned], part: str) -> Iterator[Planned]:
    """The runs to make, one by one, until `time.monotonic()` has passed `end`; with a progress bar."""
    for run in tracked(list(runs), part, "run"):
        if time.monotonic() >= end:
            return
        yield run


def read_runs(path: Path, module: str, **settings: Any) -> dict[str, Any]:
    """The stored runs that this module makes; if there are none, the header of a new file."""
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    command = f"python -m {module}"
    return {"command": command, "machine": machine.describe("cpu"), **settings, "runs": {}}


def write_runs(path: Path, content: dict[str, Any]) -> None:
    """Write the runs by part, one run per line, so that the file can be read and diffed."""
    parts = []
    for name, runs in content["runs"].items():
        lines = ",\n".join(f"   {json.dumps(run, ensure_ascii=False)}" for run in runs)
        parts.append(f'  "{name}": [\n{lines}\n  ]')
    head = json.dumps({key: content[key] for key in content if key != "runs"}, indent=1)[:-2]
    with atomic_path(path) as temporary:
        temporary.write_text(head + ',\n "runs": {\n' + ",\n".join(parts) + "\n }\n}\n", encoding="utf-8")


def add_runs(path: Path, content: dict[str, Any], part: str, runs: Iterable[Run], *keys: str) -> None:
    """Store runs of a part and print them; they replace the stored ones that are equal in these keys.

    content: just read, so that what another process has stored in the meantime is kept.
    """
    new = {identity(run, keys): run for run in runs}
    old = [run for run in content["runs"].get(part, []) if identity(run, keys) not in new]
    content["runs"][part] = [*old, *new.values()]
    write_runs(path, content)
    for run in new.values():
        short = {name: value for name, value in run.items() if name not in ("losses", "confusion")}
        say(f"{part} {json.dumps(short)}")


def identity(run: Run, keys: Iterable[str]) -> str:
    """The values of these keys, as JSON: what makes a run the same as another one."""
    return json.dumps([run.get(key) for key in keys])
