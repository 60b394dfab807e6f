"""The figures of chapter 8: legible words that do not overlap, the right numbers, and alt text."""

from collections.abc import Callable

import torch
from helpers.drawn_text import Draw, figure_tests

from course_lib.chapters.ch08_images import vit_figures as drawn

IMAGES = (17 * torch.arange(16)).view(1, 1, 4, 4).to(torch.uint8).expand(6, -1, -1, -1)
TABLE = torch.tensor([[35, 0, 1], [2, 33, 0], [0, 0, 36]])
SCORES = {"baseline": [0.95, 0.93, 0.96], "no positions": [0.71, 0.72, 0.74]}
EVALUATIONS: list[dict[str, float | int]] = [{"step": 20, "accuracy": 0.5}, {"step": 40, "accuracy": 0.95}]
FIGURES: dict[str, tuple[Callable[[], None], str]] = {  # how each is drawn, and what its alt text says
    "patches": (lambda: drawn.plot_patches(IMAGES[0], 1, alt="A four."), "A four"),
    "rows": (lambda: drawn.plot_image_rows({"original": IMAGES, "other": IMAGES}, alt="Two rows."), "Two"),
    "training": (lambda: drawn.plot_training([2.3] * 40, EVALUATIONS), "validation accuracy"),
    "confusion": (lambda: drawn.plot_confusion(TABLE, list("012")), "3 by 3"),
    "errors": (lambda: drawn.plot_errors(IMAGES[:3], ["8 → 1\n52%"] * 3), "lowest confidence"),
    "ways": (lambda: drawn.plot_ways(SCORES, chance=0.1), "2 ways to train.*no positions"),
}


draw, test_each_figure = figure_tests(FIGURES, drawn)


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
