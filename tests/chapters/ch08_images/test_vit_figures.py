"""The figures of chapters 8 to 8c: legible words that do not overlap, the right numbers, and alt text."""

from collections.abc import Callable

import pytest
import torch
from helpers.drawn_text import Draw, figure_tests, texts

from course_lib.chapters.ch08_images import vit_figures as drawn
from course_lib.chapters.ch08_images import vit_interpret_figures as inside
from course_lib.chapters.ch08_images import vit_training_figures as trained
from course_lib.datasets.image_sets import CIFAR10
from course_lib.layers.patches import ConvolutionalPatches

IMAGES = (17 * torch.arange(16)).view(1, 1, 4, 4).to(torch.uint8).expand(6, -1, -1, -1)
TABLE = torch.tensor([[35, 0, 1], [2, 33, 0], [0, 0, 36]])
SCORES = {"baseline": [0.95, 0.93, 0.96], "no positions": [0.71, 0.72, 0.74]}
EVALUATIONS: list[dict[str, float | int]] = [{"step": 20, "accuracy": 0.5}, {"step": 40, "accuracy": 0.95}]
FLOATS = torch.rand(2, 8, 8, generator=torch.Generator().manual_seed(0))
MAPS = {"layer 1": FLOATS[:, :4, :4], "rollout": FLOATS[:, 4:, 4:]}
ORDERS = {"most attended": [[0.8, 0.6], [0.7, 0.4]], "random": [[0.9, 0.8], [0.9, 0.9]]}
SIMILAR = torch.eye(16).reshape(4, 4, 4, 4)
DOT = torch.zeros(1, 4, 4, dtype=torch.uint8)
DOT[0, 1, 1] = 255
SIX = DOT.expand(5, 1, 4, 4)
THREE = dict.fromkeys("abc", DOT)
LABELS = torch.eye(10)[:5]
MIXED = (LABELS + LABELS.roll(1, 0)) / 2
PERCENT = torch.tensor([[80.0, 10, 10], [0, 75, 25], [25, 0, 75]])
RUNS = {"none": [0.7, 0.8, 0.75], "shifted": [0.6, 0.7, 0.8], "convolutions": [0.8, 0.8, 0.9]}
TEN = 100 * torch.eye(10) * 0.9 + torch.ones(10, 10)


def features(*numbers: int) -> torch.Tensor:
    """Maps of three images, of which only one is not zero in each."""
    return torch.eye(6)[list(numbers), :, None, None].expand(3, 6, 4, 4)


