"""A translation step by step: what has been read, what comes next, where the model looks."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import ipywidgets
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.decoding import Hypothesis
from course_lib.seq2seq import Seq2Seq
from course_lib.show import PALETTE
from course_lib.tokens import Tokens
from course_lib.widgets.explorer import Explorer, numbered_bars, set_most, slider
from course_lib.widgets.markup import Markup, table
from course_lib.widgets.token_map import Names, TokenMap
from course_lib.widgets.translated import Written, write

ROWS = 14  # the most rows of the map: of a longer translation, the last ones before the step
BEST = 5  # candidates that are drawn
WIDEST = 5  # beam


def translation_explorer(model: Seq2Seq, tokens: Tokens, examples: Sequence[str]) -> Explorer:
    """A sentence, chosen or typed, its translation token by token, and the cross-attention to it.

    examples: sentences to choose from; the first one is shown.
    Raises ValueError where there is none.
    """
    if not examples:
        raise ValueError("0 examples: the explorer needs a sentence to begin with")
    controls = controls_of(model, examples)
    written = lru_cache(maxsize=16)(lambda sentence, width: write(model, tokens, sentence, width))
    connect(controls, written)
    return Explorer(
        controls,
        lambda figure: translation_picture(figure, written, tokens),
        "sliders for the width of the beam, the step of the translation, the layer and the head, a list of "
        "sentences, and a field to type another one; below, the weights of the cross-attention, the five "
        "most probable next tokens, and the hypotheses. It answers while the notebook is running.",
        size=(7.0, 4.6),
    )


def controls_of(model: Seq2Seq, examples: Sequence[str]) -> dict[str, ipywidgets.Widget]:
    """What can be moved; a model with one layer has nothing to choose there."""
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
        "width": slider(ipywidgets.IntSlider, "beam", value=4, min=1, max=WIDEST),
        "step": slider(ipywidgets.IntSlider, "step", value=1, min=1, max=2),
        "layer": layer,
        "head": slider(ipywidgets.SelectionSlider, "head", options=["mean", *heads]),
    }


def connect(controls: dict[str, ipywidgets.Widget], written: Callable[[str, int], Written]) -> None:
    """An example goes into the field for typing; a new translation sets the step to its end."""
    step = controls["step"]

    def to_the_end(change: dict | None = None) -> None:
        try:
            steps = len(written(controls["sentence"].value, controls["width"].value).target)
        except ValueError:
            steps = 1  # the picture says what is wrong
        set_most(step, steps)
        step.value = steps

    def choose(change: dict) -> None:
        controls["sentence"].value = change["new"]

    controls["sentence"].observe(to_the_end, names="value")
    controls["width"].observe(to_the_end, names="value")
    controls["example"].observe(choose, names="value")
    to_the_end()


def translation_picture(
    figure: Figure, written: Callable[[str, int], Written], tokens: Tokens
) -> Callable[..., str | tuple[str, Markup]]:
    """On the left the map up to the chosen step; on the right the next tokens and the hypotheses."""
    left = figure.add_axes((0.16, 0.28, 0.43, 0.65))
    left.set(ylabel="writes")
    left.yaxis.set_label_coords(-0.29, 0.5)
    figure.text(0.375, 0.02, "reads (white: weight 0, dark: 1)", ha="center")
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
    """One row for each token written so far, the present one framed; one column for each source token."""
    first = max(0, step - ROWS)
    rows = min(ROWS, len(seen.target))
    blank = weights.new_full((rows, weights.shape[1]), float("nan"))
    blank[: step - first] = weights[first:step]
    names = seen.target[first:step]
    view.draw(blank, names + [""] * (rows - len(names)), seen.source, step - first - 1, title)


class Candidates:
    """The most probable next tokens, the best one above, the one that is written hatched."""

    def __init__(self, axes: Axes, tokens: Tokens):
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
    """How probable a token of each hypothesis is; the geometric mean, whose logarithm is the score."""

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
    """The best translation, the step, and where it looks."""
    so_far = " ".join(["[BOS]", *seen.target[: step - 1]])
    most, where = weights[step - 1].max(dim=-1)
    probability = seen.probabilities[step - 1, seen.target_ids[step - 1]]
    return (
        f"{seen.texts[0]} — Step {step}: has read {so_far} and writes {seen.target[step - 1]} "
        f"(probability {probability:.2f}). Looks most at {seen.source[where]} (weight {most:.2f}; {place})."
    )


def as_table(seen: Written) -> Markup:
    """The hypotheses, best first."""
    rows = (
        (str(rank), f"{h.score:.2f}".replace("-", "−"), f"{h.log_probability:.2f}".replace("-", "−"), text)
        for rank, (h, text) in enumerate(zip(seen.found, seen.texts, strict=True), start=1)
    )
    title = f"Hypotheses of a beam of {len(seen.found)}" if len(seen.found) > 1 else "Greedy: one hypothesis"
    return table(title, ("", "score", "log-probability", "translation"), rows)
