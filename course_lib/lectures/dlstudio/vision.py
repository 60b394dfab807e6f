"""DLStudio's `visTransformer`, reimplemented with a switch for each of its deviations."""

from dataclasses import dataclass, fields

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.layers.multi_head_attention import head_width
from course_lib.layers.patches import unfold_patches
from course_lib.lectures.dlstudio.blocks import BasicEncoder, DLStudioConfig
from course_lib.lectures.dlstudio.deviations import Deviations, Switches, deviation
from course_lib.utils.ranges import check_whole_numbers

Images = Float[Tensor, "batch channels height width"]


@dataclass(frozen=True, kw_only=True)
class VisionDeviations(Switches):
    """Deviations of a vision Transformer. With all of them off, it is a standard ViT.

    `VisionDeviations.lecture()` is the model behind the lecture's confusion matrix; `without` fixes
    deviations one by one. Source: DLStudio 2.5.2, module Transformers; Kak slides 98, 101 and 102.
    """

    scrambled_patches: bool = deviation(
        "V1",
        "unfold and reshape without a permute: a patch is three squares of one color channel, concatenated",
    )
    frozen_embedding: bool = deviation(
        "V2", "patch embedding and positions are in no optimizer and stay random"
    )
    frozen_class_token: bool = deviation("V2", "the class token is a plain tensor and stays random")
    softmax_over_queries: bool = deviation(
        "V3", "the softmax runs over the queries: columns of weights sum to 1, rows do not"
    )
    scale_after_softmax: bool = deviation(
        "V3", "1/√d_head comes after the softmax: it shrinks the output, and large scores still saturate"
    )
    sliced_heads: bool = deviation("V3", "head h reads only slice h of the vectors")
    no_output_projection: bool = deviation("V3", "no output projection W_O mixes the heads")
    post_norm: bool = deviation(
        "V3", "post-norm: a LayerNorm after each residual addition, without the warm-up that it needs"
    )
    never_eval: bool = deviation("V3", "the dropout before the last layers is also active in testing")

    @classmethod
    def lecture(cls) -> "VisionDeviations":
        """The lecture's model: all deviations on."""
        return cls(**{one.name: True for one in fields(cls)})

    @property
    def of_attention(self) -> Deviations:
        """The deviations inside the attention layers; the blocks have no dropout."""
        names = ("softmax_over_queries", "scale_after_softmax", "sliced_heads", "no_output_projection")
        return Deviations(no_dropout=True, **{name: getattr(self, name) for name in names})


@dataclass(frozen=True, kw_only=True)
class VisionConfig:
    """Sizes; the defaults are those of the lecture's script.

    Raises ValueError for a value outside its range.
    Source: DLStudio 2.5.2, image_recog_with_visTransformer.py.
    """

    classes: int = 10
    image_size: int = 32
    patch_size: int = 8
    d_model: int = 256
    heads: int = 4
    layers: int = 8

    def __post_init__(self) -> None:
        check_whole_numbers(self, 1, "classes", "image_size", "patch_size", "d_model", "heads")
        check_whole_numbers(self, 0, "layers")
        if self.image_size % self.patch_size:
            raise ValueError(f"patch_size={self.patch_size} does not divide image_size={self.image_size}")
        head_width(self.d_model, self.heads)

    @property
    def patches(self) -> int:
        return (self.image_size // self.patch_size) ** 2


def scrambled_patches(images: Images, patch_size: int) -> Float[Tensor, "batch patches pixels"]:
    """The lecture's "patches": squares that are cut out correctly but grouped incorrectly.

    All red squares come first, then all green ones, then all blue ones; three consecutive ones form one
    "patch". Source: Kak slide 98, and slide 102, line (3).
    """
    squares = images.unfold(2, patch_size, patch_size).unfold(3, patch_size, patch_size)
    return squares.reshape(len(images), -1, images.shape[1] * patch_size**2)


class PatchEmbeddingGenerator(nn.Module):
    """Patch embedding plus learned positions. Source: Kak slide 102."""

    def __init__(self, config: VisionConfig, deviations: VisionDeviations):
        super().__init__()
        self.patch_size, self.scrambled = config.patch_size, deviations.scrambled_patches
        self.embed = nn.Linear(3 * config.patch_size**2, config.d_model)
        self.positions = nn.Parameter(torch.randn(config.patches, config.d_model))
        self.requires_grad_(not deviations.frozen_embedding)

    def forward(self, images: Images) -> Float[Tensor, "batch patches d_model"]:
        cut = scrambled_patches if self.scrambled else unfold_patches
        return self.embed(cut(images, self.patch_size)) + self.positions


class VisTransformer(nn.Module):
    """The lecture's image classifier. Source: DLStudio 2.5.2; Kak slide 101."""

    def __init__(self, config: VisionConfig, deviations: VisionDeviations = VisionDeviations()):  # noqa: B008
        super().__init__()
        self.config, self.deviations = config, deviations
        d, place = config.d_model, "post" if deviations.post_norm else "pre"
        self.embed_patches = PatchEmbeddingGenerator(config, deviations)
        self.class_token = nn.Parameter(torch.randn(d), requires_grad=not deviations.frozen_class_token)
        sizes = DLStudioConfig(d_model=d, heads=config.heads, tokens=config.patches + 1, head_bias=False)
        blocks = (BasicEncoder(sizes, deviations.of_attention, place) for _ in range(config.layers))
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.Identity() if deviations.post_norm else nn.LayerNorm(d)
        self.dropout = nn.Dropout(0.1)
        self.fc = nn.Sequential(nn.Linear(d, 512), nn.ReLU(), nn.Linear(512, config.classes))

    def forward(self, images: Images) -> Float[Tensor, "batch classes"]:
        """Logits, computed from the final hidden state of the class token."""
        x = self.embed_patches(images)
        x = torch.cat([self.class_token.expand(len(x), 1, -1), x], dim=1)
        for block in self.blocks:
            x = block(x)
        return self.fc(self.dropout(self.norm(x)[:, 0]))

    def train(self, mode: bool = True) -> "VisTransformer":
        """Set training or evaluation mode; with `never_eval`, the dropout stays active."""
        super().train(mode)
        self.dropout.train(mode or self.deviations.never_eval)
        return self
