"""Figures of chapter 6c: n-gram matches, brevity penalty, checkpoints, errors, bootstrap, seeds."""

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise

import matplotlib.pyplot as plt
from jaxtyping import Float
from matplotlib.axes import Axes
from torch import Tensor

from course_lib.text.bleu import brevity_penalty, ngrams
from course_lib.text.significance import interval
from course_lib.viz.figures import picture, show
from course_lib.viz.shared import checkpoints_figure
from course_lib.viz.style import PALETTE, style_context
from course_lib.viz.trends import courses, trend

NEAR_0 = 15  # of scores up to 100
TOP, BOTTOM = 1.0, 0.0  # height of the reference's n-grams and of the candidate's
LOOKS = {  # border of an n-gram: matched, in the reference but too often, not in the reference
    "counted": {"edgecolor": PALETTE[0], "linewidth": 2.0, "facecolor": "#e3eff8"},
    "clipped": {"edgecolor": PALETTE[1], "linewidth": 2.0, "facecolor": "white", "linestyle": "--"},
    "unmatched": {"edgecolor": "0.7", "linewidth": 1.2, "facecolor": "white"},
}


def match_ngrams(candidate: Sequence[str], reference: Sequence[str], n: int) -> list[int | str]:
    """For each n-gram of the candidate: which n-gram of the reference it matches, "clipped" or "unmatched".

    Each n-gram of the reference matches at most once, the first one that is left.
    """
    theirs = _in_order(reference, n)
    left, found = set(range(len(theirs))), []
    for gram in _in_order(candidate, n):
        free = [i for i in sorted(left) if theirs[i] == gram]
        left -= set(free[:1])
        found.append(free[0] if free else "clipped" if gram in ngrams(reference, n) else "unmatched")
    return found


