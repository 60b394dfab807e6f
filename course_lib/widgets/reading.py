"""Shared parts of the widgets that read a text or show heads: their controls, and a GPT's forward pass."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets
import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.experiments.real_gpt import real_gpt
from course_lib.layers.hooks import record_attention
from course_lib.models.gpt import GPT
from course_lib.models.interventions import residual_stream
from course_lib.text.tokenizers import UNK, CharTokenizer, Vocabulary
from course_lib.training.evaluation import evaluating
from course_lib.widgets.explorer import set_most, slider
from course_lib.widgets.toy_lm import small_world

Controls = dict[str, ipywidgets.Widget]
MEAN = "mean"  # of all heads
STORED = {"wikipedia": real_gpt, "stories": small_world}  # the first one is the default
Texts = Mapping[str, Sequence[str]]  # prompts for each of them


@dataclass(frozen=True)
class Reading:
    """A forward pass over a text.

    pieces: the text that each token adds. maps: attention weights of each layer. lens: next-token
    probabilities from the residual stream before the first block and after each block, through the final
    LayerNorm and the output layer.
    """

    ids: list[int]
    pieces: list[str]
    maps: Float[Tensor, "layers heads tokens tokens"]
    lens: Float[Tensor, "depths tokens vocab"]


def model_of(
    model: nn.Module | str | None, tokens: Vocabulary | None, prompts: Sequence[str], known: Texts
) -> tuple[Any, Vocabulary, list[str]]:
    """Model, tokenizer and prompts of an explorer.

    model: "wikipedia" (or None) is the stored GPT with a real vocabulary, "stories" the toy language model;
    they come with the prompts `known`.
    Raises ValueError for a model without its tokenizer or without a prompt, and for another name.
    """
    if model is None or isinstance(model, str):
        name = model or next(iter(STORED))
        if name not in STORED:
            given = " or ".join(f'"{one}"' for one in STORED)
            raise ValueError(f"model={name!r} is no stored model: give {given}, or a GPT with its tokenizer")
        return *STORED[name](), list(prompts or known[name])
    if tokens is None or not prompts:
        raise ValueError(
            f"a model needs its tokenizer and at least one prompt: tokens={tokens}, {len(prompts)} prompts"
        )
    return model, tokens, list(prompts)


def encode(tokens: Vocabulary, prompt: str, most: int, unknown_id: int | None = UNK) -> list[int]:
    """Token ids of a prompt. unknown_id: None for a vocabulary without such a token.

    Raises ValueError for an empty prompt, for unknown tokens, and for more than `most` tokens.
    """
    ids = tokens.encode(prompt)
    if not ids:
        raise ValueError("The prompt is empty: the model needs at least one token to start from.")
    if unknown_id is not None and unknown_id in ids:
        raise ValueError(unknown(tokens, prompt, ids.count(unknown_id)))
    if len(ids) > most:
        raise ValueError(f"The prompt has {len(ids)} tokens, but at most {most} fit.")
    return ids


def unknown(tokens: Vocabulary, prompt: str, many: int) -> str:
    """Error message: the unknown tokens, and the known ones if the vocabulary is small."""
    if not isinstance(tokens, CharTokenizer):
        return f"The vocabulary does not contain {many} of the prompt's characters."
    missing = sorted({piece for piece in tokens.split(prompt) if piece not in tokens.ids})
    there = f" It contains: {' '.join(tokens.ids)}" if len(tokens) < 80 else ""
    return f"The vocabulary does not contain {', '.join(missing[:5])}.{there}"


def pieces_of(tokens: Vocabulary, ids: Sequence[int]) -> list[str]:
    """Text that each token adds to the text before it; a special token, which adds none, shows its name."""
    texts = ["", *(tokens.decode(ids[: i + 1]) for i in range(len(ids)))]
    return [
        after[len(before) :] or tokens[i] for before, after, i in zip(texts, texts[1:], ids, strict=False)
    ]


@torch.inference_mode()
def read(model: GPT, tokens: Vocabulary, prompt: str) -> Reading:
    """Run the model on a prompt and record everything shown. Raises ValueError as `encode` does."""
    ids = encode(tokens, prompt, model.config.max_tokens)
    with evaluating(model), record_attention(model) as maps:
        stream = residual_stream(model, torch.tensor([ids], device=model.embedding.weight.device))[:, 0]
    lens = model.output_logits(model.norm(stream)).float().softmax(dim=-1).cpu()
    layers = [maps[f"blocks.{i}.attention"][0][0].float().cpu() for i in range(len(model.blocks))]
    return Reading(ids, pieces_of(tokens, ids), torch.stack(layers), lens)


def prompt_controls(prompts: Sequence[str]) -> Controls:
    """Menu of prompts and a text field; choosing a prompt copies it into the field."""
    example = slider(ipywidgets.Dropdown, "example", options=list(prompts))
    prompt = ipywidgets.Text(
        value=prompts[0], description="or type", continuous_update=False, layout={"width": "36em"}
    )

    def fill(change: dict) -> None:
        prompt.value = change["new"]

    example.observe(fill, names="value")
    return {"example": example, "prompt": prompt}


def head_choice(layers: int, heads: int, others: Sequence[str] = (MEAN,)) -> Controls:
    """Sliders for a layer, at first the last one, and for a head or one of the others, at first the mean."""
    layer = slider(ipywidgets.IntSlider, "layer", value=1, min=1, max=2)
    set_most(layer, layers)
    layer.value = layers
    options = [*others, *range(1, heads + 1)]
    return {"layer": layer, "head": slider(ipywidgets.SelectionSlider, "head", options=options, value=MEAN)}


def of_head(maps: Float[Tensor, "layers heads ..."], layer: int, head: int | str) -> tuple[Tensor, str]:
    """Attention weights of one head or of the mean of all heads, counted from 1, and what they are called."""
    if head == MEAN:
        return maps[layer - 1].mean(dim=0), f"layer {layer}, mean of the heads"
    return maps[layer - 1, int(head) - 1], f"layer {layer}, head {head}"


def follow(
    place: ipywidgets.Widget,
    controls: Sequence[ipywidgets.Widget],
    length: Callable[[], int],
    to_the_end: bool = True,
) -> None:
    """Update the maximum of the slider `place` to length() whenever one of the controls changes.

    to_the_end: also move the slider to its maximum; otherwise it keeps its value if possible.
    """

    def adapt(change: dict | None = None) -> None:
        try:
            most = length()
        except ValueError:
            most = 1  # the status line shows the error
        set_most(place, most)
        place.value = most if to_the_end else min(place.value, most)

    for control in controls:
        control.observe(adapt, names="value")
    adapt()
