"""Additive and dot-product scores of a query for every key in a plane."""

import math
from collections.abc import Callable
from functools import cache

import ipywidgets
import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.layers.multi_head_attention import AdditiveAttention
from course_lib.widgets.attention_map import AttentionMap
from course_lib.widgets.explorer import slider
from course_lib.widgets.heatmap import Heatmap, Place
from course_lib.widgets.map_explorer import MapExplorer

EDGE, STEP = 2.0, 0.25  # keys and queries from -EDGE to EDGE on both axes, this far apart
FARTHEST = 3.0  # longest key on the ray
DOTS = 8.0  # dot products from -DOTS to DOTS: of the farthest query and key
AXIS = torch.linspace(-EDGE, EDGE, round(2 * EDGE / STEP) + 1).tolist()  # components of the keys
HIDDEN = (1, 2, 4, 8, 16)
SCALES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
SEED = 6  # seed whose random weights give a clear maximum
RAY = 2  # index of the last map


def scoring_explorer() -> MapExplorer:
    """Additive and (scaled) dot-product scores of a 2-D query for all keys in a plane.

    A click in a plane moves the query there.
    Source: Bahdanau et al. 2015 (additive attention).
    """
    place = {"min": -EDGE, "max": EDGE, "step": STEP}
    controls = {
        "q1": slider(ipywidgets.FloatSlider, "query, first component", value=1.0, **place),
        "q2": slider(ipywidgets.FloatSlider, "second component", value=0.5, **place),
        "hidden": slider(ipywidgets.SelectionSlider, "d_hidden", options=HIDDEN, value=8),
        "scale": slider(ipywidgets.SelectionSlider, "scale of W_q, W_k", options=SCALES, value=1.0),
        "scaled": ipywidgets.Checkbox(value=True, description="divide dot products by √d", indent=False),
    }

    def move(place: Place) -> None:
        """Move the query to the selected place."""
        for name, axis, index in (("q1", AXIS, place.column), ("q2", AXIS[::-1], place.row)):
            if place.map != RAY and index is not None:
                controls[name].value = axis[index]

    return MapExplorer(
        controls,
        scoring_picture,
        "sliders for the two components of a query, and for the hidden width and weight scale of additive "
        "attention, and a checkbox for the division by √d, above the additive scores and the dot products of "
        "all keys in a plane, and both along the direction of the query; a click in a plane moves the query.",
        size=(7.0, 3.3),
        widths=(3, 3, 1.5),
        on_select=move,
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


def plane() -> Float[Tensor, "keys two"]:
    """Square grid of keys around the origin, row by row from the top."""
    return torch.cartesian_prod(torch.tensor(AXIS[::-1]), torch.tensor(AXIS)).flip(-1)


def ray(q: Float[Tensor, " two"], points: int = 7) -> Float[Tensor, "keys two"]:
    """Keys of length 0 to FARTHEST in the direction of the query, or along the first axis if it is 0."""
    direction = q / q.norm() if q.any() else torch.tensor([1.0, 0.0])
    return torch.linspace(0, FARTHEST, points)[:, None] * direction


def scoring_picture(maps: AttentionMap) -> Callable[..., str]:
    """Planes of additive scores and of dot products, and both scores along the direction of the query."""
    keys = plane()

    def update(q1: float, q2: float, hidden: int, scale: float, scaled: bool, selected: Place) -> str:
        q = torch.tensor([q1, q2])
        line, most = ray(q), bound(hidden)
        scores, dots = additive(q, keys, hidden, scale), dot_products(q, keys, scaled)
        along = additive(q, line, hidden, scale), dot_products(q, line, scaled)
        planes = plane_map("additive", scores, most, q), plane_map("dot product", dots, DOTS, q)
        maps.show_maps([*planes, ray_map(line, *along)])
        root = "divided by √2" if scaled else "not divided by √2"
        return (
            f"Query {point(q)}. Additive, d_hidden {hidden}, W_q and W_k times {scale:g}: "
            f"{extremes(keys, scores)}; the upper bound is Σ|w_v| = {most:.2f}. "
            f"Dot product, {root}: {extremes(keys, dots)}. " + verdict(q, hidden, along)
        )

    return update


def plane_map(title: str, scores: Float[Tensor, " keys"], most: float, q: Float[Tensor, " two"]) -> Heatmap:
    """Scores of the keys of `plane()`, with the query framed. most: score at the end of the colors."""
    names = [f"{component:g}".replace("-", "−") for component in AXIS]
    return Heatmap(
        weights=scores.view(len(AXIS), len(AXIS)),
        rows=names[::-1],
        columns=names,
        title=f"{title}, ±{most:.2g}",
        row_name="key, second component",
        column_name="first component",
        value_name="score",
        low=-most,
        high=most,
        diverging=True,
        marked=Place(row=AXIS[::-1].index(q[1].item()), column=AXIS.index(q[0].item())),
    )


def ray_map(line: Float[Tensor, "keys two"], *scores: Float[Tensor, " keys"]) -> Heatmap:
    """Both scores of each key on the ray, with their numbers."""
    return Heatmap(
        weights=torch.stack(scores, dim=-1),
        rows=[f"{length:.1f}" for length in line.norm(dim=-1).tolist()],
        columns=("additive", "dot"),
        title="toward the query",
        row_name="length of the key",
        column_name="",
        value_name="score",
        low=-DOTS,
        high=DOTS,
        diverging=True,
        numbers=True,
        digits=1,
        proportion=0.6,
        marked=Place(),
    )


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
