"""Diagrams of heads, and a widget: the attention pattern of each head of a small layer, for any sentence."""

from collections.abc import Callable

import ipywidgets
import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.chapters.ch03_heads.head_task_model import D_MODEL, ERRANDS, WORDS, look, right_words
from course_lib.viz.figures import picture
from course_lib.widgets.attention_map import AttentionMap
from course_lib.widgets.explorer import slider
from course_lib.widgets.heatmap import Heatmap, Place
from course_lib.widgets.map_explorer import MapExplorer

MOST = 8  # heads: more panels would be too small to read
HEADS = tuple(heads for heads in range(1, MOST + 1) if D_MODEL % heads == 0)
SENTENCE = "your cat is a lovely cat"
SHARE = 0.6  # mean weight on the target words from which a head is named after a task

diagram_qkv = picture(
    __file__, "qkv", "Show one head at work: project to queries, keys and values; score, softmax, average."
)
diagram_heads = picture(
    __file__,
    "heads",
    "Show multi-head attention: two heads side by side, concatenated and mixed by the output projection.",
)
diagram_split_heads = picture(
    __file__,
    "split_heads",
    "Show how Q, K or V of shape (tokens, d_model) is split into heads and merged again.",
)


def heads_explorer() -> MapExplorer:
    """Attention patterns of all heads for a typed sentence and a number of heads.

    Each number of heads has its own layer, trained to retrieve four things for every word:
    the word before, the word after, the first word, the longest word.
    """
    controls = {
        "heads": slider(ipywidgets.SelectionSlider, "heads", options=HEADS, value=4),
        "sentence": ipywidgets.Text(
            value=SENTENCE, description="sentence", continuous_update=False, layout={"width": "28em"}
        ),
    }
    for heads in HEADS:
        look(heads, SENTENCE.split())  # loads now, so moving a control does not wait
    return MapExplorer(
        controls,
        heads_picture,
        "a slider for the number of heads and a field to type a sentence, above the attention map of each "
        "head, with a row and a column for each word; select a word to see where each head attends.",
        size=(7.0, 4.6),
        shared=True,
    )


def heads_picture(maps: AttentionMap) -> Callable[..., str]:
    """Attention map of each head; titles and status line name the task it performs."""

    def update(heads: int, sentence: str, selected: Place) -> str:
        words = sentence.split()
        if len(words) < 2:
            maps.show_maps([])
            return f"{len(words)} word{'' if words else 's'}: type at least two."
        kept = words[:WORDS]
        weights, brought = look(heads, kept)
        habits = [habit(one, [len(word) for word in kept]) for one in weights]
        names = [f"{i}: {name.removeprefix('the ')}" for i, (name, _) in enumerate(habits, start=1)]
        panels = [
            Heatmap(weights=one, rows=kept, columns=kept, title=name, numbers=True)
            for one, name in zip(weights, names, strict=True)
        ]
        maps.show_maps(panels, widths=[1] * columns_of(heads))
        left_out = f"Only the first {WORDS} of {len(words)} words are used. " if len(words) > WORDS else ""
        return left_out + selected_in_words(weights, kept, selected) + in_words(habits, brought)

    return update


def columns_of(heads: int) -> int:
    """Panels per row: up to three heads share one row, more use two."""
    return heads if heads <= 3 else -(-heads // 2)


def selected_in_words(maps: Float[Tensor, "heads words words"], words: list[str], selected: Place) -> str:
    """Where each head attends to from the selected query; empty without one."""
    if selected.row is None or selected.row >= len(words):
        return ""
    most = maps[:, selected.row].max(dim=-1)
    found = ", ".join(
        f"head {head} to {words[key]} ({weight:.2f})"
        for head, (weight, key) in enumerate(
            zip(most.values.tolist(), most.indices.tolist(), strict=True), start=1
        )
    )
    return f"Largest weights for the query {words[selected.row]} (word {selected.row + 1}): {found}. "


def habit(weights: Float[Tensor, "words words"], lengths: list[int]) -> tuple[str, float]:
    """Task that a head's weights match best ("mixed" if none), and the mean weight on its target words."""
    right = right_words(torch.tensor(lengths, dtype=torch.float))
    on_target = torch.where(right > 0, weights, 0.0).sum(dim=-1).mean(dim=-1)
    best = int(on_target.argmax())
    return (ERRANDS[best] if on_target[best] >= SHARE else "mixed"), on_target[best].item()


def in_words(habits: list[tuple[str, float]], brought: Float[Tensor, " errands"]) -> str:
    """Status line: what each head attends to, and the score of each task."""
    heads = len(habits)
    each = "; ".join(
        f"head {i} " + ("attends to several words" if name == "mixed" else f"attends to {name} ({share:.2f})")
        for i, (name, share) in enumerate(habits, start=1)
    )
    done = ", ".join(f"{name} {share:.0%}" for name, share in zip(ERRANDS, brought.tolist(), strict=True))
    numbers = f"{heads} head{'s' if heads > 1 else ''} of width {D_MODEL // heads}"
    return f"{numbers}: {each}. Retrieved: {done}."
