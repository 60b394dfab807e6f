"""The stored runs of a small UNet on the embedded digits, and the models of two widgets.

cd tests && python -m benchmarks.pixel_runs digits --seed 0
cd tests && python -m benchmarks.pixel_runs digits --seed 0 --without
cd tests && python -m benchmarks.pixel_runs mirrors

digits: one training, about three quarters of a minute on one core; --without leaves its attention out. The
result goes into course_lib/widgets/pixel_runs.json, in place of one with the same recipe; the model with
attention and seed 0 goes into course_lib/widgets/models/, too.
mirrors: the network that removes noise from symmetrical pictures, some seconds.
"""

import argparse
import json
import time
from dataclasses import asdict
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from benchmarks import machine, report
from course_lib.datasets import load_images
from course_lib.diffusion import Diffusion, DiffusionObjective, noise_loss, sample
from course_lib.files import atomic_path
from course_lib.schedules import TrainConfig
from course_lib.training import train
from course_lib.unet import UNet
from course_lib.vision import ImageBatches, to_floats
from course_lib.widgets.mirrors import train_mirrors
from course_lib.widgets.pixel_runs import MODELS, SIDE, STORED, Recipe, packed

STEPS, BATCH, EVALUATIONS, PARTS, DRAWN = 1500, 64, 10, 5, 32


def settings(recipe: Recipe) -> TrainConfig:
    return TrainConfig(
        steps=STEPS, lr=3e-3, warmup=50, schedule="cosine", weight_decay=0.0, average=0.99, precision="fp32",
        evaluate_every=STEPS // EVALUATIONS, seed=recipe.seed,
    )  # fmt: skip


def steps_of(pictures: Tensor, diffusion: Diffusion) -> Tensor:
    """1, 2, … steps of noise, in turn."""
    return torch.arange(len(pictures)) % diffusion.steps + 1


def run(recipe: Recipe) -> tuple[dict[str, Any], UNet]:
    """Train, measure, draw."""
    torch.manual_seed(recipe.seed)
    model, images = UNet(recipe.config()), load_images("digits")
    diffusion = Diffusion(model.config.steps)
    clean = to_floats(images.validation.pixels).repeat(4, 1, 1, 1)
    t = steps_of(clean, diffusion)

    def losses() -> Tensor:
        return noise_loss(model, diffusion, clean, t)

    objective, batches = DiffusionObjective(model, diffusion), ImageBatches(images.train, BATCH, recipe.seed)
    began = time.process_time()
    history = train(
        objective, batches, settings(recipe), evaluate=lambda: {"loss": losses().mean().item()},
        device="cpu", progress=False,
    )  # fmt: skip
    model.eval()
    seconds, found, part = time.process_time() - began, losses(), (t - 1) * PARTS // diffusion.steps
    return {
        "recipe": asdict(recipe),
        "steps": [one["step"] for one in history.evaluations],
        "losses": [round(one["loss"], 5) for one in history.evaluations],
        "by_noise": [round(found[part == i].mean().item(), 5) for i in range(PARTS)],
        "seconds": round(seconds, 1),
        "drawn": packed(sample(model, diffusion, (DRAWN, 1, SIDE, SIDE), seed=recipe.seed)),
    }, model


def store(result: dict[str, Any]) -> None:
    """Put a result among the stored ones, in place of one with the same recipe."""
    runs = json.loads(STORED.read_text(encoding="utf-8"))["runs"]["digits"] if STORED.exists() else []
    runs = [one for one in runs if one["recipe"] != result["recipe"]] + [result]
    runs.sort(key=lambda one: (not one["recipe"]["attention"], one["recipe"]["seed"]))
    command = "cd tests && python -m benchmarks.pixel_runs"
    content = {"command": command, "machine": machine.describe("cpu"), "runs": {"digits": runs}}
    report.write_runs(STORED, content)


def save(model: nn.Module, name: str) -> None:
    """Write the weights in half precision."""
    with atomic_path(MODELS / f"{name}.safetensors") as room:
        save_file({key: t.half().contiguous() for key, t in model.state_dict().items()}, room)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=("digits", "mirrors"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--without", action="store_true", help="no attention")
    given = parser.parse_args()
    if given.task == "mirrors":
        save(train_mirrors(attention=True, steps=1500), "mirrors")
        return
    recipe = Recipe(attention=not given.without, seed=given.seed)
    result, model = run(recipe)
    store(result)
    if recipe == Recipe(attention=True):
        save(model, "digits")
    print({key: value for key, value in result.items() if key != "drawn"})


if __name__ == "__main__":
    main()
