"""Figures of chapter 7: the questions in one window, a GPT from bottom to top, losses against a baseline."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from course_lib.viz.diagrams import arrow, box, canvas
from course_lib.viz.figures import show, show_picture
from course_lib.viz.style import PALETTE, style_context

READ, PREDICTED = PALETTE[0], PALETTE[1]


@style_context()
def diagram_next_token(tokens: Sequence[str] = ("The", "cat", "sleeps", ".", "She")) -> None:
    """Show one window of a text as several questions: from each prefix, predict the next token."""
    questions = len(tokens) - 1
    figure, axes = canvas(62, 6 * questions + 6)
    for row in range(questions):
        y = 6 * (questions - row) - 2
        for column, token in enumerate(tokens[: row + 1]):
            box(axes, (17 + 9 * column, y), token, 8, READ)
        axes.text(0.5, y, f"position {row}", ha="left", va="center")
        x = 17 + 9 * (row + 1)
        arrow(axes, (x - 5, y), (x - 3, y))
        box(axes, (x + 1.2, y), tokens[row + 1], 8, PREDICTED)
    axes.text(13, 6 * questions + 3, "reads", ha="left", va="center", weight="bold")
    axes.text(22.5, 6 * questions + 3, "must predict", ha="left", va="center", weight="bold")
    prefixes = "; ".join(f"{' '.join(tokens[: t + 1])} → {tokens[t + 1]}" for t in range(questions))
    show(
        figure,
        alt=f"One window of {len(tokens)} tokens is {questions} questions, one per row. Each reads tokens up "
        f"to its position and must predict the next one: {prefixes}.",
    )


def diagram_gpt() -> None:
    """Show a GPT: embedding and positions, blocks under a causal mask, LayerNorm, the embedding again."""
    show_picture(__file__, "gpt")


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
