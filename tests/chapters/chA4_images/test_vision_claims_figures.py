"""The figures of appendix A4: legible words that do not overlap, the right numbers, and alt text."""

from collections.abc import Callable

import torch
from helpers.drawn_text import Draw, figure_tests, texts

from course_lib.chapters.chA4_images import vision_claims_figures as drawn

QUARTERS = torch.tensor([[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]]).repeat(3, 1, 1)
HALVES = torch.stack([torch.full((4, 4), number) for number in (0, 1, 3)])
IMAGES = torch.arange(2 * 3 * 64, dtype=torch.uint8).view(2, 3, 8, 8)
FIGURES: dict[str, tuple[Callable[[], None], str]] = {  # how each is drawn, and what its alt text says
    "owners": (
        lambda: drawn.plot_patch_owners({"right": QUARTERS, "listing": HALVES}),
        "right: patches red 0, 1, 2 and 3, .*; listing: patches red 0, green 1, blue 3",
    ),
    "images": (
        lambda: drawn.plot_changed_images({"ink": IMAGES, "plates": IMAGES}, alt="Two rows."),
        "Two rows",
    ),
    "fixes": (lambda: drawn.plot_fixes({"as it is": 36.93, "true patches": 44.9}), "as it is: 37; .*: 45"),
}


draw, test_each_figure = figure_tests(FIGURES)


def test_every_value_bears_the_number_of_its_patch(draw: Draw) -> None:
    panel = draw("owners")[0].axes[0]
    words = [text.get_text() for text in panel.texts]
    assert words == [str(number) for number in QUARTERS[0].flatten().tolist()]


def test_the_bars_have_the_values_in_order(draw: Draw) -> None:
    figure = draw("fixes")[0]
    assert [bar.get_width() for bar in figure.axes[0].patches] == [36.93, 44.9]
    assert {"36.9", "44.9"} <= {text.get_text() for text in texts(figure)}
