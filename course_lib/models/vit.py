"""ViT: the Vision Transformer, which reads an image as a sequence of patches."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
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
POSITIONS: dict[str, Callable[[int, int, int], nn.Module]] = {  # of side, tokens before the patches, d_model
    "learned": lambda side, before, d_model: LearnedPositions(before + side * side, d_model),
    "sinusoidal 2d": SinusoidalPositions2d,
    "none": lambda side, before, d_model: NoPositions(),
}
NAMED: dict[str, Mapping[str, object]] = {
    "tokenizer": TOKENIZERS,
    "positions": POSITIONS,
    "pooling": POOLINGS,
}


@dataclass(frozen=True, kw_only=True)
class ViTConfig:
    """Configuration of a `ViT`; the defaults fit 32×32 color images.

    image_size, patch_size: side of the square image and of a square patch, in pixels.
    dropout: probability, on the embeddings and on the output of each sublayer. epsilon: of every LayerNorm.
    tokenizer: "patches"; "convolutions", whose patches overlap; or "convolutional stem", a small normalized
    convolutional network. positions: "learned", "sinusoidal 2d" or "none". pooling: what the head reads:
    "class token", "mean", "max" or "flatten".
    Raises ValueError if `patch_size` does not divide `image_size`, and for unknown names.
    """

    classes: int
    image_size: int = 32
    patch_size: int = 4
    channels: int = 3
    d_model: int = 128
    heads: int = 4
    layers: int = 4
    dropout: float = 0.0
    tokenizer: str = "patches"
    positions: str = "learned"
    pooling: str = "class token"
    epsilon: float = 1e-6

    def __post_init__(self) -> None:
        for field, known in NAMED.items():
            if getattr(self, field) not in known:
                raise ValueError(f"{field}={getattr(self, field)!r} is none of {sorted(known)}")
        if self.image_size % self.patch_size:
            raise ValueError(f"patch_size={self.patch_size} does not divide image_size={self.image_size}")


class ViT(nn.Module):
    """Vision Transformer for image classification: patch embedding, encoder blocks, pooling, a linear head.

    Source: Dosovitskiy et al. 2021, section 3.1; initialization as in the authors' code.
    """

    def __init__(self, config: ViTConfig):
        super().__init__()
        self.config = c = config
        side, own = c.image_size // c.patch_size, int(c.pooling == "class token")
        self.patches = TOKENIZERS[c.tokenizer](c.patch_size, c.channels, c.d_model)
        self.class_token = nn.Parameter(torch.zeros(c.d_model)) if own else None
        self.positions = POSITIONS[c.positions](side, own, c.d_model)
        self.dropout = nn.Dropout(c.dropout)
        sizes = (c.d_model, c.heads, 4 * c.d_model, c.dropout, "pre", F.gelu)
        self.blocks = nn.ModuleList(EncoderBlock(*sizes) for _ in range(c.layers))
        self.norm = nn.LayerNorm(c.d_model)
        self.head = nn.Linear(c.d_model * (side * side if c.pooling == "flatten" else 1), c.classes)
        for module in self.modules():
            if isinstance(module, nn.LayerNorm):
                module.eps = c.epsilon
        self.init_weights()

    def init_weights(self) -> None:
        """Xavier initialization of the blocks; a zero head, so that all classes start equally likely."""
        for name, p in [*self.blocks.named_parameters(), *self.head.named_parameters()]:
            if p.ndim == 2:
                nn.init.xavier_uniform_(p)
            elif name.endswith("bias"):
                nn.init.zeros_(p)
        nn.init.zeros_(self.head.weight)

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
        x = self.patches(images)
        if self.class_token is not None:
            x = torch.cat([self.class_token.expand(len(x), 1, -1), x], dim=1)
        return self.dropout(self.positions(x))

    def hidden_states(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Hidden state of each token after the final LayerNorm. Raises ValueError as `embedded` does."""
        x = self.embedded(images)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)

    def forward(self, images: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch classes"]:
        """Logits of the classes.

        With a class token, nothing else of the last block is read, so nothing else of it is computed.
        """
        if self.class_token is None:
            return self.head(POOLINGS[self.config.pooling](self.hidden_states(images)))
        x = self.embedded(images)
        for block in self.blocks[:-1]:
            x = block(x)
        return self.head(self.norm(self.blocks[-1](x, queries=1)[:, 0]))


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
