"""A small diffusion UNet on the digits, with and without self-attention between pixels.

    python -m course_lib.experiments.pixel_attention --seed 0
    python -m course_lib.experiments.pixel_attention --seed 0 --without

One training run takes about 45 seconds on one core; --without leaves attention out. The run replaces the
stored one with the same recipe in results/pixel_attention.json; `stored()` reads them. The model with
attention and seed 0 is also saved in models/, in half precision; `trained()` loads it.
"""

import argparse
import base64
import copy
import json
import time
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from safetensors.torch import load_file
from torch import Tensor, nn

from course_lib.datasets import load_images
from course_lib.experiments import storage
from course_lib.models.unet import UNet, UNetConfig
from course_lib.tasks.diffusion import Diffusion, DiffusionLoss, noise_loss, sample
from course_lib.tasks.image_classification import ImageBatches, to_floats
from course_lib.training.config import TrainConfig
from course_lib.training.model_files import save_model
from course_lib.training.trainer import train
from course_lib.utils import machine

STORED = Path(__file__).parent / "results" / "pixel_attention.json"
MODELS = Path(__file__).parent / "models"
SIDE = 8  # of a digit


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One training run. attention: whether the coarsest level has self-attention between its pixels."""

    attention: bool
    seed: int = 0

    def config(self) -> UNetConfig:
        return UNetConfig(attention=self.attention)


@dataclass(frozen=True, kw_only=True)
class Run:
    """The result of a recipe.

    steps, losses: mean squared error of the predicted noise on the validation images, during training.
    by_noise: the final error in five bins, from little noise to much. seconds: processor time.
    drawn: generated digits, encoded by `packed`.
    """

    recipe: Recipe
    steps: list[int]
    losses: list[float]
    by_noise: list[float]
    seconds: float
    drawn: str

    @property
    def pictures(self) -> Float[Tensor, "pictures channels height width"]:
        return unpacked(self.drawn)


def packed(drawn: Float[Tensor, "pictures channels height width"]) -> str:
    """Images as bytes in base64."""
    pixels = ((drawn.clamp(-1, 1) + 1) * 127.5).round().to(torch.uint8)
    return base64.b64encode(pixels.numpy().tobytes()).decode("ascii")


def unpacked(text: str) -> Float[Tensor, "pictures channels height width"]:
    """The images that `packed` encoded."""
    pixels = torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8)
    return to_floats(pixels.view(-1, 1, SIDE, SIDE))


@cache
def stored() -> list[Run]:
    """The stored runs."""
    runs = json.loads(STORED.read_text(encoding="utf-8"))["runs"]["digits"]
    return [Run(**{**run, "recipe": Recipe(**run["recipe"])}) for run in runs]


@cache
def trained() -> tuple[UNet, Diffusion]:
    """The stored model with attention, in evaluation mode."""
    model = filled(UNet(Recipe(attention=True).config()), "digits")
    return model, Diffusion(model.config.steps)


def filled(model: nn.Module, name: str) -> nn.Module:
    """The model with its stored weights (half precision on disk), in evaluation mode."""
    weights = load_file(MODELS / f"{name}.safetensors")
    model.load_state_dict({key: tensor.float() for key, tensor in weights.items()})
    return model.eval().requires_grad_(False)


STEPS, BATCH, EVALUATIONS, PARTS, DRAWN = 1500, 64, 10, 5, 32


def settings(recipe: Recipe) -> TrainConfig:
    return TrainConfig(
        steps=STEPS, lr=3e-3, warmup=50, schedule="cosine", weight_decay=0.0, average=0.99, precision="fp32",
        evaluate_every=STEPS // EVALUATIONS, seed=recipe.seed,
    )  # fmt: skip


def steps_of(pictures: Tensor, diffusion: Diffusion) -> Tensor:
    """Noise levels 1, 2, …, cycling over the images."""
    return torch.arange(len(pictures)) % diffusion.steps + 1


def run(recipe: Recipe) -> tuple[dict[str, Any], UNet]:
    """Train, evaluate, generate."""
    torch.manual_seed(recipe.seed)
    model, images = UNet(recipe.config()), load_images("digits")
    diffusion = Diffusion(model.config.steps)
    clean = to_floats(images.validation.pixels).repeat(4, 1, 1, 1)
    t = steps_of(clean, diffusion)

    def losses() -> Tensor:
        return noise_loss(model, diffusion, clean, t)

    objective, batches = DiffusionLoss(model, diffusion), ImageBatches(images.train, BATCH, recipe.seed)
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
    """Store a result, replacing one with the same recipe."""
    runs = json.loads(STORED.read_text(encoding="utf-8"))["runs"]["digits"] if STORED.exists() else []
    runs = [one for one in runs if one["recipe"] != result["recipe"]] + [result]
    runs.sort(key=lambda one: (not one["recipe"]["attention"], one["recipe"]["seed"]))
    command = "python -m course_lib.experiments.pixel_attention"
    content = {"command": command, "machine": machine.describe("cpu"), "runs": {"digits": runs}}
    storage.write_runs(STORED, content)


def save(model: nn.Module, name: str) -> None:
    """Save the weights in half precision."""
    save_model(copy.deepcopy(model).half(), MODELS / f"{name}.safetensors")


def main() -> None:
    """Train one recipe and store the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--without", action="store_true", help="no attention")
    given = parser.parse_args()
    recipe = Recipe(attention=not given.without, seed=given.seed)
    result, model = run(recipe)
    store(result)
    if recipe == Recipe(attention=True):
        save(model, "digits")
    print({key: value for key, value in result.items() if key != "drawn"})


if __name__ == "__main__":
    main()