FIGURES: dict[str, tuple[Callable[[], None], str]] = {  # how each is drawn, and what its alt text says
    "patches": (lambda: drawn.plot_patches(IMAGES[0], 1, alt="A four."), "A four"),
    "rows": (lambda: drawn.plot_image_rows({"original": IMAGES, "other": IMAGES}, alt="Two rows."), "Two"),
    "training": (lambda: drawn.plot_training([2.3] * 40, EVALUATIONS), "validation accuracy"),
    "confusion": (lambda: drawn.plot_confusion(TABLE, list("012")), "3 by 3"),
    "errors": (lambda: drawn.plot_errors(IMAGES[:3], ["8 → 1\n52%"] * 3), "lowest confidence"),
    "ways": (lambda: drawn.plot_ways(SCORES, chance=0.1), "2 ways to train.*no positions"),
    "looks": (lambda: inside.plot_looks(FLOATS, MAPS), "2 images.* layer 1, rollout"),
    "images": (
        lambda: inside.plot_images(dict.fromkeys(("most attended", "most ink", "random", "none"), FLOATS[0])),
        "digit 4 times: most attended",
    ),
    "occlusion": (
        lambda: inside.plot_occlusion({"painted": ORDERS, "removed": ORDERS}, 0.98),
        "painted and removed.* most attended, random",
    ),
    "similarities": (
        lambda: inside.plot_similarities({"learned": SIMILAR, "2-D sinusoidal": SIMILAR}),
        "learned and 2-D sinusoidal",
    ),
    "distances": (lambda: inside.plot_distances(torch.full((3, 4), 3.9), 4.0), "near a dashed line"),
    "causes": (lambda: inside.plot_causes({"8 pixels": [0.98, 0.97], "16 pixels": [0.5, 0.6]}), "8 pixels"),
    "shifted": (
        lambda: trained.plot_shifted_patches(DOT, DOT.roll(1, dims=2), 2),
        "both cut into 4 patches.* different: 2 of 4",
    ),
    "moved features": (
        lambda: trained.plot_moved_features(THREE, features(0, 0, 1)),
        "a, b, c: .* its 6 feature maps.* are nearer to those before it than",
    ),
    "changed features": (
        lambda: trained.plot_moved_features(THREE, features(0, 1, 2)),
        "not much nearer to those before it",
    ),
    "curve": (
        lambda: trained.plot_by_images({50: [0.5, 0.4], 200: [0.7, 0.8], 800: [0.9, 0.9]}),
        "50 to 800, with 2 points",
    ),
    "conditions": (
        lambda: trained.plot_conditions({"test images": RUNS, "moved by one pixel": RUNS}),
        "2 panels of accuracy: test images; moved.*none, shifted, convolutions",
    ),
    "checkpoints": (
        lambda: trained.plot_checkpoint_losses([30, 60, 90], [1, 0.5, 0.1], [1.2, 1, 1.1], 60),
        "Loss at 3 checkpoints",
    ),
    "mixtures": (
        lambda: trained.plot_mixtures({"plain": (SIX, LABELS), "mixup": (SIX, MIXED)}),
        "2 rows of 5 images.*: plain, mixup",
    ),
    "percent": (
        lambda: trained.plot_confusion_percent(PERCENT, ["cat", "dog", "frog"]),
        "25 percent of the class (dog|frog) are predicted",
    ),
    "ten classes": (lambda: trained.plot_confusion_percent(TEN, CIFAR10), "10 true classes by 10"),
}


draw, test_each_figure = figure_tests(FIGURES)


def test_the_patches_below_the_image_are_cut_in_reading_order(draw: Draw) -> None:
    figure, _ = draw("patches")
    shades = [axes.images[0].get_array()[0, 0, 0] for axes in figure.axes[1:]]
    assert shades == sorted(shades) and len(shades) == 16


def test_every_image_of_the_confusion_matrix_is_counted(draw: Draw) -> None:
    numbers = [text.get_text() for text in draw("confusion")[0].axes[0].texts]
    assert sum(map(int, numbers)) == TABLE.sum()


def test_every_seed_has_a_marker(draw: Draw) -> None:
    lines = draw("ways")[0].axes[0].lines[: len(SCORES)]
    assert [list(line.get_xdata()) for line in lines] == list(SCORES.values())


def test_the_curves_start_together_and_are_means_over_the_runs(draw: Draw) -> None:
    lines = draw("occlusion")[0].axes[0].lines
    assert lines[0].get_ydata() == pytest.approx([0.98, 0.75, 0.5]) and lines[1].get_ydata()[0] == 0.98


def test_a_mixed_label_names_both_classes(draw: Draw) -> None:
    assert {"100% 0", "50% 0 + 50% 1"} <= {text.get_text() for text in texts(draw("mixtures")[0])}


@pytest.mark.parametrize("patch", [2, 4, 8])
def test_convolutions_read_what_the_diagram_of_their_tokens_says(patch: int) -> None:
    """That is 3 pixels to each side of the first one of a patch of 4."""
    image = torch.zeros(1, 1, 4 * patch, 4 * patch, requires_grad=True)
    tokens = ConvolutionalPatches(patch, 1, 8)(image)
    tokens[0, 5].sum().backward()  # of row 1, column 1
    columns = image.grad[0, 0].abs().sum(dim=0).nonzero().flatten().tolist()
    assert (columns[0], columns[-1]) == (patch - (patch - 1), patch + (patch - 1))
