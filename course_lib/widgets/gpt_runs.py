"""Short trainings of a small GPT on Shakespeare: what has changed since GPT-2, added in turn.

Those that are stored beside this file are remade by `cd tests && python -m benchmarks.gpt_runs`.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from course_lib.gpt2 import SINCE_GPT2

STORED = Path(__file__).with_name("gpt_runs.json")


@dataclass(frozen=True)
class Change:
    """One difference from the line before. model: of the GPTConfig. training: of the TrainConfig."""

    name: str
    model: dict[str, Any]
    training: dict[str, Any]


CHANGES = (
    Change("GPT-2's form, AdamW", {}, {"optimizer": "adamw", "lr": 0.003, "precision": "fp32"}),
    *(
        Change(name, {field: SINCE_GPT2[field]}, {})
        for name, field in (
            ("rotary positions", "positions"),
            ("queries and keys normalised", "normalise"),
            ("squared ReLU", "activation"),
            ("outputs begin at zero", "zero_outputs"),
        )
    ),
    Change("Muon for the matrices", {}, {"optimizer": "muon", "lr": 0.01}),
    Change("products in bf16", {}, {"precision": "bf16"}),
)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One training. changes: how many of CHANGES, in their order, 1 or more. seconds: how long.

    All runs take turns in one process, a second or so each, so that what disturbs one disturbs all.
    """

    changes: int
    seconds: float
    seed: int = 0

    def settings(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Of the GPTConfig, and of the TrainConfig."""
        model, training = {}, {}
        for change in CHANGES[: self.changes]:
            model, training = {**model, **change.model}, {**training, **change.training}
        return model, training


@dataclass(frozen=True, kw_only=True)
class Run:
    """What came of a recipe. loss: on the whole validation text, in nats for each character.

    steps: of 32 windows of 64 characters. seconds: that they took.
    """

    recipe: Recipe
    loss: float
    steps: int
    seconds: float

    @property
    def name(self) -> str:
        """What the last of its changes is."""
        return CHANGES[self.recipe.changes - 1].name


@cache
def stored() -> list[Run]:
    """The stored runs with CHANGES added in turn."""
    runs = json.loads(STORED.read_text(encoding="utf-8"))["runs"]["changes"]
    return [Run(**{**run, "recipe": Recipe(**run["recipe"])}) for run in runs]


def beside_nanogpt() -> dict[str, dict[str, Any]]:
    """A stored run of nanoGPT's setting for a CPU, and ours that took turns with it; one seed."""
    runs = json.loads(STORED.read_text(encoding="utf-8"))["runs"]
    return {"nanoGPT": runs["nanogpt"][0], "ours": runs["beside"][0]}
