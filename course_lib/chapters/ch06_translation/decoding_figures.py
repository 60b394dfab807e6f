"""Figures of chapters 6 and 6b: training a translator, its cross-attention, decoding and its cost."""

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

import matplotlib.pyplot as plt
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from torch import Tensor

from course_lib.viz.diagrams import MIDDLE
from course_lib.viz.figures import heatmap, picture, show
from course_lib.viz.style import PALETTE, style_context
from course_lib.viz.trends import courses

Text: TypeAlias = tuple[str, ...]
COMPUTED, KEPT = PALETTE[1], "0.85"
GRAY = "0.55"


diagram_shift = picture(
    __file__, "shift", "Show what the decoder reads and what it must predict at each position."
)


@style_context()
def plot_losses(losses: Mapping[str, Sequence[float]], mean_of: int = 10, *, alt: str) -> None:
    """Show the training loss of several runs, each point a mean over `mean_of` steps."""
    figure, axes = plt.subplots(figsize=(5.6, 3))
    for (name, run), style in zip(losses.items(), ("-", "--", "-.", ":"), strict=False):
        means = [sum(run[i : i + mean_of]) / mean_of for i in range(0, len(run) - mean_of + 1, mean_of)]
        axes.plot([mean_of * (i + 1) for i in range(len(means))], means, style, label=name)
    axes.set(xlabel="step", ylabel="training loss", xlim=(0, None), ylim=(0, None))
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.legend()
    show(figure, alt=alt)


@style_context()
def plot_cross_attention(
    weights: Float[Tensor, "queries keys"], predicted: Sequence[str], source: Sequence[str], *, alt: str
) -> None:
    """Show where the decoder attends to in the source when it predicts each token."""
    axes = heatmap(weights, queries=predicted, keys=source, title="last layer, mean of the heads")
    axes.set(ylabel="predicts", xlabel="attends to")
    show(axes.figure, alt=alt)


plot_label_smoothing = picture(
    __file__,
    "label_smoothing",
    "Show the targets, a row per position: one-hot, and after label smoothing, ε = 0.3.",
)


@style_context()
def diagram_cache(tokens: Sequence[str] = ("BOS", "es", "un", "perro")) -> None:
    """Show which tokens go through the blocks at each decoding step, without and with a KV cache."""
    n = len(tokens)
    figure, panels = plt.subplots(1, 2, figsize=(6.4, 2.9))
    counts = n * (n + 1) // 2, n
    for axes, title, count in zip(panels, ("no cache", "KV cache"), counts, strict=True):
        for step in range(n):
            for token in range(step + 1):
                new = count > n or token == step
                axes.add_patch(plt.Rectangle((token, step), 0.94, 0.9, facecolor=COMPUTED if new else KEPT))
                axes.text(token + 0.47, step + 0.45, tokens[token], **MIDDLE)
        axes.set(xlim=(0, n), ylim=(n, 0), xticks=[], title=f"{title}: {count} token passes")
        axes.set_yticks([step + 0.45 for step in range(n)], [f"step {step + 1}" for step in range(n)])
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
    show(
        figure,
        alt="Two triangles, one row per decoding step, one column per token. Without a cache, all "
        f"tokens go through the blocks at each step, {counts[0]} in all. With a cache, only the newest does, "
        f"{counts[1]} in all; the keys and values of the earlier ones are stored.",
    )


@style_context()
def plot_search_tree(texts: Mapping[Text, float], greedy: Text, best: Text) -> None:
    """Show all texts of a small model as a tree, each token with its probability given its prefix.

    texts: the probability of each complete text. greedy, best: the texts whose paths are marked.
    """
    mass = prefix_probabilities(texts)
    labels = {text: f"{text[-1]} {p / mass[text[:-1]]:.2f}" for text, p in mass.items() if text}
    colors = {
        text: PALETTE[1] if text == best[: len(text)] else PALETTE[0] if text == greedy[: len(text)] else GRAY
        for text in mass
    }
    axes, rows = _draw_tree(texts, labels, colors)
    for text, p in texts.items():
        axes.text(len(text) + 0.45, rows[text], f"= {p:.2f}", va="center")
    show(
        axes.figure,
        alt=f"A tree of all {len(texts)} texts. Greedy decoding (blue) follows {' '.join(greedy)}, with "
        f"probability {texts[greedy]:.2f}; the most probable text (orange) is {' '.join(best)}, with "
        f"{texts[best]:.2f}.",
    )


