"""Run records: the settings and the result of a training run, in `run.json`."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from course_lib.training.config import TrainConfig
from course_lib.utils.files import atomic_path

FILE, FORMAT = "run.json", 3  # the format of records and checkpoints
PARTS = (FILE, "checkpoints", "model")
CONFUSION = "confusion.csv"  # of a classifier


class OtherRun(ValueError):
    """An intact folder or checkpoint, but of another run, model, or format."""


def settings_of(objective: nn.Module, config: TrainConfig, **more: Any) -> dict[str, Any]:
    """The settings that determine the result: of the model, the loss and the optimizer, plus `more`.

    Without `checkpoint_every`, which does not affect the result.
    """
    model: Any = getattr(objective.model, "config", None)
    dataclass = is_dataclass(model) and not isinstance(model, type)
    found = {**more, **(asdict(model) if dataclass else {})}
    found |= {k: getattr(objective, k) for k in ("label_smoothing",) if hasattr(objective, k)}
    found |= {key: value for key, value in asdict(config).items() if key != "checkpoint_every"}
    return json.loads(json.dumps(found, default=str))


def check_same(place: Path | str, stored: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Raise OtherRun if any wanted setting differs; the error names both values of each."""
    different = [
        f"{key}={stored.get(key, 'absent')!r} there and {value!r} here"
        for key, value in wanted.items()
        if stored.get(key, "absent") != value
    ]
    if different:
        raise OtherRun(f"{place} holds a run with other settings: {'; '.join(different)}")


def checksum(parts: Iterable[str | Tensor | list]) -> str:
    """Checksum of data: the first 16 digits of a SHA-256. For strings, tensors, and lists with a `repr`."""
    total = hashlib.sha256()
    for part in parts:
        total.update(
            part.cpu().contiguous().numpy().tobytes() if isinstance(part, Tensor) else repr(part).encode()
        )
    return total.hexdigest()[:16]


def read(folder: Path) -> dict[str, Any]:
    """The record in this folder. Raises OtherRun if it is missing, damaged, or in another format."""
    path = folder / FILE
    if not path.exists():
        raise OtherRun(f"{folder} holds a run without {FILE}, by an earlier version of the course")
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise OtherRun(f"{path} is damaged: {error}") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT or "settings" not in record:
        raise OtherRun(f"{path} is not a record in format {FORMAT}, which this version reads")
    return record


def begin(folder: Path, settings: dict[str, Any], fresh: bool = False) -> dict[str, Any]:
    """Start or resume the run in this folder; returns its record.

    fresh: start over; the files of the earlier run move to a subfolder `old-1`, `old-2`, …
    Raises OtherRun if the folder holds checkpoints or a model of a run with other settings.
    """
    if fresh:
        set_aside(folder)
    elif any((folder / name).exists() and any((folder / name).iterdir()) for name in PARTS[1:]):
        record = read(folder)
        check_same(folder, record["settings"], {**dict.fromkeys(record["settings"], "absent"), **settings})
        return record
    record = {"format": FORMAT, "started": now(), "settings": settings}
    write(folder, record)
    return record


def set_aside(folder: Path) -> None:
    """Move the run in this folder, if there is one, to a subfolder."""
    there = [folder / name for name in (*PARTS, CONFUSION) if (folder / name).exists()]
    if there:
        old = next(path for n in range(1, 10**6) if not (path := folder / f"old-{n}").exists())
        old.mkdir()
        for path in there:
            path.rename(old / path.name)
        print(f"The earlier run is now in {old}.")


def finish(folder: Path, result: str) -> None:
    """Record that the run has finished, with its result."""
    write(folder, {**read(folder), "finished": now(), "result": result})


def write(folder: Path, record: dict[str, Any]) -> None:
    with atomic_path(folder / FILE) as room:
        room.write_text(json.dumps(record, indent=2, ensure_ascii=False), encoding="utf-8")


def now() -> str:
    return datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
