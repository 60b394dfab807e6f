"""Machine translation step by step: next-token probabilities, cross-attention and beam search hypotheses."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import ipywidgets
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.generation.beam import Hypothesis
from course_lib.models.seq2seq import Seq2Seq
from course_lib.text.tokenizers import Tokenizer
from course_lib.viz.style import PALETTE
from course_lib.widgets.explorer import Explorer, numbered_bars, set_most, slider
from course_lib.widgets.markup import Markup, table
from course_lib.widgets.token_map import Names, TokenMap
from course_lib.widgets.translation_trace import Written, write

ROWS = 14  # most rows of the map: of a longer translation, the last ones up to the step
BEST = 5  # candidates shown
WIDEST = 5  # largest beam width


def translation_explorer(
    model: Seq2Seq, tokens: Tokenizer, examples: Sequence[str], width: int = 4
) -> Explorer:
    """Translation of a chosen or typed sentence, token by token, with cross-attention and beam search.

    examples: sentences to choose from; the first one is shown first. width: the beam width at first.
    Raises ValueError without examples, or for a width that the slider does not have.
    """
    if not examples:
        raise ValueError("examples is empty: the explorer needs at least one sentence")
    if not 1 <= width <= WIDEST:
        raise ValueError(f"width={width} is outside 1 to {WIDEST}")
    controls = controls_of(model, examples, width)
    written = lru_cache(maxsize=16)(lambda sentence, width: write(model, tokens, sentence, width))
    connect(controls, written)
    return Explorer(
        controls,
        lambda figure: translation_picture(figure, written, tokens),
        "sliders for the beam width, the translation step, the layer and the head, a menu of "
        "sentences, and a field to type one, above the cross-attention weights, the five "
        "likeliest next tokens and the hypotheses. It responds while the notebook is running.",
        size=(7.0, 4.6),
    )


def controls_of(model: Seq2Seq, examples: Sequence[str], width: int) -> dict[str, ipywidgets.Widget]:
    """Controls of the explorer; with one layer, the layer slider is disabled."""
    layers, heads = model.config.decoder_layers, range(1, model.config.heads + 1)
    layer = slider(ipywidgets.IntSlider, "layer", value=1, min=1, max=2)
    set_most(layer, layers)
    layer.value = layers
    sentence = ipywidgets.Text(
        value=examples[0], description="or type", continuous_update=False, layout={"width": "22em"}
    )
    return {
        "example": slider(ipywidgets.Dropdown, "example", options=list(examples)),
        "sentence": sentence,
        "width": slider(ipywidgets.IntSlider, "beam width", value=width, min=1, max=WIDEST),
        "step": slider(ipywidgets.IntSlider, "step", value=1, min=1, max=2),
        "layer": layer,
        "head": slider(ipywidgets.SelectionSlider, "head", options=["mean", *heads]),
    }


def connect(controls: dict[str, ipywidgets.Widget], written: Callable[[str, int], Written]) -> None:
    """Copy a chosen example into the text field; move the step to the end of each new translation."""
    step = controls["step"]

    def to_the_end(change: dict | None = None) -> None:
        try:
            steps = len(written(controls["sentence"].value, controls["width"].value).target)
        except ValueError:
            steps = 1  # the status line shows the error
        set_most(step, steps)
        step.value = steps

    def choose(change: dict) -> None:
        controls["sentence"].value = change["new"]

    controls["sentence"].observe(to_the_end, names="value")
    controls["width"].observe(to_the_end, names="value")
    controls["example"].observe(choose, names="value")
    to_the_end()


def translation_picture(
    figure: Figure, written: Callable[[str, int], Written], tokens: Tokenizer
) -> Callable[..., str | tuple[str, Markup]]:
    """Cross-attention map up to the chosen step on the left; next tokens and hypotheses on the right."""
    left = figure.add_axes((0.16, 0.28, 0.43, 0.65))
    left.set(ylabel="target token")
    left.yaxis.set_label_coords(-0.29, 0.5)
    figure.text(0.375, 0.02, "source token (white: weight 0, dark: 1)", ha="center")
    weights = TokenMap(left)
    candidates = Candidates(figure.add_axes((0.76, 0.63, 0.22, 0.3)), tokens)
    hypotheses = Hypotheses(figure.add_axes((0.76, 0.13, 0.22, 0.3)))

    def update(
        example: str, sentence: str, width: int, step: int, layer: int, head: int | str
    ) -> str | tuple[str, Markup]:
        try:
            seen = written(sentence, width)
        except ValueError as error:
            for part in (weights, candidates, hypotheses):
                part.clear()
            return str(error)
        step, layer = min(step, len(seen.target)), min(layer, len(seen.maps))
        chosen = seen.maps[layer - 1].mean(0) if head == "mean" else seen.maps[layer - 1, head - 1]
        place = f"layer {layer}, {'mean of the heads' if head == 'mean' else f'head {head}'}"
        draw_map(weights, seen, chosen, step, place)
        candidates.draw(seen.probabilities[step - 1], seen.target_ids[step - 1])
        hypotheses.draw(seen.found)
        return in_words(seen, chosen, step, place), as_table(seen)

    return update


def draw_map(
    view: TokenMap, seen: Written, weights: Float[Tensor, "steps source"], step: int, title: str
) -> None:
    """One row per target token so far, the current one framed; one column per source token."""
    first = max(0, step - ROWS)
    rows = min(ROWS, len(seen.target))
    blank = weights.new_full((rows, weights.shape[1]), float("nan"))
    blank[: step - first] = weights[first:step]
    names = seen.target[first:step]
    view.draw(blank, names + [""] * (rows - len(names)), seen.source, step - first - 1, title)


class Candidates:
    """Bars for the likeliest next tokens, best first; the chosen one is hatched."""

    def __init__(self, axes: Axes, tokens: Tokenizer):
        self.tokens, self.best = tokens, min(BEST, len(tokens))
        axes.set(xlim=(0, 1.25), ylim=(self.best - 0.5, -0.5), xticks=(0, 0.5, 1), yticks=())
        axes.set(title="next token", xlabel="probability")
        self.bars = axes.barh(range(self.best), [0.0] * self.best, color=PALETTE[9], edgecolor="0.2")
        self.names, self.move = Names(axes), numbered_bars(self.bars)

    def draw(self, probabilities: Float[Tensor, " vocab"], written: int) -> None:
        best = probabilities.topk(self.best)
        self.move(best.values.tolist())
        self.names.set([self.tokens[i] for i in best.indices.tolist()])
        for bar, i in zip(self.bars, best.indices.tolist(), strict=True):
            bar.set_hatch("////" if i == written else "")

    def clear(self) -> None:
        self.move([math.nan] * self.best)
        self.names.clear()


class Hypotheses:
    """Bars for the geometric mean token probability of each hypothesis; its logarithm is the score."""

    def __init__(self, axes: Axes):
        axes.set(xlim=(0, 1.25), ylim=(WIDEST - 0.5, -0.5), xticks=(0, 0.5, 1), yticks=range(WIDEST))
        axes.set(title="hypotheses", xlabel="mean probability", yticklabels=range(1, WIDEST + 1))
        axes.grid(axis="y", visible=False)
        self.move = numbered_bars(axes.barh(range(WIDEST), [0.0] * WIDEST, color=PALETTE[2]))

    def draw(self, found: Sequence[Hypothesis]) -> None:
        self.move([math.exp(h.score) for h in found] + [math.nan] * (WIDEST - len(found)))

    def clear(self) -> None:
        self.draw([])


def in_words(seen: Written, weights: Float[Tensor, "steps source"], step: int, place: str) -> str:
    """Status line: the best translation, the step, and the largest attention weight."""
    so_far = " ".join(["[BOS]", *seen.target[: step - 1]])
    most, where = weights[step - 1].max(dim=-1)
    probability = seen.probabilities[step - 1, seen.target_ids[step - 1]]
    return (
        f"{seen.texts[0]} — Step {step}: after {so_far} comes {seen.target[step - 1]} "
        f"(probability {probability:.2f}). Most attended: {seen.source[where]} (weight {most:.2f}; {place})."
    )


def as_table(seen: Written) -> Markup:
    """Table of the hypotheses, best first."""
    rows = (
        (str(rank), f"{h.score:.2f}".replace("-", "−"), f"{h.log_probability:.2f}".replace("-", "−"), text)
        for rank, (h, text) in enumerate(zip(seen.found, seen.texts, strict=True), start=1)
    )
    title = (
        f"Hypotheses with beam width {len(seen.found)}"
        if len(seen.found) > 1
        else "Greedy decoding: one hypothesis"
    )
    return table(title, ("", "score", "log-probability", "translation"), rows)
