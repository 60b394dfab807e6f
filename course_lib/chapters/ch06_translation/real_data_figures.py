"""Figures of chapter 6d: ranks of words, four ways to cut a sentence, merges, overfitting, what pays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

from course_lib.viz.diagrams import MIDDLE
from course_lib.viz.figures import picture, show
from course_lib.viz.style import PALETTE, style_context

BOX, MERGED, FRAME = "0.95", "#cfe5f5", "0.55"
STYLES = ("o-", "s--", "^-.", "v:", "D-")


@style_context()
def plot_ranks(counts: Mapping[int, int]) -> None:
    """Show how often the word of each rank occurs, with Zipf's 1/rank, on logarithmic axes.

    counts: by rank; rank 1 must be there.
    """
    figure, axes = plt.subplots(figsize=(5.6, 3.4))
    axes.loglog(counts.keys(), counts.values(), "o-", color=PALETTE[0], label="counted")
    expected = [counts[1] / rank for rank in counts]
    axes.loglog(counts.keys(), expected, "--", color=PALETTE[1], label="count of rank 1, divided by the rank")
    axes.set(xlabel="rank of the word", ylabel="occurrences", ylim=(0.5, 4 * counts[1]))
    axes.legend(loc="lower left")
    last = max(counts)
    above = sum(count > other for count, other in zip(counts.values(), expected, strict=True))
    stays = last > 1000 and all(counts[rank] * rank > counts[1] for rank in counts if 1 < rank <= 1000)
    where = "stay above it for the first thousands of ranks" if stays else f"are above it at {above} ranks"
    show(
        figure,
        alt=f"Occurrences over the rank of a word, both axes logarithmic. A dashed straight line falls like "
        f"1/rank from {counts[1]:,}. The counts start on it, {where}, and fall to {counts[last]:,} at rank "
        f"{last:,}.",
    )


diagram_cuts = picture(__file__, "cuts", "Show one sentence as words, subwords, characters and bytes.")


@style_context()
def diagram_merges(steps: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Show a word before and after each merge, one row for each.

    steps: what was merged (empty before the first merge), and the tokens of the word then.
    """
    figure, axes = plt.subplots(figsize=(5.6, 0.45 * len(steps) + 0.2))
    for row, (merged, tokens) in enumerate(steps):
        axes.text(-0.4, row + 0.5, merged or "bytes", ha="right", va="center")
        x = 0
        for token in tokens:
            look = {"facecolor": MERGED if len(token) > 1 else BOX, "edgecolor": FRAME}
            axes.add_patch(Rectangle((x + 0.04, row + 0.15), len(token) - 0.08, 0.7, **look))
            axes.text(x + len(token) / 2, row + 0.5, token, family="DejaVu Sans Mono", size=9, **MIDDLE)
            x += len(token)
    letters = sum(map(len, steps[0][1]))
    axes.set(xlim=(-5, letters + 0.3), ylim=(len(steps) + 0.05, -0.05))
    axes.set_axis_off()
    words = "; ".join(f"{merged or 'at first'}: {' '.join(tokens)}" for merged, tokens in steps)
    show(figure, alt=f"A word in tokens after each merge, from top to bottom. {words}.")


@style_context()
def plot_lengths(lengths: Mapping[int, float], words: float | int, characters: float | int) -> None:
    """Show the mean tokens of a sentence over the number of merges, between characters and words."""
    figure, axes = plt.subplots(figsize=(5.6, 3.2))
    axes.plot(range(len(lengths)), lengths.values(), "o-", color=PALETTE[0], label="byte-level BPE")
    for level, style, name in ((characters, "--", "characters"), (words, ":", "words and marks")):
        axes.axhline(level, color="0.4", linestyle=style, label=name)
    axes.set_xticks(range(len(lengths)), [f"{merges:,}" for merges in lengths])
    axes.set(xlabel="merges", ylabel="tokens in a sentence", ylim=(0, 33))
    axes.legend(loc="upper right", bbox_to_anchor=(1, 0.85))
    first, last = min(lengths), max(lengths)
    show(
        figure,
        alt=f"Mean tokens of a held-out sentence over the number of merges: {lengths[first]:.0f} "
        f"{f'after {first:,}' if first else 'without any'}, {lengths[last]:.0f} after {last:,}. "
        f"Lines for characters, {characters:.0f}, and words, {words:.0f}.",
    )


@style_context()
def plot_held_out_losses(
    curves: Mapping[str, tuple[Sequence[int], Sequence[float | int]]], *, alt: str
) -> None:
    """Show losses on held-out sentences over the steps, one curve for each number of training pairs."""
    figure, axes = plt.subplots(figsize=(5.6, 3.4))
    for i, ((name, (steps, losses)), style) in enumerate(zip(curves.items(), STYLES, strict=False)):
        axes.plot(steps, losses, style, color=PALETTE[i], label=name)
    axes.set(xlabel="step", ylabel="loss on held-out sentences", ylim=(0, None))
    axes.legend(loc="lower left", ncols=2)
    show(figure, alt=alt)


@style_context()
def plot_by_pairs(
    pairs: Sequence[int], trained: Sequence[float | int], held_out: Sequence[float | int]
) -> None:
    """Show BLEU on training sentences and on held-out ones over the number of training pairs."""
    figure, axes = plt.subplots(figsize=(5.6, 3.2))
    axes.semilogx(pairs, trained, "s--", color=PALETTE[1], label="sentences of the training set")
    axes.semilogx(pairs, held_out, "o-", color=PALETTE[0], label="held-out sentences")
    axes.set(xlabel="pairs in the training set", ylabel="BLEU", ylim=(0, 105))
    axes.set_xticks(pairs, [f"{number:,}" for number in pairs])
    axes.minorticks_off()
    axes.legend(loc="upper right", bbox_to_anchor=(1, 0.95))
    show(
        figure,
        alt="BLEU over the number of training pairs. On training sentences: "
        + ", ".join(f"{score:.1f} with {number:,}" for number, score in zip(pairs, trained, strict=True))
        + ". On held-out sentences: "
        + ", ".join(f"{score:.1f}" for score in held_out)
        + ".",
    )


@dataclass(frozen=True)
class Tried:
    """A row of `plot_tries`: a title for its group, a name, and its score."""

    group: str
    name: str
    score: float


@style_context()
def plot_tries(tries: Sequence[Tried], chance: float | int) -> None:
    """Show the score of each try, by group, with a band around the group's first: what may be chance."""
    groups = list(dict.fromkeys(one.group for one in tries))
    sizes = [sum(one.group == group for one in tries) for group in groups]
    figure, panels = plt.subplots(len(groups), 1, figsize=(6.2, 1.1 * len(groups) + 0.36 * len(tries)),
                                  height_ratios=sizes, squeeze=False)  # fmt: skip
    for group, axes in zip(groups, panels[:, 0], strict=True):
        rows = [one for one in tries if one.group == group]
        base = rows[0].score
        axes.axvspan(base - chance, base + chance, color="0.88")
        axes.plot([one.score for one in rows], range(len(rows)), "o", color=PALETTE[0])
        axes.set_yticks(range(len(rows)), [one.name for one in rows])
        axes.set(title=group, ylim=(len(rows) - 0.5, -0.5))
    panels[-1, 0].set_xlabel("BLEU on validation sentences; gray: may be chance")
    said = "; ".join(
        f"{group}: " + ", ".join(f"{one.name} {one.score:.1f}" for one in tries if one.group == group)
        for group in groups
    )
    show(
        figure,
        alt=f"BLEU of each variant, with a gray band of ±{chance:.1f} around the unchanged one. {said}.",
    )
