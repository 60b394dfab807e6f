"""The stored runs of image classifiers on CIFAR-10; $COURSE_DATA or the cache must hold it.

cd tests && python -m benchmarks.vision_runs presets cifar10-cpu
cd tests && python -m benchmarks.vision_runs mends --steps 937
cd tests && python -m benchmarks.vision_runs augmentations --steps 1000

presets: as `python -m course_lib train vision --preset … --device cpu` trains them.
mends: the lecture's visTransformer with its settings for so many batches of 48, its faults mended in turn.
augmentations: the preset "cifar10-cpu" for so many steps on few images, with other augmentations.
Everything runs on one thread, and is timed in its processor time. Results go into
course_lib/widgets/vision_runs.json, in place of those with the same name and seed.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import torch
from torch import nn

from benchmarks import report
from course_lib.commands import train, train_settings, train_vision
from course_lib.datasets import ImageData, load_images
from course_lib.lectures.dlstudio import VisionConfig, VisionOddities, VisTransformer
from course_lib.schedules import TrainConfig
from course_lib.training import train as train_model
from course_lib.vision import ImageBatches, ImageObjective, accuracy, confusion_matrix, predict
from course_lib.widgets.vision_runs import AUGMENTS, MENDS, STORED

FEW = 5000  # training images, so that each is seen often: against that augmentation is meant to help
POINTS = 60  # of a stored curve of losses
LECTURE = {"optimizer": "adamw", "lr": 1e-4, "schedule": "constant", "warmup": 0, "weight_decay": 0.0}


@cache
def images() -> ImageData:
    return load_images("cifar10")


def learn(
    data: ImageData, objective: nn.Module, batches: ImageBatches, config: TrainConfig, **about: Any
) -> dict[str, Any]:
    """Train, and say what came of it; the time of evaluations is not counted."""
    model, aside = objective.model, 0.0

    def evaluate() -> dict[str, float]:
        nonlocal aside
        begin = time.process_time()
        scores = {"accuracy": accuracy(model, data.validation)}
        aside += time.process_time() - begin
        return scores

    begin = time.process_time()
    history = train_model(objective, batches, config, evaluate=evaluate, device="cpu", progress=False)
    seconds = time.process_time() - begin - aside
    counts = confusion_matrix(data.test.labels, predict(model, data.test.pixels).argmax(-1), 10)
    return {
        **about,
        "seed": config.seed,
        "parameters": sum(p.numel() for p in model.parameters()),
        "steps": history.steps,
        "batch": batches.batch,
        "seconds": round(seconds, 1),
        "validation": round(history.evaluations[-1]["accuracy"], 4),
        "test": round(counts.diagonal().sum().item() / len(data.test), 4),
        "losses": [round(loss, 3) for loss in curve(history.losses)],
        "evaluations": [[one["step"], round(one["accuracy"], 4)] for one in history.evaluations],
        "confusion": counts.tolist(),
    }


def curve(losses: Sequence[float]) -> Iterator[float]:
    """The means of equal parts, at most POINTS."""
    width = -(-len(losses) // POINTS)
    for i in range(0, len(losses), width):
        part = losses[i : i + width]
        yield sum(part) / len(part)


def preset(name: str, *flags: object) -> tuple[ImageData, nn.Module, ImageBatches, TrainConfig]:
    """What `train vision --preset name` trains, and on what, with these flags."""
    parser = argparse.ArgumentParser()
    train.add_arguments(parser)
    args = parser.parse_args(["vision", "--preset", name, "--device", "cpu", *map(str, flags)])
    train_settings.settle(args)
    return train_vision.prepare(args)


def presets(names: Sequence[str], seed: int) -> None:
    """Each named preset as it stands."""
    for name in names:
        add("presets", learn(*preset(name, "--seed", seed), name=name))


def mends(steps: int, seed: int) -> None:
    """The lecture's model, and then with one thing after the other mended."""
    oddities = VisionOddities.lecture()
    for name, mended in MENDS.items():
        oddities = oddities.without(*mended)
        torch.manual_seed(seed)
        objective = ImageObjective(VisTransformer(VisionConfig(), oddities))
        batches = ImageBatches(images().train, 48, seed)
        config = TrainConfig(steps=steps, clip=1e9, precision="fp32", seed=seed, **LECTURE)
        add("mends", learn(images(), objective, batches, config, name=name))


def augmentations(steps: int, seed: int) -> None:
    """The preset for a CPU on few images, with each kind of augmentation."""
    for augment in AUGMENTS:
        flags = ("--augment", augment, "--steps", steps, "--seed", seed)
        data, objective, batches, config = preset("cifar10-cpu", *flags)
        few = ImageBatches(data.train[:FEW], batches.batch, seed, batches.augment)
        run = learn(data, objective, few, config, name=augment or "none", images=FEW)
        add("augmentations", run)


def add(part: str, run: dict[str, Any]) -> None:
    """Store one run, in place of one with the same name and seed."""
    content = read()
    key = (run["name"], run["seed"])
    others = [other for other in content["runs"].get(part, []) if (other["name"], other["seed"]) != key]
    content["runs"][part] = [*others, run]
    report.write_runs(STORED, content)
    short = {name: value for name, value in run.items() if name not in ("losses", "confusion")}
    print(part, json.dumps(short), flush=True)


def read() -> dict[str, Any]:
    return report.read_runs(STORED, "benchmarks.vision_runs")


def main() -> None:
    """Make the runs of the part that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("part", choices=["presets", "mends", "augmentations"])
    parser.add_argument("names", nargs="*", help="presets")
    parser.add_argument("--steps", type=int, default=937)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.part == "presets":
        presets(arguments.names, arguments.seed)
    else:
        {"mends": mends, "augmentations": augmentations}[arguments.part](arguments.steps, arguments.seed)


if __name__ == "__main__":
    main()
