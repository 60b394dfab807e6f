"""Text classification: class probabilities, and the weight of each token in the pooled vector."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import ipywidgets
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.chapters.ch09_classification.toy_sentiment import HEADS, SENTENCES, material, small_critic
from course_lib.layers.hooks import record_attention
from course_lib.tasks.text_classification import TextClassifier
from course_lib.text.preparation import encode_clean
from course_lib.text.tokenizers import CLS, UNK, Tokenizer
from course_lib.viz.style import PALETTE
from course_lib.widgets.explorer import Explorer, numbered_bars, slider
from course_lib.widgets.reading import head_choice, of_head, prompt_controls
from course_lib.widgets.token_map import Names

TOPS = (0.2, 0.4, 0.6, 1.01)  # ends of the axis of weights: the smallest that holds all bars


@dataclass(frozen=True)
class Judged:
    """A classified sentence.

    pieces: its tokens, with the class token first if the model has one. unknown: number of tokens that are
    not in the vocabulary. maps: attention of the first token, for each layer and head. wins: number of
    features in which each token has the largest value.
    """

    pieces: list[str]
    unknown: int
    probabilities: Float[Tensor, " classes"]
    maps: Float[Tensor, "layers heads tokens"]
    wins: Float[Tensor, " tokens"]


@torch.inference_mode()
def judge(model: TextClassifier, tokens: Tokenizer, sentence: str) -> Judged:
    """Classify a sentence and record its attention maps and hidden states.

    Raises ValueError for an empty sentence, and for one with more tokens than the model accepts.
    """
    [words] = encode_clean(tokens, [sentence])
    before = [CLS] if model.pooling == "class token" else []
    room = model.encoder.config.max_tokens - len(before)
    if not words:
        raise ValueError("The sentence is empty: type at least one word.")
    if len(words) > room:
        raise ValueError(f"The sentence has {len(words)} tokens, but the model accepts at most {room}.")
    ids, read = (torch.tensor([row], device=model.head.weight.device) for row in (words, before + words))
    with record_attention(model) as maps:
        probabilities = model(ids)[0].float().softmax(dim=-1).cpu()
        states = model.encoder.hidden_states(read)[0]
    layers = [maps[f"encoder.blocks.{i}.attention"][0][0, :, 0].float().cpu() for i in range(len(maps))]
    wins = torch.bincount(states.argmax(dim=0).cpu(), minlength=len(states)).float()
    pieces = [tokens[i] for i in before + words]
    return Judged(pieces, words.count(UNK), probabilities, torch.stack(layers), wins)


def classification_explorer(
    models: Mapping[str, TextClassifier] | None = None,
    tokens: Tokenizer | None = None,
    sentences: Sequence[str] = SENTENCES,
    classes: Sequence[str] = ("negative", "positive"),
) -> Explorer:
    """Class probabilities of a chosen or typed sentence, and token weights for a kind of pooling.

    models: classifiers by pooling, at least two of "class token", "mean" and "max"; without them, small ones
    that the course stores. Raises ValueError for models without their tokenizer.
    """
    if models is not None and tokens is None:
        raise ValueError(f"{len(models)} models need their tokenizer, but tokens={tokens}")
    names = [name for name in HEADS if models is None or name in models]
    words = material()[1] if tokens is None else tokens
    get = small_critic if models is None else models.__getitem__
    seen = lru_cache(maxsize=16)(lambda head, sentence: judge(get(head), words, sentence))
    config = get(names[0]).encoder.config
    controls = prompt_controls(sentences)
    controls["prompt"].layout.width = "34em"
    controls["pooling"] = slider(ipywidgets.Dropdown, "pooling", options=names)
    controls |= head_choice(config.layers, config.heads)
    controls["head"].description = "attention head"

    def only_attention(change: dict) -> None:
        for name in ("layer", "head"):
            controls[name].disabled = change["new"] != "class token"

    controls["pooling"].observe(only_attention, names="value")
    return Explorer(
        controls,
        lambda figure: judged_picture(figure, seen, classes, config.max_tokens),
        "sliders for the attention layer and head, menus for the sentence and the pooling, and a field to "
        "type a sentence, above the weight of each token and the class probabilities.",
        size=(7.0, 3.6),
    )


def judged_picture(
    figure: Figure, seen: Callable[[str, str], Judged], classes: Sequence[str], most: int
) -> Callable[..., str]:
    """Token weights on the left (at most `most` bars), class probabilities on the right."""
    left = figure.add_axes((0.08, 0.34, 0.6, 0.55))
    left.set(xlim=(0, 1), xticks=())
    left.yaxis.set_animated(True)  # its range follows the bars
    left.set_title("weight of each token")  # which weight depends on the pooling: see the line below it
    right = figure.add_axes((0.8, 0.34, 0.19, 0.55))
    right.set(xlim=(0, 1.4), ylim=(-0.6, len(classes) - 0.4), xticks=(0, 0.5, 1), yticks=range(len(classes)))
    right.set_yticklabels(classes)
    right.set_title("probability")
    words = left.bar([0.0] * most, [0.0] * most, width=0.01, color=PALETTE[0], animated=True)
    names = Names(left, below=True)
    move = numbered_bars(right.barh(range(len(classes)), [0.0] * len(classes), height=0.6, color=PALETTE[1]))

    def draw(shares: Sequence[float], pieces: Sequence[str]) -> None:
        top = next(top for top in TOPS if max(shares, default=0.0) <= top + 1e-6)
        left.set(ylim=(0, top), yticks=(0, round(top / 2, 1), round(top, 1)))
        for i, bar in enumerate(words):
            there = i < len(shares)
            bar.set(x=(i + 0.1) / max(len(shares), 1), width=0.8 / max(len(shares), 1))
            bar.set_height(shares[i] if there else 0.0)
        if pieces:
            names.set(pieces)
        else:
            names.clear()

    def update(example: str, prompt: str, pooling: str, layer: int, head: int | str) -> str:
        try:
            judged = seen(pooling, prompt)
        except ValueError as error:
            draw([], [])
            move([float("nan")] * len(classes))
            return str(error)
        shares, how = shares_of(judged, pooling, layer, head)
        draw(shares.tolist(), judged.pieces)
        move(judged.probabilities.tolist())
        best = int(judged.probabilities.argmax())
        lacks = f" {judged.unknown} of the tokens are not in the vocabulary." if judged.unknown else ""
        return f"{classes[best]}, with probability {judged.probabilities[best]:.2f}. {how}{lacks}"

    return update


def shares_of(
    judged: Judged, pooling: str, layer: int, head: int | str
) -> tuple[Float[Tensor, " tokens"], str]:
    """Fraction that each token contributes to the pooled vector, and a sentence about it."""
    n = len(judged.pieces)
    if pooling == "mean":
        return torch.full((n,), 1 / n), f"Mean pooling gives each of the {n} tokens the weight 1/{n}."
    if pooling == "max":
        best, of = int(judged.wins.argmax()), int(judged.wins.sum())
        most = f"{judged.pieces[best]} (token {best + 1}) has the largest value in {int(judged.wins[best])}"
        return judged.wins / of, f"Max pooling takes the maximum of each of {of} features separately: {most}."
    weights, place = of_head(judged.maps, min(layer, len(judged.maps)), head)
    best = int(weights[1:].argmax()) + 1
    looks = f"attends most to {judged.pieces[best]} (token {best + 1}), with weight {weights[best]:.2f}"
    return weights, f"In {place}, the class token {looks}, and to itself with {weights[0]:.2f}."
