"""Trainings of image classifiers on CIFAR-10 that are too long for a notebook, as they came out.

They are remade by `cd tests && python -m benchmarks.vision_runs`.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

STORED = Path(__file__).with_name("vision_runs.json")
MENDS: dict[str, tuple[str, ...]] = {  # what is mended in the lecture's model, one after the other
    "the lecture's model": (),
    "embedding, positions and class token trained": ("frozen_embedding", "frozen_class_token"),
    "true patches": ("scrambled_patches",),
    "softmax over the keys, scaled inside": ("softmax_over_queries", "scale_after_softmax"),
    "heads that see all, and are mixed": ("sliced_heads", "no_output_projection"),
    "LayerNorm before, no dropout in the test": ("post_norm", "never_eval"),
}
AUGMENTS = ("", "flip", "crop+flip", "crop+flip+randaugment", "crop+flip+mixup", "crop+flip+cutmix")


@dataclass(frozen=True, kw_only=True)
class Run:
    """One training, and what came of it.

    name: of the preset, of the last mend, or of the augmentations. validation, test: share of images right.
    losses: means of some steps each. evaluations: step and share of the validation images right.
    confusion: of the test images, rows true classes. seconds: of processor time on one thread, training only.
    images: how many were trained on; None: all.
    """

    name: str
    seed: int
    parameters: int
    steps: int
    batch: int
    seconds: float
    validation: float
    test: float
    losses: list[float]
    evaluations: list[tuple[int, float]]
    confusion: list[list[int]]
    images: int | None = None

    @property
    def images_per_second(self) -> float:
        return self.steps * self.batch / self.seconds


@cache
def stored() -> dict[str, list[Run]]:
    """The stored runs by part: "presets", "mends", "augmentations"; a part may be empty."""
    runs = json.loads(STORED.read_text(encoding="utf-8"))["runs"] if STORED.exists() else {}
    return {
        part: [Run(**{**run, "evaluations": [tuple(one) for one in run["evaluations"]]}) for run in some]
        for part, some in {"presets": [], "mends": [], "augmentations": [], **runs}.items()
    }
