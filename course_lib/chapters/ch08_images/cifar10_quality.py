"""Test accuracy of the CIFAR-10 presets, and what was tried before they were chosen.

    python -m course_lib.experiments cifar10_quality presets cifar10-cpu

makes what `python -m course_lib train vision --preset … --device cpu` trains, on one thread, in bf16, and
scores it on the test images; --again makes a run again that is already stored in
results/cifar10_quality.json. `stored()` reads the runs. CIFAR-10 must be in $COURSE_DATA or in the cache.

The file also has the tries: the preset "cifar10-cpu" with other settings, for so many seconds of processor
time, scored on the validation images, so that choosing among them left the test images untouched. They were
made once; "stem" lists the widths of their convolutions, each followed by batch normalization and ReLU,
with "pool" where the sides are halved.
"""

from typing import Any

from course_lib.chapters.ch08_images.cifar10 import Run, measured, preset
from course_lib.experiments import storage
from course_lib.experiments.runner import Experiment

PRESETS = (("cifar10-cpu", 0), ("cifar10-cpu-long", 0), ("cifar10-cpu", 1))  # names and seeds


def make(name: str, seed: int) -> dict[str, Any]:
    """The run of a preset."""
    return measured(*preset(name, seed=seed, precision="bf16"), name=name)


EXPERIMENT = Experiment(
    __file__,
    {"presets": lambda: [{"name": name, "seed": seed} for name, seed in PRESETS]},
    make,
    dict,
    keys=("name", "seed"),
)


def stored() -> dict[str, list[Any]]:
    """The stored runs: those of "presets" as `Run`, those of "tries" as they are in the file."""
    runs = EXPERIMENT.stored()
    return {**runs, "presets": [storage.typed(Run, run) for run in runs["presets"]]}


if __name__ == "__main__":
    EXPERIMENT.main(__doc__)
