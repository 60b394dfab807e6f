"""Guided tour of the model explorer: eight steps from a sentence to the next token."""

import tomllib
from pathlib import Path
from typing import TypedDict


class Step(TypedDict):
    """A step of the tour; model_tour.toml says what its fields mean."""

    title: str
    opens: str
    marks: str
    text: str
    offline: str


def _steps() -> tuple[Step, ...]:
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return tuple(Step(**{**step, "offline": step.get("offline", step["text"])}) for step in table["steps"])


TOUR = _steps()
