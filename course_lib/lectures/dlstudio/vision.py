"""DLStudio's `visTransformer`, rebuilt, with a switch for each of its oddities."""

from dataclasses import dataclass, fields

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.lectures.dlstudio.blocks import BasicEncoder, DLStudioConfig
from course_lib.lectures.dlstudio.oddities import Oddities, Switches, oddity
from course_lib.patches import unfold_patches

Images = Float[Tensor, "batch channels height width"]


@dataclass(frozen=True, kw_only=True)
class VisionOddities(Switches):
    """The switches. With all of them off the model is a Vision Transformer.

    `VisionOddities.lecture()` is the model behind the lecture's confusion matrix, `without` mends it piece by
    piece. Source: DLStudio 2.5.2, module Transformers; Kak slides 98, 101 and 102.
    """

    scrambled_patches: bool = oddity(
        "V1", "unfolded and reshaped without a permute: a patch is three squares of one colour, side by side"
    )
    frozen_embedding: bool = oddity(
        "V2", "what embeds the patches, and their positions, reach no optimizer and stay random"
    )
    frozen_class_token: bool = oddity("V2", "the class token is a plain tensor, and stays random")
    softmax_over_queries: bool = oddity(
        "V3", "the softmax runs over the queries: columns of weights sum to 1, rows sum to anything"
    )
    scale_after_softmax: bool = oddity(
        "V3", "1/√d_head comes after the softmax: it shrinks the output, and large scores still saturate"
    )
    sliced_heads: bool = oddity("V3", "head h sees slice h of the vectors, and nothing of the other slices")
    no_output_projection: bool = oddity("V3", "what the heads found is never mixed by attention itself")
    post_norm: bool = oddity("V3", "a LayerNorm after each residual sum, and no warm-up that it would need")
    never_eval: bool = oddity("V3", "the dropout before the last layers is in force in the test, too")

    @classmethod
    def lecture(cls) -> "VisionOddities":
        """All of them."""
        return cls(**{one.name: True for one in fields(cls)})

    @property
    def of_attention(self) -> Oddities:
        """Those that are inside of attention; in the blocks nothing is ever dropped."""
        names = ("softmax_over_queries", "scale_after_softmax", "sliced_heads", "no_output_projection")
        return Oddities(no_dropout=True, **{name: getattr(self, name) for name in names})


@dataclass(frozen=True, kw_only=True)
class VisionConfig:
    """Sizes; the defaults are those of the lecture's script.

    Raises ValueError where `patch_size` does not divide `image_size`, or `heads` not `d_model`.
    Source: DLStudio 2.5.2, image_recog_with_visTransformer.py.
    """

    classes: int = 10
    image_size: int = 32
    patch_size: int = 8
    d_model: int = 256
    heads: int = 4
    layers: int = 8

    def __post_init__(self) -> None:
        if self.image_size % self.patch_size:
            raise ValueError(f"patch_size={self.patch_size} does not divide image_size={self.image_size}")
        if self.d_model % self.heads:
            raise ValueError(f"heads={self.heads} does not divide d_model={self.d_model}")

    @property
    def patches(self) -> int:
        return (self.image_size // self.patch_size) ** 2


def scrambled_patches(images: Images, patch_size: int) -> Float[Tensor, "batch patches pixels"]:
    """What the lecture takes for patches: squares that are cut out rightly, and then put together wrongly.

    First come all red squares, then all green ones, then all blue ones; three that follow one another are
    one "patch". Source: Kak slide 98, and slide 102, line (3).
    """
    squares = images.unfold(2, patch_size, patch_size).unfold(3, patch_size, patch_size)
    return squares.reshape(len(images), -1, images.shape[1] * patch_size**2)


class PatchEmbeddingGenerator(nn.Module):
    """Patches as vectors, with what their places add. Source: Kak slide 102."""

    def __init__(self, config: VisionConfig, oddities: VisionOddities):
        super().__init__()
        self.patch_size, self.scrambled = config.patch_size, oddities.scrambled_patches
        self.embed = nn.Linear(3 * config.patch_size**2, config.d_model)
        self.positions = nn.Parameter(torch.randn(config.patches, config.d_model))
        self.requires_grad_(not oddities.frozen_embedding)

    def forward(self, images: Images) -> Float[Tensor, "batch patches d_model"]:
        cut = scrambled_patches if self.scrambled else unfold_patches
        return self.embed(cut(images, self.patch_size)) + self.positions


class VisTransformer(nn.Module):
    """The lecture's image classifier. Source: DLStudio 2.5.2; Kak slide 101."""

    def __init__(self, config: VisionConfig, oddities: VisionOddities = VisionOddities()):  # noqa: B008
        super().__init__()
        self.config, self.oddities = config, oddities
        d, place = config.d_model, "post" if oddities.post_norm else "pre"
        self.embed_patches = PatchEmbeddingGenerator(config, oddities)
        self.class_token = nn.Parameter(torch.randn(d), requires_grad=not oddities.frozen_class_token)
        sizes = DLStudioConfig(d_model=d, heads=config.heads, tokens=config.patches + 1, head_bias=False)
        blocks = (BasicEncoder(sizes, oddities.of_attention, place) for _ in range(config.layers))
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.Identity() if oddities.post_norm else nn.LayerNorm(d)
        self.dropout = nn.Dropout(0.1)
        self.fc = nn.Sequential(nn.Linear(d, 512), nn.ReLU(), nn.Linear(512, config.classes))

    def forward(self, images: Images) -> Float[Tensor, "batch classes"]:
        """Logits, from what the blocks leave of the class token."""
        x = self.embed_patches(images)
        x = torch.cat([self.class_token.expand(len(x), 1, -1), x], dim=1)
        for block in self.blocks:
            x = block(x)
        return self.fc(self.dropout(self.norm(x)[:, 0]))

    def train(self, mode: bool = True) -> "VisTransformer":
        """Training or evaluation mode; where `eval` is never called, the dropout stays in force."""
        super().train(mode)
        self.dropout.train(mode or self.oddities.never_eval)
        return self
