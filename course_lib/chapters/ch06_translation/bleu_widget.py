"""BLEU of an editable candidate and reference, with the n-grams that match."""

import math
import re
from collections import Counter
from collections.abc import Callable
from itertools import islice

import ipywidgets
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib.chapters.ch06_translation.score_figures import match_ngrams
from course_lib.text.bleu import Bleu, corpus_bleu, ngrams
from course_lib.viz.style import PALETTE
from course_lib.widgets.explorer import Explorer, numbered_bars, slider
from course_lib.widgets.markup import Markup, join, line, span, unbroken

LONGEST = 4  # words in an n-gram
WORDS = 40  # most words in a sentence
SHOWN = 12  # most distinct n-grams listed
COUNTED, CLIPPED, UNMATCHED = KINDS = ("counted", "clipped", "unmatched")
# counted words are bold and underlined, clipped ones struck through: color alone excludes some readers
LOOKS = {
    COUNTED: "background: #cde3f3; color: #000; font-weight: bold; text-decoration: underline",
    CLIPPED: "background: #f6d9b5; color: #000; text-decoration: line-through",
    UNMATCHED: "background: #fff; color: #000",
}
BARS = {COUNTED: (PALETTE[9], ""), CLIPPED: (PALETTE[1], "////"), UNMATCHED: ("white", "")}
REFERENCE = "the cat sleeps on the old chair"
EXAMPLES = {
    "a repeated word": "the cat the cat sleeps on the cat",
    "too short": "the cat sleeps on",
    "a different word order": "on the old chair sleeps the cat",
    "a different word": "the cat naps on the old chair",
    "an exact match": REFERENCE,
}


def bleu_explorer(longest: int = 2) -> Explorer:
    """BLEU for a candidate and a reference that you edit, with n-grams up to a chosen length.

    longest: that length at first.
    Raises ValueError for a length that the slider does not have.
    Source: Papineni et al. 2002 (BLEU).
    """
    if not 1 <= longest <= LONGEST:
        raise ValueError(f"longest={longest} is outside 1 to {LONGEST}")
    field = {"continuous_update": False, "layout": {"width": "30em"}}
    controls = {
        "example": slider(ipywidgets.Dropdown, "example", options=list(EXAMPLES)),
        "n": slider(ipywidgets.IntSlider, "longest n-gram", value=longest, min=1, max=LONGEST),
        "candidate": ipywidgets.Text(value=next(iter(EXAMPLES.values())), description="candidate", **field),
        "reference": ipywidgets.Text(value=REFERENCE, description="reference", **field),
    }

    def fill(change: dict) -> None:
        controls["candidate"].value, controls["reference"].value = EXAMPLES[change["new"]], REFERENCE

    controls["example"].observe(fill, names="value")
    return Explorer(
        controls,
        bleu_picture,
        "a menu of examples, a slider for the longest n-gram and fields for candidate and reference, above "
        "the n-grams that are counted, clipped or unmatched, their precisions, the brevity penalty and BLEU.",
        size=(7.0, 2.5),
    )


def words_of(text: str) -> list[str]:
    """Split a text into words; each punctuation mark counts as a word."""
    return re.findall(r"\w+|[^\w\s]", text)


def kinds_of(candidate: list[str], reference: list[str], n: int) -> list[str]:
    """Whether each n-gram of the candidate is counted, clipped or unmatched."""
    return [COUNTED if isinstance(kind, int) else kind for kind in match_ngrams(candidate, reference, n)]


def bleu_picture(figure: Figure) -> Callable[..., tuple[str, Markup]]:
    """Counts for each n-gram length on the left, the resulting scores on the right."""
    left, right = figure.add_axes((0.17, 0.2, 0.42, 0.66)), figure.add_axes((0.76, 0.2, 0.22, 0.66))
    counts = Counts(left)
    right.set(xlim=(0, 1.3), ylim=(2.5, -0.5), xticks=(0, 0.5, 1), title="BLEU / 100")
    right.set_yticks(range(3), ("mean", "penalty", "product"))
    right.grid(axis="y", visible=False)
    bars = right.barh(range(3), [0.0] * 3, color=(PALETTE[9], PALETTE[7], PALETTE[2]))
    move = numbered_bars(bars)

    def update(example: str, n: int, candidate: str, reference: str) -> tuple[str, Markup]:
        mine, right_ones = words_of(candidate), words_of(reference)
        cut = max(len(mine), len(right_ones)) > WORDS
        mine, right_ones = mine[:WORDS], right_ones[:WORDS]
        found = [kinds_of(mine, right_ones, length) for length in range(1, LONGEST + 1)]
        bleu = corpus_bleu([mine], [right_ones], max_n=n)
        counts.draw(found, n)
        move([math.prod(bleu.precisions) ** (1 / n), bleu.brevity_penalty, bleu.score / 100])
        warning = f"Only the first {WORDS} words of a sentence are used. " if cut else ""
        whole = corpus_bleu([mine], [right_ones], max_n=LONGEST)
        return warning + in_words(found, bleu, whole, n), below(mine, right_ones, found[n - 1], n)

    return update


