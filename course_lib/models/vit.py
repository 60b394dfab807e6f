"""ViT: the Vision Transformer, which reads an image as a sequence of patches."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.layers.blocks import EncoderBlock
from course_lib.layers.patches import (
    ConvolutionalPatches,
    ConvolutionalStem,
    Patches,
    SinusoidalPositions2d,
    resize_positions,
)
from course_lib.layers.positions import LearnedPositions, NoPositions
from course_lib.models.common import BlockConfig, init_weights
from course_lib.utils.ranges import check_names, check_whole_numbers

TOKENIZERS: dict[str, Callable[[int, int, int], nn.Module]] = {  # of patch_size, channels, d_model
    "patches": Patches,
    "convolutions": ConvolutionalPatches,
    "convolutional stem": ConvolutionalStem,
}
POOLINGS: dict[str, Callable[[Tensor], Tensor]] = {  # (batch, tokens, d_model) to (batch, features)
    "class token": lambda hidden: hidden[:, 0],
    "mean": lambda hidden: hidden.mean(dim=1),
    "max": lambda hidden: hidden.amax(dim=1),
    "flatten": lambda hidden: hidden.flatten(1),
}
GRIDS: dict[str, Callable[[int, int, int], nn.Module]] = {  # of side, tokens before the patches, d_model
    "learned": lambda side, before, d_model: LearnedPositions(before + side * side, d_model),
    "sinusoidal 2d": SinusoidalPositions2d,
    "none": lambda side, before, d_model: NoPositions(),
}


@dataclass(frozen=True, kw_only=True)
class ViTConfig(BlockConfig):
    """Configuration of a `ViT`; the defaults fit 32×32 color images.

    image_size, patch_size: side of the square image and of a square patch, in pixels.
    tokenizer: "patches"; "convolutions", whose patches overlap; or "convolutional stem", a small normalized
    convolutional network. positions: "learned", "sinusoidal 2d" or "none". pooling: what the head reads:
    "class token", "mean", "max" or "flatten". The other fields are those of `BlockConfig`.
    Raises ValueError if `patch_size` does not divide `image_size`, and for unknown names.

    >>> ViTConfig(classes=10, patch_size=5)
    Traceback (most recent call last):
    ValueError: patch_size=5 does not divide image_size=32
    """

    classes: int
    image_size: int = 32
    patch_size: int = 4
    channels: int = 3
    layers: int = 4
    activation: str = "exact gelu"
    tokenizer: str = "patches"
    positions: str = "learned"
    pooling: str = "class token"
    epsilon: float = 1e-6

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names(self, tokenizer=TOKENIZERS, positions=GRIDS, pooling=POOLINGS)
        check_whole_numbers(self, 1, "classes", "image_size", "patch_size", "channels")
        check_whole_numbers(self, 0, "layers")
        if self.image_size % self.patch_size:
            raise ValueError(f"patch_size={self.patch_size} does not divide image_size={self.image_size}")


class ViT(nn.Module):
    """Vision Transformer for image classification: patch embedding, encoder blocks, pooling, a linear head.

    Source: Dosovitskiy et al. 2021, section 3.1; initialization as in the authors' code.

    >>> model = ViT(ViTConfig(classes=10))
    >>> model(torch.randn(2, 3, 32, 32)).shape  # logits of two images
    torch.Size([2, 10])
    """

    def __init__(self, config: ViTConfig):
        super().__init__()
        self.config = c = config
        side, own = c.image_size // c.patch_size, int(c.pooling == "class token")
        self.patches = TOKENIZERS[c.tokenizer](c.patch_size, c.channels, c.d_model)
        self.class_token = nn.Parameter(torch.zeros(c.d_model)) if own else None
        self.positions = GRIDS[c.positions](side, own, c.d_model)
        self.dropout = nn.Dropout(c.dropout)
        self.blocks = nn.ModuleList(EncoderBlock(**c.block()) for _ in range(c.layers))
        self.norm = c.last_norm()
        self.head = nn.Linear(c.d_model * (side * side if c.pooling == "flatten" else 1), c.classes)
        self.blocks.apply(init_weights)
        for p in self.head.parameters():  # so that all classes start equally likely
            nn.init.zeros_(p)

    def embedded(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Input of the first block: class token (if any), then patches, with positions.

        Raises ValueError for images of another size or number of channels than the model's.
        """
        c = self.config
        if images.shape[1:] != (expected := (c.channels, c.image_size, c.image_size)):
            raise ValueError(
                f"images of (channels, height, width) = {tuple(images.shape[1:])}: the model takes {expected}"
            )
        x = self.patches(images)  # (batch, patches, d_model)
        if self.class_token is not None:
            first = self.class_token.expand(images.shape[0], 1, -1)  # (batch, 1, d_model)
            x = torch.cat([first, x], dim=1)  # (batch, tokens, d_model), tokens = 1 + patches
        return self.dropout(self.positions(x))

    def hidden_states(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Hidden state of each token after the final LayerNorm. Raises ValueError as `embedded` does."""
        x = self.embedded(images)  # (batch, tokens, d_model)
        for block in self.blocks:
            x = block(x)  # (batch, tokens, d_model)
        return self.norm(x)

    def forward(self, images: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch classes"]:
        """Logits of the classes."""
        features = POOLINGS[self.config.pooling](self.hidden_states(images))  # (batch, features)
        return self.head(features)  # (batch, classes)


def resized(model: ViT, image_size: int) -> ViT:
    """A copy of the model for another image size; learned position embeddings are interpolated.

    Raises ValueError for pooling="flatten", whose head depends on the number of patches.
    """
    c, weights = model.config, model.state_dict()
    if c.pooling == "flatten" and image_size != c.image_size:
        raise ValueError(
            f"a head on flattened patches of image_size={c.image_size} does not fit image_size={image_size}"
        )
    copy = ViT(replace(c, image_size=image_size))
    if c.positions == "learned":
        before = int(c.pooling == "class token")
        side = image_size // c.patch_size
        weights["positions.table"] = resize_positions(weights["positions.table"], side, before)
    copy.load_state_dict(weights)
    return copy.to(model.head.weight).train(model.training)
