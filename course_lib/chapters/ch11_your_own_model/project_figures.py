"""Figures of chapter 11: the steps of a project, and scores beside baselines."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt

from course_lib.viz.diagrams import arrow, box, canvas
from course_lib.viz.figures import show
from course_lib.viz.style import PALETTE, style_context

STEPS = ("data", "baseline", "tokens", "size", "train", "compare", "errors", "share")


@style_context()
def diagram_project() -> None:
    """Show the steps of a project, and the two ways back."""
    figure, axes = canvas(96, 20)
    for i, step in enumerate(STEPS):
        box(axes, (6 + 12 * i, 12), step, 9.5, PALETTE[0] if step in ("baseline", "compare") else "0.4")
        if i:
            arrow(axes, (12 * i - 1.2, 12), (12 * i + 1.2, 12))
    for end, start, low, text in ((6, 80, 3.5, "errors in the data"), (42, 76, 7, "too small or too large")):
        axes.plot([start, start, end], [10, low, low], color="0.4", linewidth=1.2)
        arrow(axes, (end, low), (end, 9.8))
        axes.text((start + end) / 2, low + 0.4, text, ha="center", va="bottom")
    show(
        figure,
        alt="Eight boxes in a row: data, baseline, tokens, size, train, compare, errors, share. From errors, "
        "one arrow leads back to data, and one to size.",
    )


@style_context()
def plot_scores(scores: Mapping[str, Sequence[float]], baselines: Mapping[str, float], unit: str) -> None:
    """Show a dot per seed for each model, and a line for each baseline."""
    figure, axes = plt.subplots(figsize=(6, 0.5 + 0.45 * (len(scores) + len(baselines))))
    names = [*baselines, *scores]
    for row, name in enumerate(names):
        values = scores.get(name, [baselines.get(name, 0.0)])
        mark, color = ("D", "0.4") if name in baselines else ("o", PALETTE[0])
        axes.plot(values, [row] * len(values), mark, color=color)
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel=unit, ylim=(len(names) - 0.5, -0.5))
    show(
        figure,
        alt=f"Test scores in {unit}, a dot per seed for each model and a diamond for each baseline: "
        f"{', '.join(names)}.",
    )