def _in_order(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


@style_context()
def diagram_matches(candidate: Sequence[str], reference: Sequence[str], n: int) -> None:
    """Show the n-grams of a reference above those of a candidate, with a line for each match."""
    partners = match_ngrams(candidate, reference, n)
    mine, theirs = _in_order(candidate, n), _in_order(reference, n)
    most = max(len(mine), len(theirs))
    figure, axes = plt.subplots(figsize=(6.4, 1.6), layout="none")
    figure.subplots_adjust(left=0.01, right=0.99, bottom=0.02, top=0.98)
    axes.set(xlim=(-1.5, most - 0.4), ylim=(-0.4, 1.4))
    axes.set_axis_off()
    matched = {partner for partner in partners if isinstance(partner, int)}
    _ngram_row(
        axes,
        "reference",
        theirs,
        TOP,
        ["counted" if i in matched else "unmatched" for i in range(len(theirs))],
    )
    _ngram_row(axes, "candidate", mine, BOTTOM, ["counted" if isinstance(p, int) else p for p in partners])
    for i, partner in enumerate(partners):
        if isinstance(partner, int):
            axes.plot((i, partner), (BOTTOM + 0.25, TOP - 0.25), color=PALETTE[0], linewidth=1.6)
    clipped = partners.count("clipped")
    show(
        figure,
        alt=f"The {n}-grams of the reference {' '.join(reference)!r} ({len(theirs)}) above those of the "
        f"candidate {' '.join(candidate)!r} ({len(mine)}). Lines join {len(matched)} of the candidate's to "
        "equal ones above"
        + (f"; {clipped} more are clipped, because the reference has none left." if clipped else "."),
    )


def _ngram_row(
    axes: Axes, name: str, grams: Sequence[tuple[str, ...]], y: float, kinds: Sequence[str]
) -> None:
    axes.text(-1.45, y, name, va="center", ha="left")
    for x, (gram, kind) in enumerate(zip(grams, kinds, strict=True)):
        box = {"boxstyle": "round,pad=0.3", **LOOKS[kind]}
        color = "0.45" if kind == "unmatched" else "black"
        axes.text(x, y, " ".join(gram), va="center", ha="center", bbox=box, color=color)


@style_context()
def plot_brevity() -> None:
    """Show the brevity penalty over the candidate's length, relative to the reference's."""
    lengths = range(10, 101)  # for a reference of 50 words
    figure, axes = plt.subplots(figsize=(5.2, 2.4))
    axes.plot([c / 50 for c in lengths], [brevity_penalty(c, 50) for c in lengths], color=PALETTE[0])
    axes.plot(0.5, brevity_penalty(1, 2), "o", color=PALETTE[1])
    axes.annotate("half as long: 0.37", (0.5, brevity_penalty(1, 2)), (0.6, 0.28))
    axes.set(xlabel="length of the candidate / length of the reference", ylabel="penalty", ylim=(0, 1.08))
    show(
        figure,
        alt="The brevity penalty over the ratio of the lengths: near 0 at one fifth, 0.37 at one half, 0.78 "
        "at four fifths, and 1 from equal lengths on.",
    )


def plot_checkpoints(
    steps: Sequence[int], loss: Sequence[float], scores: Mapping[str, Sequence[float]]
) -> None:
    """Show the validation loss, and scores from 0 to 100, at the saved checkpoints of one run."""
    show(
        checkpoints_figure(steps, loss, scores),
        alt=f"Above, the validation loss at the checkpoints from step {steps[0]} to {steps[-1]}: it "
        f"{_loss_in_words(loss)}. Below, {' and '.join(scores)} at the same checkpoints: "
        f"{_scores_in_words(loss, scores)}",
    )


def _loss_in_words(loss: Sequence[float]) -> str:
    falls = [before - after for before, after in pairwise(loss)]
    slows = len(falls) > 1 and min(falls) > 0 and falls[0] > 2 * falls[-1]
    return "falls fast, then slowly" if slows else trend(loss)


def _scores_in_words(loss: Sequence[float], scores: Mapping[str, Sequence[float]]) -> str:
    falls = [before - after for before, after in pairwise(loss)]
    after = falls.index(max(falls)) + 1 if falls else 0
    late = all(  # each starts near 0, and makes more than half of its rise later
        values[0] < min(NEAR_0, values[-1]) and 2 * values[after] < values[0] + values[-1]
        for values in scores.values()
    )
    if late and max(falls, default=0) > 0:
        return "they start near 0, and rise most after the loss has made its steepest fall."
    return courses(scores)


@style_context()
def plot_error_kinds(counts: Mapping[str, Mapping[str, int]], sentences: int) -> None:
    """Show how many of the sentences have each kind of error, with one bar per system."""
    kinds = sorted(
        {kind for system in counts.values() for kind in system},
        key=lambda kind: -max(system.get(kind, 0) for system in counts.values()),
    )
    figure, axes = plt.subplots(figsize=(6.2, 0.5 + 0.55 * len(kinds)))
    height = 0.8 / len(counts)
    for i, (name, system) in enumerate(counts.items()):
        places = [k + (i - (len(counts) - 1) / 2) * height for k in range(len(kinds))]
        axes.barh(
            places,
            [system.get(kind, 0) for kind in kinds],
            height=0.9 * height,
            label=name,
            color=PALETTE[i],
            hatch=("", "////")[i % 2],
            edgecolor="white",
        )
    axes.set(yticks=range(len(kinds)), yticklabels=kinds, xlabel=f"sentences, of {sentences:,}")
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.legend()
    show(
        figure,
        alt=f"Bars: how many of {sentences:,} sentences have each kind of error, for {', '.join(counts)}.",
    )


@style_context()
def plot_differences(differences: Mapping[str, Float[Tensor, " rounds"]], alt: str) -> None:
    """Show histograms of bootstrapped differences, with their middle 95% and a line at 0."""
    figure, panels = plt.subplots(
        len(differences), 1, figsize=(5.6, 0.6 + 1.15 * len(differences)), sharex=True, squeeze=False
    )
    for axes, (name, values), color in zip(panels[:, 0], differences.items(), PALETTE, strict=False):
        axes.hist(values.numpy(), bins=40, color=color)
        axes.axvspan(*interval(values), color="0.5", alpha=0.18, zorder=0)
        axes.axvline(0, color="black", linewidth=1.4)
        axes.set(yticks=[], title=name)
        axes.grid(visible=False)
    panels[-1, 0].set_xlabel("difference in BLEU")
    show(figure, alt=alt)


diagram_bootstrap = picture(
    __file__,
    "bootstrap",
    "Show test sentences as cards, and one round of the bootstrap: the cards it draws, and their sums.",
)


@style_context()
def plot_seed_scores(scores: Mapping[str, Sequence[float]]) -> None:
    """Show a strip plot: the scores of the same runs, one row of dots for each test set.

    scores: by the name of the test set, the runs' scores, always in the same order; a gray line joins the
    dots of one run.
    Raises ValueError for rows of different lengths.
    """
    names, runs = list(scores), list(zip(*scores.values(), strict=True))
    figure, axes = plt.subplots(figsize=(6.2, 0.9 + 0.6 * len(names)))
    for run in runs:
        axes.plot(run, range(len(names)), color="0.8", linewidth=1.0, zorder=1)
    for row, name in enumerate(names):
        axes.plot(scores[name], [row] * len(runs), "o", color=PALETTE[row], markersize=8, alpha=0.75)
    axes.set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.5, -0.5), xlabel="BLEU")
    axes.grid(axis="y", visible=False)
    pairs = list(combinations(runs, 2))
    orders = [{(one > other) - (one < other) for one, other in zip(*pair, strict=True)} for pair in pairs]
    changed = sum({-1, 1} <= order for order in orders)
    ranges = (f"{name} from {min(values):.0f} to {max(values):.0f}" for name, values in scores.items())
    show(
        figure,
        alt=f"The BLEU scores of {len(runs)} runs as dots: {'; '.join(ranges)}. A line joins the dots of one "
        f"run: {changed} of the {len(pairs)} pairs of runs change their order.",
    )
