"""Logit lens: next-token predictions from the residual stream after each block."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import ipywidgets

from course_lib.experiments.real_gpt import PROMPTS
from course_lib.models.gpt import GPT
from course_lib.text.tokenizers import Vocabulary
from course_lib.widgets.attention_map import AttentionMap
from course_lib.widgets.explorer import slider
from course_lib.widgets.heatmap import Place, Sets, label, shortened
from course_lib.widgets.map_explorer import MapExplorer
from course_lib.widgets.reading import Reading, follow, model_of, prompt_controls, read
from course_lib.widgets.token_words import shown as written
from course_lib.widgets.toy_lm import QUESTIONS

COLUMNS = 8  # tokens shown at once
LETTERS = 9  # most letters of a token in a cell
DEEPEST = 8  # most rows: of a deeper model, the last blocks
SHOWN = ("top token", "final prediction")
REVIEWS = ("The king received positive reviews from music", "reviews from music")  # the first prompt, changed
TEXTS = {"wikipedia": [PROMPTS[-1], *REVIEWS, *PROMPTS[:-1]], "stories": QUESTIONS}


def logit_lens_explorer(
    model: GPT | str | None = None, tokens: Vocabulary | None = None, prompts: Sequence[str] = ()
) -> MapExplorer:
    """Logit lens of a GPT on a chosen or typed text: predictions after each block, at each token.

    Without a model, the stored GPT with a real vocabulary; "stories": the toy language model.
    prompts: texts to choose from; the first one is shown first.
    Raises ValueError for a model without its tokenizer or without a prompt.
    Source: nostalgebraist 2020 (the logit lens).
    """
    model, tokens, prompts = model_of(model, tokens, prompts, TEXTS)
    controls = prompt_controls(prompts)
    controls["position"] = slider(ipywidgets.IntSlider, "last token read", value=1, min=1, max=2)
    controls["shown"] = slider(ipywidgets.Dropdown, "cells", options=SHOWN)
    seen = lru_cache(maxsize=8)(lambda prompt: read(model, tokens, prompt))
    prompt = controls["prompt"]
    follow(controls["position"], [prompt], lambda: len(seen(prompt.value).ids))
    return MapExplorer(
        controls,
        lambda maps: lens_picture(maps, seen, tokens, model.config.layers),
        "a slider for the last token read, menus for cells and texts and a field to type one, above the "
        "tokens that the logit lens predicts after each block; clicking a token makes it the last one read.",
        size=(7.0, 3.8),
        cell=72,
    )


def lens_picture(
    maps: AttentionMap, seen: Callable[[str], Reading], tokens: Vocabulary, layers: int
) -> Callable[..., str]:
    """One row per depth, one column per token; the chosen token is last and framed."""
    depths = ["embedding", *(f"block {i + 1}" for i in range(layers))][-DEEPEST:]

    def update(example: str, prompt: str, position: int, shown: str, selected: Place) -> str:
        try:
            reading = seen(prompt)
        except ValueError as error:
            maps.show_maps([])
            return str(error)
        position = min(position, len(reading.ids))
        first = max(0, position - COLUMNS)
        lens = reading.lens[-len(depths) :, first:position]
        best = lens.argmax(dim=-1)
        if shown != SHOWN[0]:
            best = best[-1:].expand_as(best)
        probabilities = lens.gather(-1, best[..., None])[..., 0]
        texts = [
            [cell(written(tokens, i), p) for i, p in zip(*row, strict=True)]
            for row in zip(best.tolist(), probabilities.tolist(), strict=True)
        ]
        pieces = [piece.strip(" ") or piece for piece in reading.pieces]
        maps.show(
            probabilities,
            rows=depths,
            columns=pieces[first:position],
            title="most probable next token" if shown == SHOWN[0] else "final prediction, at each depth",
            row_name="",
            column_name="after this token",
            value_name="probability",
            texts=texts,
            numbers=True,
            marked=Place(column=position - first - 1),
            column_sets=Sets("position", first + 1),
        )
        return f"Cells: {shown}. " + in_words(reading, pieces, tokens, position)

    return update


def cell(token: str, probability: float) -> str:
    """Cell text: a token above its probability."""
    return f"{shortened(label(token), LETTERS)}\n{probability:.2f}"


def in_words(reading: Reading, pieces: list[str], tokens: Vocabulary, position: int) -> str:
    """Status line: the final prediction, the block from which it is on top, and its probabilities."""
    lens = reading.lens[:, position - 1]
    best, final = lens.argmax(dim=-1).tolist(), int(lens[-1].argmax())
    settled = next(i for i in range(len(best)) if all(b == final for b in best[i:]))
    since = "from the embedding on" if settled == 0 else f"from block {settled} on"
    path = ", ".join(f"{p:.2f}" for p in lens[:, final].tolist())
    return (
        f"After token {position} ({pieces[position - 1]}) the model predicts {written(tokens, final)}, the "
        f"top token {since}. Its probability, from the embedding to the last block: {path}."
    )
