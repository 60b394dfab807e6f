"""What the widgets of a language model share: a prompt, chosen or typed, and what is seen in reading it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import ipywidgets
import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.characters import Characters, Vocabulary
from course_lib.gpt import GPT
from course_lib.recorder import record_attention
from course_lib.tokens import UNK
from course_lib.widgets.explorer import set_most, slider
from course_lib.widgets.small_world import small_world

Controls = dict[str, ipywidgets.Widget]


@dataclass(frozen=True)
class Reading:
    """A text as the model reads it.

    pieces: the text that each token adds. maps: the attention of each layer. lens: what the residual stream
    before the first block, and after each one, would predict to follow, through the last LayerNorm and the
    output layer.
    """

    ids: list[int]
    pieces: list[str]
    maps: Float[Tensor, "layers heads tokens tokens"]
    lens: Float[Tensor, "depths tokens vocab"]


def model_of(
    model: GPT | None, tokens: Vocabulary | None, prompts: Sequence[str], known: Sequence[str]
) -> tuple[GPT, Vocabulary, list[str]]:
    """What an explorer was given, or else the small world's model and prompts `known` to suit it.

    Raises ValueError where a model comes without its vocabulary or without a prompt.
    """
    if model is None:
        return *small_world(), list(prompts or known)
    if tokens is None or not prompts:
        raise ValueError(
            f"a model needs its vocabulary and a prompt: tokens={tokens}, {len(prompts)} prompts"
        )
    return model, tokens, list(prompts)


def encode(tokens: Vocabulary, prompt: str, most: int) -> list[int]:
    """The ids of a prompt.

    Raises ValueError for an empty one, for tokens that the vocabulary lacks, and for more than `most`.
    """
    ids = tokens.encode(prompt)
    if not ids:
        raise ValueError("The prompt is empty: the model needs a token to begin with.")
    if UNK in ids:
        raise ValueError(unknown(tokens, prompt, ids.count(UNK)))
    if len(ids) > most:
        raise ValueError(f"The prompt has {len(ids)} tokens, and there is room for {most}.")
    return ids


def unknown(tokens: Vocabulary, prompt: str, many: int) -> str:
    """Which tokens are missing, and where the vocabulary is small, which there are."""
    if not isinstance(tokens, Characters):
        return f"The vocabulary lacks {many} of the characters of the prompt."
    missing = sorted({piece for piece in tokens.split(prompt) if piece not in tokens.ids})
    there = f" It has: {' '.join(tokens.ids)}" if len(tokens) < 80 else ""
    return f"The vocabulary lacks {', '.join(missing[:5])}.{there}"


def pieces_of(tokens: Vocabulary, ids: Sequence[int]) -> list[str]:
    """The text that each token adds to that before it; a control token, which adds none, has its name."""
    texts = ["", *(tokens.decode(ids[: i + 1]) for i in range(len(ids)))]
    return [
        after[len(before) :] or tokens[i] for before, after, i in zip(texts, texts[1:], ids, strict=False)
    ]


@contextmanager
def record_residuals(model: GPT) -> Iterator[list[Float[Tensor, "batch tokens d_model"]]]:
    """Within the block, the residual stream is kept: as it enters the first block, and after each one."""
    seen: list[Tensor] = []

    def before(module: torch.nn.Module, inputs: tuple) -> None:
        seen.append(inputs[0])

    def after(module: torch.nn.Module, inputs: tuple, output: Tensor) -> None:
        seen.append(output)

    handles = [model.blocks[0].register_forward_pre_hook(before)]
    handles += [block.register_forward_hook(after) for block in model.blocks]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


@torch.inference_mode()
def read(model: GPT, tokens: Vocabulary, prompt: str) -> Reading:
    """Read a prompt once, and keep everything. Raises ValueError as `encode` does."""
    ids = encode(tokens, prompt, model.config.max_tokens)
    training = model.training
    model.eval()
    with record_attention(model) as maps, record_residuals(model) as residuals:
        model.states(torch.tensor([ids], device=model.embedding.weight.device))
    model.train(training)
    lens = [model.unembed(model.norm(x[0])).float().softmax(dim=-1).cpu() for x in residuals]
    layers = [maps[f"blocks.{i}.attention"][0][0].float().cpu() for i in range(len(model.blocks))]
    return Reading(ids, pieces_of(tokens, ids), torch.stack(layers), torch.stack(lens))


def prompt_controls(prompts: Sequence[str]) -> Controls:
    """A list of prompts, and a field to type one, into which a prompt from the list goes."""
    example = slider(ipywidgets.Dropdown, "example", options=list(prompts))
    prompt = ipywidgets.Text(
        value=prompts[0], description="or type", continuous_update=False, layout={"width": "36em"}
    )

    def fill(change: dict) -> None:
        prompt.value = change["new"]

    example.observe(fill, names="value")
    return {"example": example, "prompt": prompt}


def follow(
    place: ipywidgets.Widget,
    controls: Sequence[ipywidgets.Widget],
    length: Callable[[], int],
    to_the_end: bool = True,
) -> None:
    """Whenever one of the controls moves, let the slider `place` run up to the new length.

    to_the_end: whether it then stands there; otherwise it stays where it is, if it can.
    """

    def adapt(change: dict | None = None) -> None:
        try:
            most = length()
        except ValueError:
            most = 1  # the picture says what is wrong
        set_most(place, most)
        place.value = most if to_the_end else min(place.value, most)

    for control in controls:
        control.observe(adapt, names="value")
    adapt()
