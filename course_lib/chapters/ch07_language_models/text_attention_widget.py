"""Attention weights of a language model on a text, for any layer and head."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache

import ipywidgets
from jaxtyping import Float
from torch import Tensor

from course_lib.experiments.real_gpt import PROMPTS
from course_lib.models.gpt import GPT
from course_lib.text.tokenizers import Vocabulary
from course_lib.widgets.attention_map import AttentionMap
from course_lib.widgets.explorer import slider
from course_lib.widgets.heatmap import Heatmap, Place, Sets, list_of
from course_lib.widgets.map_explorer import MapExplorer
from course_lib.widgets.reading import (
    Reading,
    follow,
    head_choice,
    model_of,
    of_head,
    prompt_controls,
    read,
)
from course_lib.widgets.toy_lm import QUESTIONS

MOST = 6  # most attended keys in the list on the right
YEARS = (
    "The war began in 1939, and in",
    "In 1920, the king built a house, and in",
)  # head 2 of layer 4: the year
TEXTS = {"wikipedia": [*YEARS, *PROMPTS], "stories": QUESTIONS}


def text_attention_explorer(
    model: GPT | str | None = None, tokens: Vocabulary | None = None, prompts: Sequence[str] = ()
) -> MapExplorer:
    """Attention weights of a GPT on a chosen or typed text, by layer, head and query token.

    Without a model, the stored GPT with a real vocabulary; "stories": the toy language model.
    prompts: texts to choose from; the first one is shown first, with
    the head that attends most from the last token to the one that the model predicts next.
    Raises ValueError for a model without its tokenizer or without a prompt.
    """
    model, tokens, prompts = model_of(model, tokens, prompts, TEXTS)
    controls = prompt_controls(prompts)
    controls["position"] = slider(ipywidgets.IntSlider, "query token", value=1, min=1, max=2)
    controls |= head_choice(model.config.layers, model.config.heads)
    seen = lru_cache(maxsize=8)(lambda prompt: read(model, tokens, prompt))
    prompt = controls["prompt"]
    with suppress(ValueError):  # the status line shows the error
        controls["layer"].value, controls["head"].value = answering_head(seen(prompt.value))
    follow(controls["position"], [prompt], lambda: len(seen(prompt.value).ids))
    return MapExplorer(
        controls,
        lambda maps: attention_picture(maps, seen),
        "sliders for the query token, the layer and the head, a menu of texts and a field to type one, above "
        "a map of the attention weights, with a row and a column for each token; clicking a token makes "
        "it the query.",
        size=(7.0, 4.4),
        widths=(3, 1),
    )


def answering_head(reading: Reading) -> tuple[int, int]:
    """Layer and head, from 1, whose last token attends most to the token that the model predicts next.

    Where the text does not contain that token: the head whose last token attends most to one between itself
    and the first. Of a text with fewer than three tokens, the first head of the last layer.
    """
    maps, between = reading.maps, slice(1, -1)
    if len(reading.ids) < 3:
        return len(maps), 1
    answer = int(reading.lens[-1, -1].argmax())
    places = [i for i, token in enumerate(reading.ids[:-1]) if token == answer]
    seen = maps[:, :, -1, places].sum(dim=-1) if places else maps[:, :, -1, between].amax(dim=-1)
    layer, head = divmod(int(seen.argmax()), maps.shape[1])
    return layer + 1, head + 1


def attention_picture(maps: AttentionMap, seen: Callable[[str], Reading]) -> Callable[..., str]:
    """Attention map of the whole text on the left, largest weights of the query token on the right."""

    def update(example: str, prompt: str, position: int, layer: int, head: int | str, selected: Place) -> str:
        try:
            reading = seen(prompt)
        except ValueError as error:
            maps.show_maps([])
            return str(error)
        layer, position = min(layer, len(reading.maps)), min(position, len(reading.ids))
        chosen, place = of_head(reading.maps, layer, head)
        pieces = [piece.strip(" ") or piece for piece in reading.pieces]
        whole = Heatmap(
            weights=chosen,
            rows=pieces,
            columns=pieces,
            title=place,
            marked=Place(row=position - 1),
            row_sets=Sets("position", 1),
        )
        maps.show_maps([whole, strongest(pieces, chosen[position - 1, :position])])
        return in_words(pieces, chosen[position - 1, :position], place)

    return update


def strongest(pieces: list[str], weights: Float[Tensor, " seen"]) -> Heatmap:
    """The largest weights of a query token, with the keys that get them."""
    best = weights.topk(min(MOST, len(weights)))
    names = [f"{i + 1}: {pieces[i]}" for i in best.indices.tolist()]
    return list_of(best.values, names, title="attends most to", row_name="key", proportion=0.5)


def in_words(pieces: list[str], weights: Float[Tensor, " seen"], place: str) -> str:
    """Status line: the largest weight, and the weights on the token itself and on the first token."""
    position = len(weights)
    most, where = weights.max(dim=-1)
    kept = "" if position == 1 else f" Itself: {weights[-1]:.2f}; the first token: {weights[0]:.2f}."
    return (
        f"In {place}, token {position} ({pieces[position - 1]}) attends most to token {int(where) + 1} "
        f"({pieces[where]}), with weight {most:.2f}.{kept} It can attend to {position} of {len(pieces)} "
        "tokens: none after itself."
    )
