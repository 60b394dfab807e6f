"""Additive and dot-product scores of a query for every key in a plane."""

import math
from collections.abc import Callable
from functools import cache

import ipywidgets
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.layers.attention import AdditiveAttention
from course_lib.viz.style import PALETTE
from course_lib.widgets.explorer import Explorer, slider

EDGE = 2.0  # keys from -EDGE to EDGE on both axes
FARTHEST = 3.0  # longest key on the ray
DOTS = 6.0  # dot products from -DOTS to DOTS: from the largest query to the corners of the plane
BANDS = 12  # colors on each side of 0, so that their edges are contour lines
HIDDEN = (1, 2, 4, 8, 16)
SCALES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
SEED = 6  # seed whose random weights give a clear maximum


def scoring_explorer() -> Explorer:
    """Additive and (scaled) dot-product scores of a 2-D query for all keys in a plane.

    Source: Bahdanau et al. 2015 (additive attention).
    """
    place = {"min": -1.5, "max": 1.5, "step": 0.25}
    return Explorer(
        {
            "q1": slider(ipywidgets.FloatSlider, "query, first component", value=1.0, **place),
            "q2": slider(ipywidgets.FloatSlider, "second component", value=0.5, **place),
            "hidden": slider(ipywidgets.SelectionSlider, "d_hidden", options=HIDDEN, value=8),
            "scale": slider(ipywidgets.SelectionSlider, "scale of W_q, W_k", options=SCALES, value=1.0),
            "scaled": ipywidgets.Checkbox(value=True, description="divide dot products by √d", indent=False),
        },
        scoring_picture,
        "sliders for the two components of a query, and for the hidden width and weight scale of additive "
        "attention, and a checkbox for the division by √d, above the additive scores and the "
        "dot products of all keys in a plane, and both along the direction of the query. "
        "It responds while the notebook is running.",
        size=(7.0, 3.3),
    )


@cache
def scorer(hidden: int) -> AdditiveAttention:
    """Additive attention for 2-D vectors with random weights, as before training.

    It contains the hidden units of every narrower one; w_v has variance 1 / hidden.
    """
    generator = torch.Generator().manual_seed(SEED)
    units = torch.randn(HIDDEN[-1], 5, generator=generator)[:hidden]
    with torch.random.fork_rng(devices=[]):
        attention = AdditiveAttention(2, 2, hidden).requires_grad_(False)
    attention.w_q.weight.copy_(units[:, :2])
    attention.w_k.weight.copy_(units[:, 2:4])
    attention.w_v.weight.copy_(units[:, 4] / math.sqrt(hidden))
    return attention


def additive(
    q: Float[Tensor, " two"], keys: Float[Tensor, "keys two"], hidden: int, scale: float
) -> Float[Tensor, " keys"]:
    """Scores of `scorer` with W_q and W_k multiplied by `scale`.

    Both are linear without a bias, so scaling the vectors is equivalent.
    """
    return scorer(hidden).scores(scale * q[None], scale * keys)[0]


def bound(hidden: int) -> float:
    """Upper bound Σ|w_v| of the additive scores, since |tanh| < 1."""
    return scorer(hidden).w_v.weight.abs().sum().item()


def dot_products(
    q: Float[Tensor, " two"], keys: Float[Tensor, "keys two"], scaled: bool
) -> Float[Tensor, " keys"]:
    """Dot product of the query with each key, divided by √2 if scaled."""
    return keys @ q / (math.sqrt(len(q)) if scaled else 1.0)


def plane(points: int = 61) -> Float[Tensor, "keys two"]:
    """Square grid of keys around the origin, row by row from the bottom."""
    line = torch.linspace(-EDGE, EDGE, points)
    return torch.cartesian_prod(line, line).flip(-1)


def ray(q: Float[Tensor, " two"], points: int = 31) -> Float[Tensor, "keys two"]:
    """Keys of length 0 to FARTHEST in the direction of the query, or along the first axis if it is 0."""
    direction = q / q.norm() if q.any() else torch.tensor([1.0, 0.0])
    return torch.linspace(0, FARTHEST, points)[:, None] * direction


def scoring_picture(figure: Figure) -> Callable[..., str]:
    """Planes of additive scores and of dot products, and both scores along the direction of the query."""
    left, middle, right = (figure.add_axes((x, 0.4, 0.255, 0.51)) for x in (0.085, 0.39, 0.735))
    keys = plane()
    additive_plane = Plane(left, "additive", ("−Σ|w_v|", "0", "Σ|w_v|"))
    dot_plane = Plane(middle, "dot product", (f"−{DOTS:g}", "0", f"{DOTS:g}"))
    left.set_ylabel("key, second component")
    set_curves = curves(right)

    def update(q1: float, q2: float, hidden: int, scale: float, scaled: bool) -> str:
        q = torch.tensor([q1, q2])
        line, most = ray(q), bound(hidden)
        scores, dots = additive(q, keys, hidden, scale), dot_products(q, keys, scaled)
        along = additive(q, line, hidden, scale), dot_products(q, line, scaled)
        additive_plane.draw(q, scores, most)
        dot_plane.draw(q, dots, DOTS)
        set_curves(line.norm(dim=-1), *along, most)
        root = "divided by √2" if scaled else "not divided by √2"
        return (
            f"Query {point(q)}. Additive, d_hidden {hidden}, W_q and W_k times {scale:g}: "
            f"{extremes(keys, scores)}; the upper bound is Σ|w_v| = {most:.2f}. "
            f"Dot product, {root}: {extremes(keys, dots)}. " + verdict(q, hidden, along)
        )

    return update


