"""The figures of chapter 8b: legible words that do not overlap, the right numbers, and alt text."""

from collections.abc import Callable

import torch
from helpers.drawn_text import Draw, figure_tests

from course_lib.chapters.ch08_images import vit_interpret_figures as drawn

IMAGES = torch.rand(2, 8, 8, generator=torch.Generator().manual_seed(0))
MAPS = {"layer 1": IMAGES[:, :4, :4], "rollout": IMAGES[:, 4:, 4:]}
RUNS = {"most attended": [[0.8, 0.6], [0.7, 0.4]], "random": [[0.9, 0.8], [0.9, 0.9]]}
SIMILAR = torch.eye(16).reshape(4, 4, 4, 4)
FIGURES: dict[str, tuple[Callable[[], None], str]] = {  # how each is drawn, and what its alt text says
    "looks": (lambda: drawn.plot_looks(IMAGES, MAPS), "2 images.* layer 1, rollout"),
    "images": (
        lambda: drawn.plot_images(dict.fromkeys(("most attended", "most ink", "random", "none"), IMAGES[0])),
        "digit 4 times: most attended",
    ),
    "occlusion": (
        lambda: drawn.plot_occlusion({"painted": RUNS, "removed": RUNS}, 0.98),
        "painted and removed.* most attended, random",
    ),
    "similarities": (
        lambda: drawn.plot_similarities({"learned": SIMILAR, "2-D sinusoidal": SIMILAR}),
        "learned and 2-D sinusoidal",
    ),
    "distances": (lambda: drawn.plot_distances(torch.full((3, 4), 3.9), 4.0), "near a dashed line"),
    "causes": (lambda: drawn.plot_causes({"8 pixels": [0.98, 0.97], "16 pixels": [0.5, 0.6]}), "8 pixels"),
}  # fmt: skip


draw, test_each_figure = figure_tests(FIGURES, drawn)


def test_the_curves_start_together_and_are_means_over_the_runs(draw: Draw) -> None:
    lines = draw("occlusion")[0].axes[0].lines
    assert [round(float(y), 6) for y in lines[0].get_ydata()] == [0.98, 0.75, 0.5]
    assert lines[1].get_ydata()[0] == 0.98