class Counts:
    """Stacked bars for each n-gram length: counted, clipped and unmatched."""

    def __init__(self, axes: Axes):
        self.axes, lengths = axes, range(LONGEST)
        axes.set(xlim=(0, 1), ylim=(LONGEST - 0.5, -0.5), xticks=(), title="n-grams of the candidate")
        axes.set_yticks(lengths, [f"{n + 1} word{'s' if n else ''}" for n in lengths])
        axes.grid(visible=False)
        self.bars = {}
        for kind, (colour, hatch) in BARS.items():
            look = {"color": colour, "edgecolor": "0.2", "hatch": hatch, "label": kind, "animated": True}
            self.bars[kind] = axes.barh(lengths, [0.0] * LONGEST, height=0.62, **look)
        axes.legend(
            ncols=3, loc="upper left", bbox_to_anchor=(-0.3, -0.02), columnspacing=1, handlelength=1.2
        )
        look = {"ha": "right", "va": "center", "animated": True}
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        self.texts = [axes.text(0.99, n, "", bbox=box, **look) for n in lengths]

    def draw(self, found: list[list[str]], n: int) -> None:
        """Show the n-grams of each length; those longer than n do not count and are faint."""
        most = max(1, len(found[0]))
        self.axes.set_xlim(0, 1.85 * most)
        for row, of_length in enumerate(found):
            many = Counter(of_length)
            start, strength = 0, 1.0 if row < n else 0.25
            for kind, bars in self.bars.items():
                bars[row].set(x=start, width=many[kind], alpha=strength)
                start += many[kind]
            share = f" = {many[COUNTED] / start:.2f}" if start else ""
            text = f"{many[COUNTED]} of {start}{share}" if row < n else "not used"
            self.texts[row].set(text=text, x=1.83 * most, color="0.1" if row < n else "0.4")


def in_words(found: list[list[str]], bleu: Bleu, whole: Bleu, n: int) -> str:
    """Status line: score, precisions, lengths and brevity penalty."""
    if not bleu.candidate_length or not bleu.reference_length:
        return "Type a candidate and a reference: each needs at least one word."
    shares = ", ".join(f"{of_length.count(COUNTED)} of {len(of_length)}" for of_length in found[:n])
    lengths = f"{bleu.candidate_length} words against {bleu.reference_length}"
    penalty = f"brevity penalty {bleu.brevity_penalty:.2f}" if bleu.brevity_penalty < 1 else "no penalty"
    clipped = found[n - 1].count(CLIPPED)
    too_often = (
        f" Clipped n-grams of {size(n)}: {clipped}, because the reference has fewer." if clipped else ""
    )
    zero = " With no match at some length, BLEU is 0." if not bleu.score else ""
    up_to = f"BLEU with n-grams of up to {size(n)}: {bleu.score:.1f}"
    all_of_them = f" (up to {LONGEST}: {whole.score:.1f})" if n < LONGEST else ""
    return f"{up_to}{all_of_them}. Counted, by length: {shares}; {lengths}, {penalty}.{too_often}{zero}"


def size(n: int) -> str:
    return f"{n} word{'s' if n > 1 else ''}"


def below(candidate: list[str], reference: list[str], found: list[str], n: int) -> Markup:
    """Reference, candidate with its words marked, and the n-grams of the chosen length with their counts."""
    marks = [span(word, LOOKS[kind_of_word(i, found, n)]) for i, word in enumerate(candidate)]
    legend = [span(kind, LOOKS[kind]) for kind in KINDS]
    return join(
        [
            line("Reference:", span(" ".join(reference), "")),
            line("Candidate:", join(marks, " ")),
            line("Marks:", join(legend, " ")),
            line(f"N-grams of {size(n)}, counted:", counts_in_words(candidate, reference, n)),
        ]
    )


def kind_of_word(place: int, found: list[str], n: int) -> str:
    """Best kind among the n-grams that contain this word: counted, then clipped, then unmatched."""
    kinds = found[max(0, place - n + 1) : place + 1]
    return next((kind for kind in KINDS if kind in kinds), UNMATCHED)


def counts_in_words(candidate: list[str], reference: list[str], n: int) -> Markup:
    """Each distinct n-gram with how many of its occurrences are counted, such as "the cat 1 of 3"."""
    mine, expected = ngrams(candidate, n), ngrams(reference, n)
    parts = []
    for words, many in islice(mine.items(), SHOWN):
        counted = min(many, expected[words])
        look = LOOKS[COUNTED if counted else UNMATCHED]
        parts.append(unbroken(span(" ".join(words), look), span(f" {counted} of {many}", "")))
    more = f"and {len(mine) - SHOWN} more" if len(mine) > SHOWN else ""
    return join([*parts, span(more, "")], "  ")
