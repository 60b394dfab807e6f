"""The figures of chapter 8c: legible words that do not overlap, the right numbers, and alt text."""

from collections.abc import Callable

import pytest
import torch
from helpers.drawn_text import Draw, figure_tests, texts

from course_lib.chapters.ch08_images import vit_training_figures as drawn
from course_lib.datasets.image_sets import CIFAR10

DOT = torch.zeros(1, 4, 4, dtype=torch.uint8)
DOT[0, 1, 1] = 255
SIX = DOT.expand(5, 1, 4, 4)
THREE = dict.fromkeys("abc", DOT)
LABELS = torch.eye(10)[:5]
MIXED = (LABELS + LABELS.roll(1, 0)) / 2
COUNTS = torch.tensor([[8, 1, 1], [0, 3, 1], [5, 0, 15]])
RUNS = {"none": [0.7, 0.8, 0.75], "shifted": [0.6, 0.7, 0.8], "convolutions": [0.8, 0.8, 0.9]}
TEN = 100 * torch.eye(10) * 0.9 + torch.ones(10, 10)
FIGURES: dict[str, tuple[Callable[[], None], str]] = {  # how each is drawn, and what its alt text says
    "shifted": (
        lambda: drawn.plot_shifted_patches(DOT, DOT.roll(1, dims=2), 2),
        "both cut into 4 patches.* different: 2 of 4",
    ),
    "moved features": (
        lambda: drawn.plot_moved_features(THREE, torch.eye(6)[[0, 0, 1], :, None, None].expand(3, 6, 4, 4)),
        "a, b, c: .* its 6 feature maps.* are nearer to those before it than",
    ),
    "changed features": (
        lambda: drawn.plot_moved_features(THREE, torch.eye(6)[:3, :, None, None].expand(3, 6, 4, 4)),
        "not much nearer to those before it",
    ),
    "curve": (
        lambda: drawn.plot_by_images({50: [0.5, 0.4], 200: [0.7, 0.8], 800: [0.9, 0.9]}),
        "50 to 800, with 2 points",
    ),
    "conditions": (
        lambda: drawn.plot_conditions({"test images": RUNS, "moved by one pixel": RUNS}),
        "2 panels of accuracy: test images; moved.*none, shifted, convolutions",
    ),
    "checkpoints": (
        lambda: drawn.plot_checkpoint_losses([30, 60, 90], [1, 0.5, 0.1], [1.2, 1, 1.1], 60),
        "Loss at 3 checkpoints",
    ),
    "mixtures": (
        lambda: drawn.plot_mixtures({"plain": (SIX, LABELS), "mixup": (SIX, MIXED)}),
        "2 rows of 5 images.*: plain, mixup",
    ),
    "confusion": (
        lambda: drawn.plot_confusion_percent(
            100 * COUNTS / COUNTS.sum(dim=1, keepdim=True), ["cat", "dog", "frog"]
        ),
        "25 percent of the class (dog|frog) are predicted",
    ),
    "ten classes": (lambda: drawn.plot_confusion_percent(TEN, CIFAR10), "10 true classes by 10"),
    "tokens": (drawn.diagram_convolutional_tokens, "4 tokens reads.* 4 pixels each.* up to 7 pixels"),
}  # fmt: skip


draw, test_each_figure = figure_tests(FIGURES, drawn)


def test_a_mixed_label_names_both_classes(draw: Draw) -> None:
    assert {"100% 0", "50% 0 + 50% 1"} <= {text.get_text() for text in texts(draw("mixtures")[0])}


@pytest.mark.parametrize("patch", [2, 4, 8])
def test_the_diagram_s_tokens_read_what_the_convolutions_read(patch: int, draw: Draw) -> None:
    from course_lib.layers.patches import ConvolutionalPatches

    image = torch.zeros(1, 1, 4 * patch, 4 * patch, requires_grad=True)
    tokens = ConvolutionalPatches(patch, 1, 8)(image)
    tokens[0, 5].sum().backward()  # of row 1, column 1
    columns = image.grad[0, 0].abs().sum(dim=0).nonzero().flatten().tolist()
    assert (columns[0], columns[-1]) == (patch - (patch - 1), patch + (patch - 1))
