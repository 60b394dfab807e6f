"""A small diffusion UNet on the digits, with and without self-attention between pixels.

    python -m course_lib.experiments pixel_attention --seed 0
    python -m course_lib.experiments pixel_attention --seed 0 --without

make the missing runs of results/pixel_attention.json, about 45 seconds each on one core; --without leaves
attention out. `stored()` reads them. The model with attention and seed 0 is also saved in models/, in half
precision; `trained()` loads it.
"""

import base64
import copy
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.datasets import load_images
from course_lib.experiments.runner import Experiment
from course_lib.models.unet import UNet, UNetConfig
from course_lib.tasks.diffusion import Diffusion, DiffusionLoss, noise_loss, sample
from course_lib.tasks.image_classification import ImageBatches, to_floats
from course_lib.training.config import TrainConfig
from course_lib.training.model_files import save_model
from course_lib.training.trainer import train
from course_lib.widgets.stored import load

MODELS = Path(__file__).parent / "models"
SIDE = 8  # of a digit


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One training run. attention: whether the coarsest level has self-attention between its pixels."""

    attention: bool
    seed: int = 0


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
def trained() -> tuple[UNet, Diffusion]:
    """The stored model with attention, in evaluation mode."""
    model = load(lambda: UNet(UNetConfig(attention=True)), MODELS / "digits.safetensors")
    return model, Diffusion(model.config.steps)


STEPS, BATCH, EVALUATIONS, PARTS, DRAWN = 1500, 64, 10, 5, 32


def make(recipe: Recipe) -> Run:
    """Train, evaluate, generate; the model of the first recipe is saved."""
    torch.manual_seed(recipe.seed)
    model, images = UNet(UNetConfig(attention=recipe.attention)), load_images("digits")
    diffusion = Diffusion(model.config.steps)
    clean = to_floats(images.validation.pixels).repeat(4, 1, 1, 1)
    t = torch.arange(len(clean)) % diffusion.steps + 1  # noise levels 1, 2, …, again and again

    def losses() -> Tensor:
        return noise_loss(model, diffusion, clean, t)

    objective, batches = DiffusionLoss(model, diffusion), ImageBatches(images.train, BATCH, recipe.seed)
    config = TrainConfig(
        steps=STEPS, lr=3e-3, warmup=50, schedule="cosine", weight_decay=0.0, average=0.99, precision="fp32",
        evaluate_every=STEPS // EVALUATIONS, seed=recipe.seed,
    )  # fmt: skip
    began = time.process_time()
    history = train(
        objective, batches, config, evaluate=lambda: {"loss": losses().mean().item()}, device="cpu",
        progress=False,
    )  # fmt: skip
    model.eval()
    seconds, found, part = time.process_time() - began, losses(), (t - 1) * PARTS // diffusion.steps
    drawn = sample(model, diffusion, (DRAWN, 1, SIDE, SIDE), seed=recipe.seed)
    if recipe == Recipe(attention=True):
        save(model, "digits")
    return Run(
        recipe=recipe,
        steps=[int(one["step"]) for one in history.evaluations],
        losses=[round(one["loss"], 5) for one in history.evaluations],
        by_noise=[round(found[part == i].mean().item(), 5) for i in range(PARTS)],
        seconds=round(seconds, 1),
        drawn=packed(drawn),
    )


def save(model: nn.Module, name: str) -> None:
    """Save the weights in half precision."""
    save_model(copy.deepcopy(model).half(), MODELS / f"{name}.safetensors")


EXPERIMENT = Experiment(
    __file__,
    {
        "digits": lambda: [
            Recipe(attention=with_it, seed=seed) for with_it in (True, False) for seed in range(3)
        ]
    },
    make,
    Run,
    flags={"without": lambda recipe, given: recipe.attention != given},
)


def stored() -> list[Run]:
    """The stored runs."""
    return EXPERIMENT.part("digits")


if __name__ == "__main__":
    EXPERIMENT.main(__doc__)
