"""UNet: a convolutional denoiser with skip connections and optional pixel attention."""

from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.layers.pixel_attention import PixelAttention
from course_lib.layers.positions import sinusoidal
from course_lib.layers.tables import ComputedTable
from course_lib.utils.ranges import check_axes, check_names, check_whole_numbers


@dataclass(frozen=True, kw_only=True)
class UNetConfig:
    """Configuration of a `UNet`.

    channels: of an image. widths: channels of the levels, fine to coarse; each level halves both sides.
    steps: the largest noise step. attention: whether the bottleneck has self-attention between its pixels.
    heads: of this attention. groups: of each GroupNorm; must divide all widths.
    Raises ValueError for a value outside its range.
    """

    channels: int = 1
    widths: tuple[int, ...] = (16, 32)
    steps: int = 100
    attention: bool = True
    heads: int = 4
    groups: int = 8

    def __post_init__(self) -> None:
        check_names(self, attention=(True, False))
        check_whole_numbers(self, 1, "channels", "steps", "heads", "groups")
        if not isinstance(self.widths, tuple) or not self.widths:
            raise ValueError(f"widths={self.widths!r} is not a tuple with a width for each level")
        for width in self.widths:
            check_whole_numbers(SimpleNamespace(widths=width), 1, "widths")
            if width % self.groups:
                raise ValueError(f"groups={self.groups} does not divide width={width}")
        if self.widths[0] % 2:
            raise ValueError(
                f"widths={self.widths}: the first must be even, for sines and cosines of the step"
            )
        if self.widths[-1] % self.heads:
            raise ValueError(f"heads={self.heads} does not divide width={self.widths[-1]}, the last")


class ResidualBlock(nn.Module):
    """Residual block: two convolutions with a skip connection; the noise step is added between them."""

    def __init__(self, width_in: int, width: int, d_time: int, groups: int):
        super().__init__()
        self.norm_in, self.norm_out = nn.GroupNorm(groups, width_in), nn.GroupNorm(groups, width)
        self.first = nn.Conv2d(width_in, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)
        self.time = nn.Linear(d_time, width)
        self.shortcut = nn.Identity() if width_in == width else nn.Conv2d(width_in, width, 1)
        nn.init.zeros_(self.second.weight)  # the block starts as its skip connection

    def forward(
        self, x: Float[Tensor, "batch channels_in height width"], time: Float[Tensor, "batch d_time"]
    ) -> Float[Tensor, "batch channels_out height width"]:
        check_axes(x, "batch, channels, height, width")
        h = self.first(F.silu(self.norm_in(x))) + self.time(time)[:, :, None, None]
        return self.shortcut(x) + self.second(F.silu(self.norm_out(h)))


class Bottleneck(nn.Module):
    """The coarsest level: two residual blocks, with optional pixel attention between them."""

    def __init__(self, width: int, d_time: int, config: UNetConfig):
        super().__init__()
        self.before, self.after = (ResidualBlock(width, width, d_time, config.groups) for _ in range(2))
        attention = PixelAttention(
            width, config.heads, config.groups
        )  # drawn in any case: equal other weights
        self.attention = attention if config.attention else nn.Identity()

    def forward(
        self, x: Float[Tensor, "batch channels height width"], time: Float[Tensor, "batch d_time"]
    ) -> Float[Tensor, "batch channels height width"]:
        return self.after(self.attention(self.before(x, time)), time)


class DownUpLevel(nn.Module):
    """One level: a residual block, `inner` at half the height and width, another residual block.

    A skip connection concatenates the first block's output to that of `inner`, so details are kept.
    """

    def __init__(self, width: int, inner_width: int, inner: nn.Module, d_time: int, groups: int):
        super().__init__()
        self.before = ResidualBlock(width, width, d_time, groups)
        self.down = nn.Conv2d(width, inner_width, 3, stride=2, padding=1)
        self.inner = inner
        self.up = nn.Conv2d(inner_width, width, 3, padding=1)
        self.after = ResidualBlock(2 * width, width, d_time, groups)

    def forward(
        self, x: Float[Tensor, "batch channels height width"], time: Float[Tensor, "batch d_time"]
    ) -> Float[Tensor, "batch channels height width"]:
        here = self.before(x, time)
        below = self.inner(self.down(here), time)
        return self.after(torch.cat([here, self.up(F.interpolate(below, scale_factor=2.0))], dim=1), time)


class UNet(ComputedTable):
    """UNet: predicts the noise in an image.

    Source: Ronneberger et al. 2015 (the levels); Ho et al. 2020, appendix B; Kak slide 106.

    >>> model, t = UNet(UNetConfig(channels=1)), torch.tensor([1, 50])
    >>> model(torch.randn(2, 1, 8, 8), t).shape  # the noise in two images, after 1 and after 50 steps
    torch.Size([2, 1, 8, 8])
    """

    times: Float[Tensor, "steps d_model"]

    def __init__(self, config: UNetConfig):
        c, finest, d_time = config, config.widths[0], 4 * config.widths[0]
        super().__init__("times", partial(sinusoidal, c.steps + 1, finest))
        self.config = c
        self.time = nn.Sequential(nn.Linear(finest, d_time), nn.SiLU(), nn.Linear(d_time, d_time), nn.SiLU())
        self.enter = nn.Conv2d(c.channels, finest, 3, padding=1)
        inner: nn.Module = Bottleneck(c.widths[-1], d_time, c)
        for width, below in reversed(list(zip(c.widths, c.widths[1:], strict=False))):
            inner = DownUpLevel(width, below, inner, d_time, c.groups)
        self.levels = inner
        last = nn.Conv2d(finest, c.channels, 3, padding=1)
        nn.init.zeros_(last.weight)
        self.leave = nn.Sequential(nn.GroupNorm(c.groups, finest), nn.SiLU(), last)

    def forward(
        self, x: Float[Tensor, "batch channels height width"], t: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch channels height width"]:
        """Predict the noise in each image at noise step `t`.

        Raises ValueError for another number of channels, and for sides that the levels cannot halve.
        """
        c, factor = self.config, 2 ** (len(self.config.widths) - 1)
        check_axes(x, "batch, channels, height, width")
        if x.shape[1] != c.channels:
            raise ValueError(f"images with {x.shape[1]} channels: the model takes channels={c.channels}")
        if x.shape[2] % factor or x.shape[3] % factor:
            raise ValueError(f"{factor} does not divide height={x.shape[2]} and width={x.shape[3]}")
        return self.leave(self.levels(self.enter(x), self.time(self.times[t].to(x.dtype))))
