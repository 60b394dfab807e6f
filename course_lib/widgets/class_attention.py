"""Attention of a ViT's class token over the image, for any layer and head."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import ipywidgets
import numpy as np
import torch
from jaxtyping import Float, UInt8
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.datasets import ImageSplit
from course_lib.experiments.digits_vit import classifier_of
from course_lib.models.vit import ViT
from course_lib.tasks.image_classification import predict, to_floats
from course_lib.viz.style import PALETTE
from course_lib.viz.vit_interpret import attention_maps, class_attention, on_patches, rollout
from course_lib.widgets.explorer import Explorer, numbered_bars, set_most, slider
from course_lib.widgets.patch_picture import colours, empty, still_image
from course_lib.widgets.token_map import Names

MOST_IMAGES = 50  # images to choose from
READ = 500  # images that they are selected from
LIKELIEST = 5  # classes drawn
NUMBERED = 6  # most patches per row for which the weights are printed
STRENGTH = 0.7  # opacity of the heatmap at the largest weight
ROLLOUT, MEAN = "rollout", "mean"


@dataclass(frozen=True)
class Look:
    """An image with its class probabilities and attention maps.

    heads: the class token's weights on the patches. rolled: attention rollout from layer 1 to each layer.
    """

    pixels: UInt8[Tensor, "channels height width"]
    label: int
    probabilities: Float[Tensor, " classes"]
    heads: Float[Tensor, "layers heads rows columns"]
    rolled: Float[Tensor, "layers rows columns"]

    def weights(self, layer: int, head: int | str) -> Float[Tensor, "rows columns"]:
        """Class-token weights of one head (counted from 1), of the mean of all heads, or of the rollout."""
        if head == ROLLOUT:
            return self.rolled[layer - 1]
        return self.heads[layer - 1].mean(dim=0) if head == MEAN else self.heads[layer - 1, head - 1]


def class_attention_explorer(
    model: ViT | None = None, split: ImageSplit | None = None, classes: Sequence[str] = ()
) -> Explorer:
    """Class-token attention of a ViT over an image, for a chosen layer and head.

    Without a model, a small classifier of the embedded digits. The images to choose from are those of the
    first `READ` with the lowest confidence, lowest first. classes: class names.
    Raises ValueError for a model without a class token, and in the cases of `classifier_of`.
    """
    model, split, classes = classifier_of(model, split, classes)
    split = least_sure(model, split)
    seen = lru_cache(maxsize=MOST_IMAGES)(lambda number: look(model, split[number - 1 : number]))
    layers, heads = model.config.layers, range(1, model.config.heads + 1)
    controls = {
        "image": slider(ipywidgets.IntSlider, "image", value=1, min=1, max=2),
        "layer": slider(ipywidgets.IntSlider, "layer", value=1, min=1, max=2),
        "head": slider(ipywidgets.SelectionSlider, "head", options=[ROLLOUT, MEAN, *heads], value=MEAN),
    }
    set_most(controls["image"], len(split))
    set_most(controls["layer"], layers)
    controls["layer"].value = layers
    seen(1)
    return Explorer(
        controls,
        lambda figure: attention_picture(figure, seen, classes),
        "sliders for the image, the layer and the head (or the mean of all heads, or the rollout), above "
        "the image with the class token's weights as a heatmap, the weights and the likeliest classes. It "
        "responds while the notebook is running.",
        size=(7.0, 2.8),
    )


def least_sure(model: ViT, split: ImageSplit) -> ImageSplit:
    """The images with the lowest confidence (probability of the predicted class), lowest first."""
    sure = predict(model, split.pixels[:READ]).softmax(dim=-1).amax(dim=-1)
    return split[sure.argsort(stable=True)[:MOST_IMAGES]]


def look(model: ViT, one: ImageSplit) -> Look:
    """Predictions and attention maps for one image. Raises ValueError for a model without a class token."""
    images = to_floats(one.pixels).to(model.head.weight.device)
    maps = attention_maps(model, images).float().cpu()
    rolled = [on_patches(rollout(maps[: depth + 1])[0, 0]) for depth in range(len(maps))]
    probabilities = predict(model, one.pixels)[0].softmax(dim=-1).cpu()
    pixels, label = one.pixels[0].cpu(), int(one.labels[0])
    return Look(pixels, label, probabilities, class_attention(maps)[:, 0], torch.stack(rolled))


def attention_picture(
    figure: Figure, seen: Callable[[int], Look], classes: Sequence[str]
) -> Callable[..., str]:
    """The image with its heatmap, the weights and the likeliest classes."""
    heat = still_image(empty(figure.add_axes((0.02, 0.06, 0.32, 0.8))))
    numbers = Numbers(empty(figure.add_axes((0.38, 0.06, 0.32, 0.8))))
    right = figure.add_axes((0.83, 0.2, 0.16, 0.66))
    right.set(xlim=(0, 1.5), ylim=(LIKELIEST - 0.5, -0.5), xticks=(0, 0.5, 1), yticks=())
    right.set_xlabel("probability")
    right.set_title("likeliest")
    rows = min(LIKELIEST, len(classes))
    names, move = Names(right), numbered_bars(right.barh(range(rows), [0.0] * rows, color=PALETTE[0]))
    title = heat.axes.text(
        0.5, 1.04, "", ha="center", transform=heat.axes.transAxes, animated=True,
        size=rcParams["axes.titlesize"],
    )  # fmt: skip

    def update(image: int, layer: int, head: int | str) -> str:
        shown = seen(image)
        layer = min(layer, len(shown.heads))
        weights = shown.weights(layer, head)
        heat.set_data(heated(shown.pixels, weights))
        numbers.draw(weights)
        best = shown.probabilities.topk(rows)
        move(best.values.tolist())
        names.set([classes[i] for i in best.indices.tolist()])
        title.set_text(f"image {image}, true: {classes[shown.label]}")
        return in_words(shown, image, classes) + of_weights(weights, layer, head)

    return update


def heated(
    pixels: UInt8[Tensor, "channels height width"], weights: Float[Tensor, "rows columns"]
) -> UInt8[np.ndarray, "height width 3"]:
    """The image with a color overlay on each patch, opaque in proportion to weight / largest weight."""
    rows, columns = (pixels.shape[1] // weights.shape[0], pixels.shape[2] // weights.shape[1])
    veil = (STRENGTH * weights / weights.max()).repeat_interleave(rows, 0).repeat_interleave(columns, 1)
    veil = veil[..., None].numpy()
    return (colours(pixels) * (1 - veil) + 255 * veil * np.array(to_rgb(PALETTE[1]))).astype(np.uint8)


class Numbers:
    """Heatmap of the weights, darkest at the largest one; small maps also show the numbers."""

    def __init__(self, axes: Axes):
        self.axes = axes
        self.image = axes.imshow(
            [[0.0]], vmin=0, vmax=1, cmap="Blues", aspect="auto", extent=(0, 1, 1, 0),
            interpolation="nearest", animated=True,
        )  # fmt: skip
        look = {"ha": "center", "va": "center", "size": rcParams["xtick.labelsize"], "animated": True}
        self.cells = [axes.text(0, 0, "", **look) for _ in range(NUMBERED**2)]
        look |= {"va": "baseline", "size": rcParams["axes.titlesize"], "transform": axes.transAxes}
        self.title = axes.text(0.5, 1.04, "", **look)

    def draw(self, weights: Float[Tensor, "rows columns"]) -> None:
        side, most = len(weights), weights.max().item()
        self.image.set_data((weights / most).numpy())
        self.title.set_text(f"weights, darkest: {most:.2f}")
        for i, cell in enumerate(self.cells):
            row, column = divmod(i, side)
            if side > NUMBERED or row >= side:
                cell.set_text("")
                continue
            weight = weights[row, column].item()
            cell.set(position=((column + 0.5) / side, (row + 0.5) / side), text=f"{weight:.2f}")
            cell.set_color("white" if weight > 0.715 * most else "black")


def in_words(shown: Look, number: int, classes: Sequence[str]) -> str:
    """Status line, first part: the label and the prediction."""
    (first, second), (p, q) = (x.tolist() for x in shown.probabilities.topk(2)[::-1])
    verdict = "correctly" if first == shown.label else "incorrectly"
    return (
        f"Image {number} has label {classes[shown.label]}; the model {verdict} predicts {classes[first]} "
        f"with probability {p:.2f} (next: {classes[second]}, {q:.2f}). "
    )


def of_weights(weights: Float[Tensor, "rows columns"], layer: int, head: int | str) -> str:
    """Status line, second part: the largest weight, and the weight on the class token itself."""
    place = {MEAN: "mean of the heads", ROLLOUT: "rollout up to this layer"}.get(head, f"head {head}")
    most, where = weights.flatten().max(dim=0)
    row, column = divmod(int(where), weights.shape[1])
    return (
        f"Layer {layer}, {place}: the class token attends to itself with {1 - weights.sum():.2f} and most to "
        f"the patch in row {row + 1}, column {column + 1}, with {most:.2f}; uniform weights would be "
        f"{1 / (weights.numel() + 1):.2f}."
    )