class Plane:
    """Scores of all keys as colors, with the query as a pin and the best key as a diamond."""

    def __init__(self, axes: Axes, title: str, ends: tuple[str, str, str]):
        bands = torch.linspace(-1, 1, 2 * BANDS + 1).tolist()
        self.image = axes.imshow(
            [[0.0]], extent=(-EDGE, EDGE) * 2, origin="lower", cmap="RdBu_r", animated=True,
            norm=BoundaryNorm(bands, 256), interpolation="bilinear", interpolation_stage="data",
        )  # fmt: skip
        axes.set(title=title, xlabel="key, first component", anchor="S", xticks=(-2, 0, 2), yticks=(-2, 0, 2))
        axes.grid(visible=False)
        bar = axes.inset_axes((0, -0.52, 1, 0.07))
        axes.figure.colorbar(self.image, cax=bar, orientation="horizontal", spacing="proportional")
        bar.set_xticks((-1, 0, 1), ends)
        bar.minorticks_off()
        look = {"color": "black", "animated": True}
        (self.pin,) = axes.plot([], [], marker="o", markevery=(1, 2), **look)
        (self.best,) = axes.plot([], [], marker="D", markerfacecolor="white", clip_on=False, **look)

    def draw(self, q: Float[Tensor, " two"], scores: Float[Tensor, " keys"], most: float) -> None:
        """Show the scores of the keys of `plane()`. most: score at the end of the color scale."""
        points = math.isqrt(len(scores))
        self.image.set_data((scores / most).reshape(points, points).numpy())
        self.pin.set_data([0, q[0].item()], [0, q[1].item()])
        best = plane()[scores.argmax()] if scores.any() else torch.full((2,), math.nan)
        self.best.set_data(*best[:, None].tolist())


def curves(axes: Axes) -> Callable[..., None]:
    """Draw both scores by key length, with the bounds of the additive score. Returns an update function."""
    axes.set(xlim=(0, FARTHEST), ylim=(-4, 7), yticks=(-3, 0, 3, 6), xticks=range(4))
    axes.set(title="toward the query", xlabel="length of the key", ylabel="score")
    look = {"animated": True}
    (dot_line,) = axes.plot([], [], color=PALETTE[1], linestyle="--", label="dot product", **look)
    (additive_line,) = axes.plot([], [], color=PALETTE[0], label="additive", **look)
    thin = {"color": "0.35", "linestyle": ":"} | look
    (above,), (below,) = axes.plot([], [], label="±Σ|w_v|", **thin), axes.plot([], [], **thin)
    axes.legend(loc="upper center", bbox_to_anchor=(0.45, -0.28), labelspacing=0.15)

    def move(lengths: Tensor, additive: Tensor, dots: Tensor, most: float) -> None:
        additive_line.set_data(lengths.numpy(), additive.numpy())
        dot_line.set_data(lengths.numpy(), dots.numpy())
        above.set_data([0, FARTHEST], [most, most])
        below.set_data([0, FARTHEST], [-most, -most])

    return move


def point(vector: Float[Tensor, " two"]) -> str:
    """A 2-D vector as text."""
    return "({:.2f}, {:.2f})".format(*vector.tolist()).replace("-", "−")


def extremes(keys: Float[Tensor, "keys two"], scores: Float[Tensor, " keys"]) -> str:
    """Range of the scores, and the key with the highest one."""
    if not scores.any():
        return "0 everywhere"
    ends = f"from {scores.min():.2f} to {scores.max():.2f}".replace("-", "−")
    return f"{ends}, highest at the key {point(keys[scores.argmax()])}"


def verdict(
    q: Float[Tensor, " two"],
    hidden: int,
    along: tuple[Float[Tensor, " lengths"], Float[Tensor, " lengths"]],
) -> str:
    """Status line, last part: what to notice at these settings."""
    if not q.any():
        return "Additive scores still vary, because they depend on the key alone too."
    if hidden == 1:
        return "With one hidden unit, the query only shifts the step: the ranking of the keys never changes."
    (a, b), (c, d) = ((line[len(line) // 2].item(), line[-1].item()) for line in along)
    return (
        f"Toward the query, from length {FARTHEST / 2:g} to {FARTHEST:g}, the dot product doubles from "
        f"{c:.2f} to {d:.2f}; the additive score goes from {a:.2f} to {b:.2f}."
    ).replace("-", "−")
