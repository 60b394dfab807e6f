"""Short trainings of a small UNet on the embedded digits, with attention between pixels and without.

What is stored beside this file, and the models in `models/`, are remade by `cd tests && python -m
benchmarks.pixel_runs`.
"""

import base64
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from jaxtyping import Float
from safetensors.torch import load_file
from torch import Tensor, nn

from course_lib.diffusion import Diffusion
from course_lib.unet import UNet, UNetConfig
from course_lib.vision import to_floats

STORED = Path(__file__).with_name("pixel_runs.json")
MODELS = Path(__file__).with_name("models")
SIDE = 8  # of a digit


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One training. attention: whether the pixels of the coarsest level look at one another."""

    attention: bool
    seed: int = 0

    def config(self) -> UNetConfig:
        return UNetConfig(attention=self.attention)


@dataclass(frozen=True, kw_only=True)
class Run:
    """What came of a recipe.

    steps, losses: the mean squared error of the noise on the validation pictures, along the training.
    by_noise: the last of them in five parts, from little noise to much. seconds: of processor time.
    drawn: new digits, as `packed` bytes.
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
    """Pictures as bytes in base64."""
    pixels = ((drawn.clamp(-1, 1) + 1) * 127.5).round().to(torch.uint8)
    return base64.b64encode(pixels.numpy().tobytes()).decode("ascii")


def unpacked(text: str) -> Float[Tensor, "pictures channels height width"]:
    """The digits that `packed` wrote."""
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
    """The model with its stored weights, which have half precision on the disk, in evaluation mode."""
    weights = load_file(MODELS / f"{name}.safetensors")
    model.load_state_dict({key: tensor.float() for key, tensor in weights.items()})
    return model.eval().requires_grad_(False)
