"""The Transformer that reads an image as a sequence of patches: ViT."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.blocks import EncoderBlock
from course_lib.patches import ConvolutionalPatches, Patches, SinusoidalPositions2d, resize_positions
from course_lib.positions import LearnedPositions, NoPositions

TOKENIZERS: dict[str, Callable[[int, int, int], nn.Module]] = {  # of patch_size, channels, d_model
    "patches": Patches,
    "convolutions": ConvolutionalPatches,
}
POOLINGS: dict[str, Callable[[Tensor], Tensor]] = {  # (batch, tokens, d_model) to (batch, features)
    "class token": lambda states: states[:, 0],
    "mean": lambda states: states.mean(dim=1),
    "max": lambda states: states.amax(dim=1),
    "flatten": lambda states: states.flatten(1),
}
POSITIONS: dict[str, Callable[[int, int, int], nn.Module]] = {  # of side, tokens before the patches, d_model
    "learned": lambda side, before, d_model: LearnedPositions(before + side * side, d_model),
    "sinusoidal 2d": SinusoidalPositions2d,
    "none": lambda side, before, d_model: NoPositions(),
}
NAMED = {"tokenizer": TOKENIZERS, "positions": POSITIONS, "pooling": POOLINGS}


@dataclass(frozen=True, kw_only=True)
class ViTConfig:
    """Sizes of an image classifier, and its form; the defaults fit 32×32 colour images.

    image_size, patch_size: side of the square image and of a square patch, in pixels.
    dropout: probability, on the embeddings and on what each sublayer adds. epsilon: of every LayerNorm.
    tokenizer: "patches", each cut out by itself, or "convolutions", which look beyond their edges.
    positions: "learned", "sinusoidal 2d" or "none". pooling: what the last layer reads of the tokens, "class
    token", "mean", "max" or "flatten"; only the first has a class token.
    Raises ValueError where `patch_size` does not divide `image_size`, and for unknown names.
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
    """Says of which class an image is: patches as tokens, encoder blocks, one linear layer.

    Source: Dosovitskiy et al. 2021, section 3.1, and the authors' program for the first weights.
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
        self.initialise()

    def initialise(self) -> None:
        """Xavier's uniform spread in the blocks; a head that first holds all classes equally likely."""
        for name, p in [*self.blocks.named_parameters(), *self.head.named_parameters()]:
            if p.ndim == 2:
                nn.init.xavier_uniform_(p)
            elif name.endswith("bias"):
                nn.init.zeros_(p)
        nn.init.zeros_(self.head.weight)

    def embedded(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch tokens d_model"]:
        """What the first block reads: the class token, if there is one, then the patches, with positions.

        Raises ValueError for images of other channels or another size than the model's.
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

    def states(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch tokens d_model"]:
        """What the last LayerNorm leaves of each token. Raises ValueError as `embedded` does."""
        x = self.embedded(images)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)

    def forward(self, images: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch classes"]:
        """How well each class fits each image: logits."""
        if self.class_token is None:
            return self.head(POOLINGS[self.config.pooling](self.states(images)))
        x = self.embedded(images)
        for block in self.blocks[:-1]:
            x = block(x)
        return self.head(self.norm(first_token(self.blocks[-1], x)))


def first_token(
    block: EncoderBlock, x: Float[Tensor, "batch tokens d_model"]
) -> Float[Tensor, "batch d_model"]:
    """What a block with pre-norm makes of the class token, `block(x)[:, 0]`, without making the other tokens.

    After the last block nobody reads them: in it they are looked at, as keys and values, and no more.
    """
    attend, feed = block.residuals
    token = attend(x[:, :1], lambda y: block.attention(y, attend.norm(x)))
    return feed(token, block.feed_forward)[:, 0]


def resized(model: ViT, image_size: int) -> ViT:
    """A copy for images of another size, in more or fewer patches as large; learned positions interpolated.

    Raises ValueError where its head reads flattened patches and would need other weights.
    """
    c, weights = model.config, model.state_dict()
    if c.pooling == "flatten" and image_size != c.image_size:
        raise ValueError(f"a head on flattened patches of image_size={c.image_size} cannot read {image_size}")
    copy = ViT(replace(c, image_size=image_size))
    if c.positions == "learned":
        before = int(c.pooling == "class token")
        side = image_size // c.patch_size
        weights["positions.table"] = resize_positions(weights["positions.table"], side, before)
    copy.load_state_dict(weights)
    return copy.to(model.head.weight).train(model.training)