@style_context()
def plot_beam(texts: Mapping[Text, float], width: int) -> None:
    """Show beam search on the tree of all texts: what each step keeps, drops, and never looks at.

    texts: the probability of each complete text. width: how many hypotheses a step keeps; as in the loop of
    chapter 6b, a finished one takes up a place. A label's number is the probability of the whole prefix.
    Raises ValueError for a width below 1.
    """
    mass, steps = prefix_probabilities(texts), beam_steps(texts, width)
    kept = {text for best, _ in steps for text in best}
    dropped = {text for _, rest in steps for text in rest}
    colors = {
        text: PALETTE[0] if text in kept or not text else PALETTE[1] if text in dropped else KEPT
        for text in mass
    }
    labels = {text: f"{text[-1]} {p:.2f}" for text, p in mass.items() if text}
    axes, _ = _draw_tree(texts, labels, colors, dashed=dropped)
    for depth, (best, rest) in enumerate(steps, start=1):
        axes.text(depth, -1.0, f"step {depth}:\nkeep {len(best)} of {len(best) + len(rest)}", **MIDDLE)
    axes.set_ylim(len(texts) - 0.4, -1.5)
    finished = max(kept & texts.keys(), key=lambda text: texts[text])
    show(
        axes.figure,
        alt=f"The tree of all {len(texts)} texts, searched with a beam of width {width}. "
        + " ".join(
            f"Step {depth} keeps (blue) {_listed(best, mass)}"
            + (f"; drops (orange, dashed) {_listed(rest, mass)}." if rest else ".")
            for depth, (best, rest) in enumerate(steps, start=1)
        )
        + f" What follows a dropped prefix (gray) is never looked at. The result is {' '.join(finished)}.",
    )


def prefix_probabilities(texts: Mapping[Text, float]) -> dict[Text, float]:
    """The probability of each prefix of the texts: the sum over the texts that begin with it.

    >>> prefix_probabilities({("a", "b"): 0.25, ("a", "c"): 0.75})[("a",)]
    1.0
    """
    prefixes = dict.fromkeys(text[:length] for text in texts for length in range(len(text) + 1))
    return {
        prefix: sum(p for text, p in texts.items() if text[: len(prefix)] == prefix)
        for prefix in sorted(prefixes, key=len)
    }


def beam_steps(texts: Mapping[Text, float], width: int) -> list[tuple[list[Text], list[Text]]]:
    """Beam search on all texts of a small model: the prefixes kept and dropped in each step, likeliest first.

    >>> beam_steps({("a", "b"): 0.3, ("a", "c"): 0.3, ("d", "e"): 0.4}, width=1)
    [([('a',)], [('d',)]), ([('a', 'b')], [('a', 'c')])]
    """
    if width < 1:
        raise ValueError(f"width={width}: a beam keeps at least 1 hypothesis")
    mass, hypotheses, steps = prefix_probabilities(texts), [()], []
    while hypotheses and width:
        extended = [text for text in mass if text and text[:-1] in hypotheses]
        extended.sort(key=lambda text: -mass[text])
        steps.append((extended[:width], extended[width:]))
        hypotheses = [text for text in extended[:width] if text not in texts]
        width -= min(width, len(extended)) - len(hypotheses)
    return steps


