"""Figures of chapters 7 and 7d: a GPT and its losses against baselines; adapting it, and the accuracies."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from course_lib.viz.figures import picture, show
from course_lib.viz.style import PALETTE, style_context

HATCHES = ("", "///", "...", "xx")


diagram_next_token = picture(
    __file__,
    "next_token",
    "Show one window of a text as several questions: from each prefix, predict the next token.",
)
diagram_gpt = picture(
    __file__,
    "gpt",
    "Show a GPT: embedding and positions, blocks under a causal mask, LayerNorm, the embedding again.",
)


@style_context()
def plot_against_baseline(
    steps: Sequence[int], losses: Sequence[float], baselines: Mapping[str, float]
) -> None:
    """Show the held-out loss over the training steps, with a horizontal line for each baseline."""
    figure, axes = plt.subplots(figsize=(5.6, 3))
    axes.plot(steps, losses, "o-", label="GPT")
    axes.set(xlabel="step", ylabel="loss (nats per token)", xlim=(0, max(steps)))
    _lines(axes, baselines)
    axes.legend(loc="upper right")
    ends = f"starts {_beside(losses[0], baselines)}, and ends {_beside(losses[-1], baselines)}"
    show(figure, alt=f"Validation loss over {max(steps):,} steps, with horizontal lines. It {ends}.")


@style_context()
def plot_by_context(curves: Mapping[str, Sequence[float]], baselines: Mapping[str, float]) -> None:
    """Show the loss over the number of tokens that a model has read, with a line for each baseline."""
    figure, axes = plt.subplots(figsize=(5.6, 3))
    for (name, losses), style in zip(curves.items(), ("o-", "s--", "^:"), strict=False):
        axes.plot(range(1, len(losses) + 1), losses, style, markersize=3.5, label=name)
    longest = max(map(len, curves.values()))
    axes.set(xlabel="tokens of context", ylabel="loss (nats per token)", xlim=(0, longest + 1))
    _lines(axes, baselines)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.3 * (high - low))  # space for the legend
    axes.legend(loc="upper right")
    said = "; ".join(
        f"{name} peaks {_beside(max(each), baselines)} and ends {_beside(each[-1], baselines)}"
        for name, each in curves.items()
    )
    show(figure, alt=f"Test loss over the number of tokens of context, with horizontal lines. {said}.")


def _beside(loss: float, baselines: Mapping[str, float]) -> str:
    """Which baselines a loss lies above, and which below, in words."""
    above = " and ".join(f"“{name}”" for name, level in baselines.items() if loss >= level)
    below = " and ".join(f"“{name}”" for name, level in baselines.items() if loss < level)
    return " and ".join(f"{word} {names}" for word, names in (("above", above), ("below", below)) if names)


def _lines(axes: Axes, levels: Mapping[str, float]) -> None:
    """Horizontal lines, each named to the right of the axes, where no curve runs."""
    for (name, level), style in zip(levels.items(), ("--", ":", "-."), strict=False):
        axes.axhline(level, color="0.35", linestyle=style, linewidth=1.3)
        place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
        axes.annotate(name, (1, level), (4, 0), ha="left", va="center", **place)


diagram_answer_labels = picture(
    __file__, "answer_labels", "Show a request and its answer as one text, with the labels that count."
)
diagram_dpo = picture(
    __file__, "dpo", "Show DPO: the model and a frozen copy score two answers; the margin goes into the loss."
)


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
