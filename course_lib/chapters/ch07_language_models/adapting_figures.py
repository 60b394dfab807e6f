"""Figures of chapter 7d: what counts in instruction tuning, DPO, and the results of adapted models."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course_lib.viz.diagrams import MIDDLE, arrow
from course_lib.viz.figures import show, show_picture
from course_lib.viz.style import PALETTE, style_context

FROZEN, TRAINED, EDGE = "0.92", "#cfe5f5", "0.45"
HATCHES = ("", "///", "...", "xx")


def _box(
    axes: Axes, x: float | int, y: float | int, text: str, width: float | int, color: str = FROZEN
) -> None:
    axes.add_patch(
        Rectangle((x - width / 2, y - 0.42), width, 0.84, facecolor=color, edgecolor=EDGE, linewidth=1.2)
    )
    axes.text(x, y, text, **MIDDLE)


@style_context()
def diagram_answer_labels(
    request: str = "please sort : d b", answer: str = "b d", width: float = 0.98
) -> None:
    """Show a request and its answer as one text, with the labels that count."""
    asked, answered = ["BOS", *request.split(), "EOS"], [*answer.split(), "EOS"]
    tokens = [*asked, *answered]
    figure, axes = plt.subplots(figsize=(6.4, 1.9))
    for x, token in enumerate(tokens):
        _box(axes, x, 0, token, width, FROZEN if x < len(asked) else TRAINED)
        counts = len(asked) <= x + 1 < len(tokens)
        _box(axes, x, 1.5, tokens[x + 1] if counts else "−100", width, TRAINED if counts else "white")
        arrow(axes, (x, 0.45), (x, 1.05), EDGE)
    axes.text(-0.7, 0, "token", ha="right", va="center")
    axes.text(-0.7, 1.5, "label", ha="right", va="center")
    axes.set(xlim=(-1.5, len(tokens) - 0.4), ylim=(-0.6, 2.1))
    axes.set_axis_off()
    show(
        figure,
        alt=f"The text {' '.join(tokens)}, a box for each token, with its label above it. The labels inside "
        f"the request are −100 and do not count. The last token of the request has the first label that "
        f"counts, {answered[0]}, and the token before the final EOS the last one, EOS.",
    )


def diagram_dpo() -> None:
    """Show DPO: the model and a frozen copy score two answers; the margin goes into the loss."""
    show_picture(__file__, "dpo")


@style_context()
def plot_accuracies(
    scores: Mapping[str, Sequence[Mapping[str, float]]], alt: str, ylabel: str = "accuracy"
) -> None:
    """Show the accuracy on each task, one group of bars per task; dots are single runs.

    scores: by the name of a way to train, the accuracy by task of each run.
    """
    figure, axes = plt.subplots(figsize=(6.0, 3.2))
    tasks = list(next(iter(scores.values()))[0])
    width = 0.8 / len(scores)
    for i, (name, runs) in enumerate(scores.items()):
        places = [n + (i - (len(scores) - 1) / 2) * width for n in range(len(tasks))]
        means = [sum(run[task] for run in runs) / len(runs) for task in tasks]
        look = {"hatch": HATCHES[i % 4], "color": PALETTE[i], "edgecolor": "white", "linewidth": 0}
        axes.bar(places, means, 0.92 * width, label=name, **look)
        for run in runs[: len(runs) if len(runs) > 1 else 0]:
            axes.plot(places, [run[task] for task in tasks], "o", color="black", markersize=3)
    axes.set_xticks(range(len(tasks)), tasks)
    axes.set(ylim=(0, 1.04), ylabel=ylabel)
    axes.grid(axis="x", visible=False)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    show(figure, alt=alt)
