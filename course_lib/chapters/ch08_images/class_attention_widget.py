"""Attention of a ViT's class token over the image, for any layer and head."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import ipywidgets
import numpy as np
import torch
from jaxtyping import Float, UInt8
from matplotlib.colors import to_rgb
from torch import Tensor

from course_lib.chapters.ch08_images.digits_vit import classifier_of
from course_lib.chapters.ch08_images.patch_picture import colours
from course_lib.chapters.ch08_images.vit_interpret import (
    attention_maps,
    class_attention,
    on_patches,
    rollout,
)
from course_lib.datasets import ImageSplit
from course_lib.models.vit import ViT
from course_lib.tasks.image_classification import predict, to_floats
from course_lib.viz.style import PALETTE
from course_lib.widgets.attention_map import AttentionMap
from course_lib.widgets.explorer import set_most, slider
from course_lib.widgets.heatmap import Heatmap, Place, image_of, list_of
from course_lib.widgets.map_explorer import MapExplorer
from course_lib.widgets.reading import MEAN, head_choice, of_head

MOST_IMAGES = 50  # images to choose from
READ = 500  # images that they are selected from
LIKELIEST = 5  # classes shown
LIKELIEST_MAP = 2  # their place among the maps
CELL = 56  # pixels: largest width of a patch
STRENGTH = 0.7  # opacity of the heatmap at the largest weight
ROLLOUT = "rollout"


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
        return of_head(self.heads, layer, head)[0]


def class_attention_explorer(
    model: ViT | None = None, split: ImageSplit | None = None, classes: Sequence[str] = ()
) -> MapExplorer:
    """Class-token attention of a ViT over an image, for a chosen layer and head; a click chooses a patch.

    Without a model, a small classifier of the embedded digits. The images to choose from are those of the
    first `READ` with the lowest confidence, lowest first. classes: class names.
    Raises ValueError for a model without a class token, and in the cases of `classifier_of`.
    """
    model, split, classes = classifier_of(model, split, classes)
    split = least_sure(model, split)
    seen = lru_cache(maxsize=MOST_IMAGES)(lambda number: look(model, split[number - 1 : number]))
    controls = {
        "image": slider(ipywidgets.IntSlider, "image", value=1, min=1, max=2),
    } | head_choice(model.config.layers, model.config.heads, (ROLLOUT, MEAN))
    set_most(controls["image"], len(split))
    return MapExplorer(
        controls,
        lambda maps: attention_picture(maps, seen, classes),
        "sliders for the image, the layer and the head (or the mean of all heads, or the rollout), above the "
        "image with the class token's weights as a heatmap, the weights and the likeliest classes; clicking "
        "a patch shows its weight.",
        size=(7.0, 2.8),
        widths=(3, 3, 1.4),
        cell=CELL,
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
    maps: AttentionMap, seen: Callable[[int], Look], classes: Sequence[str]
) -> Callable[..., str]:
    """The image with its heatmap, the weights and the likeliest classes; the chosen patch is framed."""

    def update(image: int, layer: int, head: int | str, selected: Place) -> str:
        shown = seen(image)
        layer = min(layer, len(shown.heads))
        weights = shown.weights(layer, head)
        patch = Place() if selected.map == LIKELIEST_MAP else selected
        look = {"high": weights.max().item(), "marked": patch}
        title = f"image {image}, true: {classes[shown.label]}"
        on_image = image_of(weights, title=title, picture=heated(shown.pixels, weights), **look)
        numbers = image_of(weights, title=f"weights, largest: {look['high']:.2f}", numbers=True, **look)
        maps.show_maps([on_image, numbers, likeliest(shown.probabilities, classes)])
        return in_words(shown, image, classes) + of_weights(weights, layer, head, patch)

    return update


def likeliest(probabilities: Float[Tensor, " classes"], classes: Sequence[str]) -> Heatmap:
    """The classes with the highest probabilities."""
    best = probabilities.topk(min(LIKELIEST, len(classes)))
    names = [classes[i] for i in best.indices.tolist()]
    look = {"title": "likeliest", "row_name": "class", "value_name": "probability", "proportion": 0.5}
    return list_of(best.values, names, **look)


def heated(
    pixels: UInt8[Tensor, "channels height width"], weights: Float[Tensor, "rows columns"]
) -> UInt8[np.ndarray, "height width 3"]:
    """The image with a color overlay on each patch, opaque in proportion to weight / largest weight."""
    rows, columns = (pixels.shape[1] // weights.shape[0], pixels.shape[2] // weights.shape[1])
    veil = (STRENGTH * weights / weights.max()).repeat_interleave(rows, 0).repeat_interleave(columns, 1)
    veil = veil[..., None].numpy()
    return (colours(pixels) * (1 - veil) + 255 * veil * np.array(to_rgb(PALETTE[1]))).astype(np.uint8)


def in_words(shown: Look, number: int, classes: Sequence[str]) -> str:
    """Status line, first part: the label and the prediction."""
    (first, second), (p, q) = (x.tolist() for x in shown.probabilities.topk(2)[::-1])
    verdict = "correctly" if first == shown.label else "incorrectly"
    return (
        f"Image {number} has label {classes[shown.label]}; the model {verdict} predicts {classes[first]} "
        f"with probability {p:.2f} (next: {classes[second]}, {q:.2f}). "
    )


def of_weights(weights: Float[Tensor, "rows columns"], layer: int, head: int | str, patch: Place) -> str:
    """Status line, second part: the largest weight, that on the class token, and that on a chosen patch."""
    place = {MEAN: "mean of the heads", ROLLOUT: "rollout up to this layer"}.get(head, f"head {head}")
    most, where = weights.flatten().max(dim=0)
    row, column = divmod(int(where), weights.shape[1])
    uniform = 1 / (weights.numel() + 1)
    said = (
        f"Layer {layer}, {place}: the class token gives itself a weight of {1 - weights.sum():.2f}. Of the "
        f"patches, the one in row {row + 1}, column {column + 1} gets the most, {most:.2f}. Uniform weights "
        f"would be {uniform:.2f}."
    )
    if patch.row is None or patch.column is None:
        return said
    weight = weights[patch.row, patch.column].item()
    return (
        f"{said} The framed patch, in row {patch.row + 1}, column {patch.column + 1}, gets {weight:.3f}: "
        f"{weight * (weights.numel() + 1):.1f} times a uniform weight."
    )