def _draw_tree(
    texts: Mapping[Text, float],
    labels: Mapping[Text, str],
    colors: Mapping[Text, str],
    dashed: Collection[Text] = (),
) -> tuple[Axes, dict[Text, float]]:
    """A tree of the texts, and the row of each prefix; the likelier of two branches is above."""
    mass = prefix_probabilities(texts)
    likelier_branch_first = sorted(texts, key=lambda text: [-mass[text[:i]] for i in range(1, len(text) + 1)])
    rows = {text: float(row) for row, text in enumerate(likelier_branch_first)}
    for prefix in sorted(mass.keys() - texts.keys(), key=len, reverse=True):
        below = [row for text, row in rows.items() if text[:-1] == prefix]
        rows[prefix] = sum(below) / len(below)
    _, axes = plt.subplots(figsize=(6.4, 0.62 * len(texts) + 0.3))
    for text, row in rows.items():
        if text:
            start = (len(text) - 1, rows[text[:-1]])
            line = {"color": colors[text], "linestyle": "--" if text in dashed else "-", "linewidth": 1.8}
            axes.plot(*zip(start, (len(text), row), strict=True), **line, zorder=1)
        frame = {"facecolor": "white", "edgecolor": colors[text]}
        axes.text(len(text), row, labels.get(text, "BOS"), bbox=frame, **MIDDLE)
    axes.set(xlim=(-0.4, max(map(len, texts)) + 1.0), ylim=(len(texts) - 0.4, -0.6))
    axes.set_axis_off()
    return axes, rows


def _listed(prefixes: Sequence[Text], mass: Mapping[Text, float]) -> str:
    return ", ".join(f"{' '.join(prefix)} {mass[prefix]:.2f}" for prefix in prefixes)


@style_context()
def plot_decoding_cost(
    lengths: Sequence[int], multiplications: Mapping[str, Sequence[float]], ms: Mapping[str, Sequence[float]]
) -> None:
    """Show the multiplications, in millions, and the time of decoding, with a cache and without."""
    figure, panels = plt.subplots(1, 2, figsize=(6.4, 2.8))
    for axes, lines, label in zip(
        panels, (multiplications, ms), ("million multiplications", "milliseconds"), strict=True
    ):
        for (name, values), style in zip(lines.items(), ("o-", "s--"), strict=False):
            axes.plot(lengths, values, style, label=name)
        axes.set(xlabel="tokens generated", ylabel=label, xticks=lengths, ylim=(0, None))
    panels[0].legend(loc="upper left")
    show(
        figure,
        alt="Cost over the number of tokens generated, counted and measured. "
        + _cost_in_words(lengths, multiplications, ms),
    )


def _cost_in_words(
    lengths: Sequence[int], multiplications: Mapping[str, Sequence[float]], ms: Mapping[str, Sequence[float]]
) -> str:
    """The shapes of the curves. Those of the times are too noisy to judge more than their ends."""
    (cached, uncached), (fast, slow) = multiplications.values(), ms.values()
    (first, last), (start, end) = _end_slopes(lengths, cached), _end_slopes(lengths, uncached)
    bent = abs(last - first) < 0.1 * first and 0 < 1.5 * start < end
    ends = 2 * cached[-1] < uncached[-1] and fast[0] < fast[-1] < slow[-1] / 2
    if bent and ends:
        shapes = "With the cache it rises nearly straight; without, it bends upward"
        return f"{shapes} and ends several times as high."
    units = {"Million multiplications": multiplications, "milliseconds": ms}
    return courses({f"{unit}, {name}": y for unit, curves in units.items() for name, y in curves.items()}, 0)


def _end_slopes(x: Sequence[int], y: Sequence[float]) -> tuple[float, float]:
    """The slopes of the first and of the last piece of a curve."""
    slopes = [(y[i + 1] - y[i]) / (x[i + 1] - x[i]) for i in range(len(x) - 1)]
    return (slopes[0], slopes[-1]) if slopes else (0.0, 0.0)


diagram_speculative = picture(
    __file__,
    "speculative",
    "Show one round of speculative decoding: four drafted tokens checked in one pass, two accepted.",
)
