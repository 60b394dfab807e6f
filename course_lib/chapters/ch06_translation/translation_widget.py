"""Machine translation step by step: next-token probabilities, cross-attention and beam search hypotheses."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import ipywidgets
from jaxtyping import Float
from torch import Tensor

from course_lib.chapters.ch06_translation.translation_trace import Written, write
from course_lib.generation.beam import Hypothesis
from course_lib.models.seq2seq import Seq2Seq
from course_lib.text.tokenizers import Tokenizer
from course_lib.widgets.attention_map import AttentionMap
from course_lib.widgets.explorer import slider
from course_lib.widgets.heatmap import Heatmap, Place, Sets, list_of
from course_lib.widgets.map_explorer import MapExplorer
from course_lib.widgets.markup import Markup, table
from course_lib.widgets.reading import follow, head_choice, of_head, prompt_controls

ROWS = 14  # most rows of the map: of a longer translation, the last ones up to the step
BEST = 5  # candidates shown
WIDEST = 5  # largest beam width
SAID = 6  # most tokens that the line names before the one of the step


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
    example, sentence = prompt_controls(examples).values()
    sentence.layout.width = "22em"
    beam = slider(ipywidgets.IntSlider, "beam width", value=width, min=1, max=WIDEST)
    step = slider(ipywidgets.IntSlider, "step", value=1, min=1, max=2)
    controls = {"example": example, "sentence": sentence, "width": beam, "step": step}
    controls |= head_choice(model.config.decoder_layers, model.config.heads)
    written = lru_cache(maxsize=16)(lambda sentence, width: write(model, tokens, sentence, width))
    follow(step, [sentence, beam], lambda: len(written(sentence.value, beam.value).target))
    return MapExplorer(
        controls,
        lambda maps: translation_picture(maps, written, tokens),
        "sliders for the beam width, the translation step, the layer and the head, a menu of sentences, and "
        "a field to type one, above the cross-attention weights, the five likeliest next tokens and the "
        "hypotheses; a click on a target token goes to its step.",
        size=(7.0, 4.6),
        widths=(3.2, 1.1, 0.9),
        cell=38,
    )


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
        chosen, place = of_head(seen.maps, layer, head)
        candidates = next_tokens(seen.probabilities[step - 1], seen.target_ids[step - 1], tokens)
        maps.show_maps([cross_attention(seen, chosen, step, place), candidates, hypotheses(seen.found)])
        return in_words(seen, chosen, step, place), as_table(seen)

    return update


def cross_attention(seen: Written, weights: Float[Tensor, "steps source"], step: int, title: str) -> Heatmap:
    """One row per target token so far, the current one framed; one column per source word."""
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
        column_name="source word",
        marked=Place(row=step - first - 1),
        row_sets=Sets("step", first + 1),
    )


def next_tokens(probabilities: Float[Tensor, " vocab"], written: int, tokens: Tokenizer) -> Heatmap:
    """The likeliest next tokens, best first; the chosen one is framed."""
    best = probabilities.topk(min(BEST, len(tokens)))
    ids = best.indices.tolist()
    chosen = Place(1, ids.index(written) if written in ids else None)
    look = {"title": "next token", "row_name": "", "value_name": "probability", "marked": chosen}
    return list_of(best.values, [tokens[i] for i in ids], **look)


def hypotheses(found: Sequence[Hypothesis]) -> Heatmap:
    """Geometric mean token probability of each hypothesis; its logarithm is the score."""
    means = [math.exp(hypothesis.score) for hypothesis in found]
    ranks = [str(rank) for rank in range(1, len(found) + 1)]
    look = {"title": "hypotheses", "row_name": "rank", "value_name": "mean probability", "marked": Place(2)}
    return list_of(means, ranks, **look)


def in_words(seen: Written, weights: Float[Tensor, "steps source"], step: int, place: str) -> str:
    """Status line: the best translation, the step, and the largest attention weight."""
    so_far = ["[BOS]", *seen.target[: step - 1]]
    before = " ".join(so_far if len(so_far) <= SAID else ["…", *so_far[-SAID:]])
    most, where = weights[step - 1].max(dim=-1)
    probability = seen.probabilities[step - 1, seen.target_ids[step - 1]]
    return (
        f"{seen.texts[0]} — Step {step}: after {before} comes {seen.target[step - 1]} "
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
