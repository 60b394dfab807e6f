"""Figures of chapter 7c: pretraining and fine-tuning, two training objectives, the gap, and scaling laws."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter, NullLocator

from course_lib.viz.figures import picture, show
from course_lib.viz.style import PALETTE, style_context
from course_lib.viz.trends import trend

NEAR = 0.05  # relative error up to which a fitted law passes "near" the measured losses
STYLES = ("o-", "s--", "^-.", "D:")
Number: TypeAlias = float | int
Predicted: TypeAlias = Callable[[Number, Number], float]  # of parameters and tokens: a loss
Measured: TypeAlias = Sequence[tuple[Number, Number, float]]  # parameters, tokens, loss


diagram_pretraining = picture(
    __file__,
    "pretraining",
    "Show the two stages: pretraining on raw text, then fine-tuning the same weights on a few pairs.",
)
diagram_objectives = picture(
    __file__,
    "objectives",
    "Show what each token sees and predicts: next-token prediction, and masked language modeling.",
)


@style_context()
def plot_gap(
    steps: Sequence[int], curves: Mapping[str, tuple[Sequence[Sequence[float]], Sequence[Sequence[float]]]]
) -> None:
    """Show losses on the training pairs (dashed) and on held-out pairs, one thin line per seed.

    curves: by name, the training losses and the held-out losses of each seed.
    """
    figure, panels = plt.subplots(1, len(curves), figsize=(6.4, 3.0), sharey=True)
    said = []
    for axes, (title, (trained, held_out)) in zip(panels, curves.items(), strict=True):
        for rows, style, color, label in (
            (held_out, "o-", PALETTE[0], "held-out"),
            (trained, "s--", PALETTE[1], "training"),
        ):
            for i, row in enumerate(rows):
                places = steps[: len(row)]
                axes.plot(places, row, style, color=color, markersize=3, label=label if i == 0 else None)
        ends = [sum(row[-1] for row in rows) / len(rows) for rows in (trained, held_out)]
        said.append(f"{title}: from {ends[0]:.1f} on training pairs to {ends[1]:.1f} on held-out pairs")
        axes.set(title=title, xlabel="step of fine-tuning", ylim=(0, None))
    panels[0].set_ylabel("loss per target token")
    panels[0].legend(loc="center right")
    show(figure, alt="Losses along the fine-tuning, a line per seed. At the end, " + "; ".join(said) + ".")


@style_context()
def plot_pretraining_gain(
    scores: Mapping[str, Mapping[int, Sequence[float]]], measure: str = "BLEU on test pairs"
) -> None:
    """Show scores over the number of labeled pairs, one line per way to start; dots are single runs.

    scores: from 0 to 100. measure: what they are.
    """
    figure, axes = plt.subplots(figsize=(5.8, 3.5))
    for (name, rows), style, color in zip(scores.items(), STYLES, PALETTE, strict=False):
        axes.plot(list(rows), [sum(row) / len(row) for row in rows.values()], style, color=color, label=name)
        for size, row in rows.items():
            axes.plot([size] * len(row), row, ".", color=color, markersize=4)
    sizes = sorted({size for rows in scores.values() for size in rows})
    axes.set(xscale="log", xlabel="labeled pairs", ylabel=measure, ylim=(0, 103))
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.legend(loc="lower right")
    said = "; ".join(
        f"{name}: " + ", ".join(f"{sum(row) / len(row):.1f} with {size:,}" for size, row in rows.items())
        for name, rows in scores.items()
    )
    show(figure, alt=f"{measure} over the number of labeled pairs. {said}.")


def _log_axes(axes: Axes, losses: Sequence[float]) -> None:
    """Logarithmic axes, with round ticks for the losses."""
    low, high = min(losses), max(losses)
    step = 0.1 if high - low < 0.6 else 0.2 if high - low < 1.5 else 0.5
    ticks = [step * i for i in range(int(np.ceil(low / step)), int(high / step) + 1)]
    axes.set(xscale="log", yscale="log")
    axes.yaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(ticks, [f"{tick:.1f}" for tick in ticks])


@style_context()
def plot_power_law(
    x: Sequence[Number], losses: Sequence[float], c: Number, alpha: Number, xlabel: str = "parameters"
) -> None:
    """Show measured losses over x on logarithmic axes, with the power law c · x^−alpha as a line."""
    figure, axes = plt.subplots(figsize=(5.4, 3.0))
    line = np.geomspace(min(x), max(x), 50)
    axes.plot(line, c * line**-alpha, "--", color=PALETTE[1], label=f"fitted: loss ∝ x^−{alpha:.2f}")
    axes.plot(x, losses, "o", color=PALETTE[0], label="measured")
    _log_axes(axes, losses)
    axes.set(xlabel=xlabel, ylabel="held-out loss")
    axes.legend(loc="upper right")
    points = sorted(zip(x, losses, strict=True), key=lambda point: point[0])
    off = float(np.max([abs(c * n**-alpha / loss - 1) for n, loss in points]))
    show(
        figure,
        alt=f"Held-out loss over {xlabel}, both axes logarithmic: {len(x)} points "
        f"{trend([loss for _, loss in points], plural=True)}, {_nearness(off)} a straight line.",
    )


def _nearness(off: float) -> str:
    """How far measured losses lie from a law. off: the largest relative error."""
    return "near" if off < NEAR else f"up to {off:.0%} from"


@style_context()
def plot_sweep(
    measured: Measured,
    law: Predicted,
    predicted: tuple[Number, float, float, float] | None = None,
    tested: tuple[Number, Number, float] | None = None,
) -> None:
    """Show the losses of a sweep over the tokens, one color per size, with the law's curves.

    predicted: tokens of a larger run, its predicted loss, and the two ends of the interval. tested: the
    larger run as measured, with the law's curve for its size.
    """
    figure, axes = plt.subplots(figsize=(6.4, 4.2))
    sizes = sorted({n for n, _, _ in measured})
    last = max([d for _, d, _ in measured] + [predicted[0] if predicted else 0])
    line = np.geomspace(min(d for _, d, _ in measured), last, 60)
    for size, color in zip(sizes, PALETTE, strict=False):
        axes.plot(line, [law(size, d) for d in line], "-", color=color, linewidth=1.2)
        rows = [(d, loss) for n, d, loss in measured if n == size]
        axes.plot(*zip(*rows, strict=True), "o", color=color, markersize=4, label=f"{size:,.0f} parameters")
    said = _fit_in_words(measured, law)
    if predicted:
        tokens, loss, low, high = predicted
        axes.vlines(tokens, low, high, color="black", linewidth=5, alpha=0.35)
        axes.plot([tokens], [loss], "_", color="black", markersize=14, label="predicted, larger run")
        said += f" The predicted loss of a larger run is {loss:.2f}, between {low:.2f} and {high:.2f}."
    if tested:
        curve = [law(tested[0], d) for d in line]
        axes.plot(line, curve, ":", color="black", linewidth=1.2)
        name = f"measured, {tested[0]:,.0f} parameters"
        axes.plot([tested[1]], [tested[2]], "*", color="black", markersize=11, label=name)
        said += f" It was measured at {tested[2]:.2f}."
    losses = [loss for _, _, loss in measured] + ([predicted[2]] if predicted else [])
    _log_axes(axes, losses)
    places = sorted({d for _, d, _ in measured} | ({predicted[0]} if predicted else set()))
    axes.set_xticks(places, [f"{d / 1000:,.0f}k" for d in places])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set(xlabel="training tokens", ylabel="held-out loss")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    show(
        figure,
        alt=f"Held-out loss over training tokens, both axes logarithmic, for {len(sizes)} sizes. {said}",
    )


def _fit_in_words(measured: Measured, law: Predicted) -> str:
    sizes = sorted({n for n, _, _ in measured})
    falls = 0
    for size in sizes:
        curve = sorted((d, loss) for n, d, loss in measured if n == size)
        falls += curve[-1][1] < curve[0][1]
    many = "" if falls == len(sizes) else f" for {falls} of them"
    off = float(np.max([abs(law(n, d) / loss - 1) for n, d, loss in measured]))
    return (
        f"The loss falls with more tokens{many}, and the curves of the fitted law pass {_nearness(off)} the "
        "points."
    )


@style_context()
def plot_budgets(
    law: Predicted, budgets: Sequence[Number], sizes: Sequence[Number], single: Sequence[Predicted] = ()
) -> None:
    """Show the predicted loss over the size for fixed compute budgets, with the best size of each.

    single: laws fitted to one seed each, drawn as thin lines.
    """
    figure, axes = plt.subplots(figsize=(5.8, 3.3))
    said, best = [], []
    for flops, color in zip(budgets, PALETTE, strict=False):
        lowest, *others = (
            _budget_curve(axes, one, flops, sizes, color, main=i == 0) for i, one in enumerate((law, *single))
        )
        best.append(lowest)
        between = f", between {min(others):.0e} and {max(others):.0e} by single seeds" if others else ""
        said.append(f"{lowest:.0e} for {flops:.0e} FLOPs{between}")
    axes.set(xscale="log", xlabel="parameters", ylabel="predicted loss")
    smallest = min(sizes, key=lambda n: law(n, budgets[0] / (6 * n)))
    axes.set_ylim(top=min(axes.get_ylim()[1], 2 * law(smallest, budgets[0] / (6 * smallest))))
    axes.legend(loc="upper center")
    lows = [law(n, flops / (6 * n)) for n, flops in zip(best, budgets, strict=False)]
    bowls = all(min(sizes) < n < max(sizes) for n in best)
    moves = best == sorted(set(best)) and lows == sorted(set(lows), reverse=True)
    shape = "Each falls and then rises; the more compute, the lower and the further right its lowest point"
    show(
        figure,
        alt="Predicted loss over the number of parameters, one curve per compute budget. "
        f"{shape if bowls and moves else 'Lowest points'}: {'; '.join(said)}.",
    )


def _budget_curve(
    axes: Axes, law: Predicted, flops: Number, sizes: Sequence[Number], color: str, main: bool
) -> Number:
    """Draw the loss over the size for one budget, and mark the best size, which is returned."""
    losses = [law(n, flops / (6 * n)) for n in sizes]
    lowest = min(range(len(sizes)), key=losses.__getitem__)
    label, look = (f"{flops:.0e} FLOPs", {}) if main else (None, {"linewidth": 0.6, "linestyle": "--"})
    axes.plot(sizes, losses, color=color, label=label, **look)
    axes.plot([sizes[lowest]], [losses[lowest]], "o", color=color, markersize=6 if main else 3)
    return sizes[lowest]
