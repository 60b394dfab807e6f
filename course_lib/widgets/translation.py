"""Machine translation step by step: next-token probabilities, cross-attention and beam search hypotheses."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import ipywidgets
from jaxtyping import Float
from torch import Tensor

from course_lib.generation.beam import Hypothesis
from course_lib.models.seq2seq import Seq2Seq
from course_lib.text.tokenizers import Tokenizer
from course_lib.widgets.attention_map import AttentionMap
from course_lib.widgets.explorer import set_most, slider
from course_lib.widgets.heatmap import Heatmap, Place
from course_lib.widgets.map_explorer import MapExplorer
from course_lib.widgets.markup import Markup, table
from course_lib.widgets.translation_trace import Written, write

ROWS = 14  # most rows of the map: of a longer translation, the last ones up to the step
BEST = 5  # candidates shown
WIDEST = 5  # largest beam width


def translation_explorer(
    model: Seq2Seq, tokens: Tokenizer, examples: Sequence[str], width: int = 4
) -> MapExplorer:
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

    def choose(place: Place) -> None:
        """Go to the step that wrote the selected target token."""
        step = controls["step"]
        if place.map == 0 and place.row is not None:
            step.value = min(max(0, step.value - ROWS) + place.row + 1, step.max)

    return MapExplorer(
        controls,
        lambda maps: translation_picture(maps, written, tokens),
        "sliders for the beam width, the translation step, the layer and the head, a menu of "
        "sentences, and a field to type one, above the cross-attention weights, the five "
        "likeliest next tokens and the hypotheses; a click on a target token goes to its step. It responds "
        "while the notebook is running.",
        size=(7.0, 4.6),
        widths=(3.2, 1.1, 0.9),
        cell=38,
        on_select=choose,
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
    maps: AttentionMap, written: Callable[[str, int], Written], tokens: Tokenizer
) -> Callable[..., str | tuple[str, Markup]]:
    """Cross-attention map up to the chosen step on the left; next tokens and hypotheses on the right."""

    def update(
        example: str, sentence: str, width: int, step: int, layer: int, head: int | str, selected: Place
    ) -> str | tuple[str, Markup]:
        try:
            seen = written(sentence, width)
        except ValueError as error:
            maps.show_maps([])
            return str(error)
        step, layer = min(step, len(seen.target)), min(layer, len(seen.maps))
        chosen = seen.maps[layer - 1].mean(0) if head == "mean" else seen.maps[layer - 1, head - 1]
        place = f"layer {layer}, {'mean of the heads' if head == 'mean' else f'head {head}'}"
        column = selected.column if selected.map == 0 else None
        candidates = next_tokens(seen.probabilities[step - 1], seen.target_ids[step - 1], tokens)
        maps.show_maps(
            [cross_attention(seen, chosen, step, place, column), candidates, hypotheses(seen.found)]
        )
        return in_words(seen, chosen, step, place), as_table(seen)

    return update


def cross_attention(
    seen: Written, weights: Float[Tensor, "steps source"], step: int, title: str, column: int | None = None
) -> Heatmap:
    """One row per target token so far, the current one framed; one column per source token."""
    first = max(0, step - ROWS)
    rows = min(ROWS, len(seen.target))
    padded = weights.new_full((rows, weights.shape[1]), float("nan"))
    padded[: step - first] = weights[first:step]
    names = seen.target[first:step]
    return Heatmap(
        weights=padded,
        rows=names + [""] * (rows - len(names)),
        columns=seen.source,
        title=title,
        row_name="target token",
        column_name="source token",
        marked=Place(0, step - first - 1, column),
    )


def next_tokens(probabilities: Float[Tensor, " vocab"], written: int, tokens: Tokenizer) -> Heatmap:
    """The likeliest next tokens, best first; the chosen one is framed."""
    best = probabilities.topk(min(BEST, len(tokens)))
    ids = best.indices.tolist()
    return Heatmap(
        weights=best.values[:, None],
        rows=[tokens[i] for i in ids],
        columns=[""],
        title="next token",
        row_name="",
        column_name="",
        value_name="probability",
        numbers=True,
        marked=Place(1, ids.index(written) if written in ids else None),
    )


def hypotheses(found: Sequence[Hypothesis]) -> Heatmap:
    """Geometric mean token probability of each hypothesis; its logarithm is the score."""
    return Heatmap(
        weights=[[math.exp(hypothesis.score)] for hypothesis in found],
        rows=[str(rank) for rank in range(1, len(found) + 1)],
        columns=[""],
        title="hypotheses",
        row_name="mean probability",
        column_name="",
        value_name="",
        numbers=True,
        marked=Place(2),
    )


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
