"""A translation step by step: what has been read, what comes next, where the model looks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import ipywidgets
import torch
from jaxtyping import Float
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.decoding import greedy
from course_lib.recorder import record_attention
from course_lib.seq2seq import Seq2Seq
from course_lib.show import PALETTE
from course_lib.tokens import BOS, EOS, Tokens, pad
from course_lib.translation import with_end
from course_lib.widgets.explorer import Explorer, slider

ROWS = 14  # the most rows of the map: of a longer translation, the last ones before the step
BEST = 5
CROWDED = 14  # labels; where there are more, they are smaller


@dataclass(frozen=True)
class Written:
    """A sentence and its greedy translation, as tokens; row t of the rest belongs to the t-th token written.

    probabilities: of each token of the vocabulary. maps: the weights of the cross-attention.
    """

    source: list[str]
    target: list[str]
    text: str
    probabilities: Float[Tensor, "steps vocab"]
    maps: Float[Tensor, "layers heads steps source"]


def translation_explorer(model: Seq2Seq, tokens: Tokens, examples: Sequence[str]) -> Explorer:
    """A sentence, chosen or typed, its translation token by token, and the cross-attention to it.

    examples: sentences to choose from; the first one is shown.
    Raises ValueError where there is none.
    """
    if not examples:
        raise ValueError("0 examples: the explorer needs a sentence to begin with")
    config = model.config
    controls = {
        "example": slider(ipywidgets.Dropdown, "example", options=list(examples)),
        "sentence": ipywidgets.Text(
            value=examples[0], description="or type", continuous_update=False, layout={"width": "22em"}
        ),
        "step": slider(ipywidgets.IntSlider, "step", value=1, min=1, max=1),
        "layer": slider(
            ipywidgets.IntSlider, "layer", value=config.decoder_layers, min=1, max=config.decoder_layers
        ),
        "head": slider(ipywidgets.SelectionSlider, "head", options=["mean", *range(1, config.heads + 1)]),
    }
    written = lru_cache(maxsize=8)(lambda sentence: write(model, tokens, sentence))
    connect(controls, written)
    return Explorer(
        controls,
        lambda figure: translation_picture(figure, written, tokens),
        "sliders for the step of the translation, the layer and the head, a list of sentences, and a field "
        "to type another one; below, the weights of the cross-attention and the five most probable next "
        "tokens. It answers while the notebook is running.",
        size=(7.0, 4.2),
    )


def connect(controls: dict[str, ipywidgets.Widget], written: Callable[[str], Written]) -> None:
    """An example goes into the field for typing; a new sentence sets the step to its end."""
    step = controls["step"]

    def to_the_end() -> None:
        try:
            step.max = len(written(controls["sentence"].value).target)
        except ValueError:
            step.max = 1  # the picture says what is wrong
        step.value = step.max

    def choose(change: dict) -> None:
        controls["sentence"].value = change["new"]

    controls["sentence"].observe(lambda change: to_the_end(), names="value")
    controls["example"].observe(choose, names="value")
    to_the_end()


@torch.inference_mode()
def write(model: Seq2Seq, tokens: Tokens, sentence: str) -> Written:
    """Translate greedily, then read the whole translation once to see all steps at the same time.

    Raises ValueError for an empty sentence and for one that is too long for the model.
    """
    ids = with_end(sentence, tokens, model.config.max_tokens)
    device, training = model.embedding.weight.device, model.training
    model.eval()
    source, start = pad([ids]).to(device), torch.tensor([[BOS]], device=device)
    most = min(model.config.max_tokens - 1, 2 * len(ids) + 10)
    text = greedy(model.generator(source), start, EOS, most)[0]
    with record_attention(model) as maps:
        logits = model(source, torch.tensor([[BOS, *text]], device=device))[0]
    model.train(training)
    cross = [maps[f"decoder.{i}.cross_attention"][0][0] for i in range(model.config.decoder_layers)]
    return Written(
        source=[tokens[i] for i in ids],
        target=[tokens[i] for i in (*text, int(logits[-1].argmax()))],
        text=tokens.decode(text),
        probabilities=logits.float().softmax(-1).cpu(),
        maps=torch.stack(cross).float().cpu(),
    )


def translation_picture(
    figure: Figure, written: Callable[[str], Written], tokens: Tokens
) -> Callable[..., str]:
    """On the left the map up to the chosen step; on the right the best candidates at that step."""
    left, right = figure.subplots(1, 2, width_ratios=(1.7, 1))
    figure.subplots_adjust(left=0.17, right=0.97, bottom=0.29, top=0.92, wspace=0.55)

    def update(example: str, sentence: str, step: int, layer: int, head: int | str) -> str:
        left.clear()
        right.clear()
        try:
            seen = written(sentence)
        except ValueError as error:
            left.set_axis_off()
            right.set_axis_off()
            return str(error)
        step = min(step, len(seen.target))
        weights = seen.maps[layer - 1].mean(0) if head == "mean" else seen.maps[layer - 1, head - 1]
        draw_map(left, seen, weights, step)
        place = f"layer {layer}, {'mean of the heads' if head == 'mean' else f'head {head}'}"
        left.set_title(place)
        draw_candidates(right, seen.probabilities[step - 1], tokens)
        so_far = " ".join(["[BOS]", *seen.target[: step - 1]])
        most, where = weights[step - 1].max(dim=-1)
        return (
            f"{seen.text} — Step {step}: has read {so_far} and writes {seen.target[step - 1]}. "
            f"Looks most at {seen.source[where]} (weight {most:.2f}; {place})."
        )

    return update


def draw_map(axes: Axes, seen: Written, weights: Float[Tensor, "steps source"], step: int) -> None:
    """One row for each token written so far, the present one framed; one column for each source token."""
    first = max(0, step - ROWS)
    rows = min(ROWS, len(seen.target))
    blank = weights.new_full((rows, weights.shape[1]), float("nan"))
    blank[: step - first] = weights[first:step]
    axes.imshow(blank.numpy(), vmin=0, vmax=1, cmap="Blues", aspect="auto")
    axes.axhline(step - first - 1.5, color=PALETTE[1])
    axes.axhline(step - first - 0.5, color=PALETTE[1])
    axes.grid(visible=False)
    label(axes.set_xticks, seen.source, rotation=90)
    label(axes.set_yticks, seen.target[first:step])
    axes.set(xlabel="reads (white: weight 0, dark: 1)", ylabel="writes")


def draw_candidates(axes: Axes, probabilities: Float[Tensor, " vocab"], tokens: Tokens) -> None:
    """The most probable next tokens, the best one above."""
    best = probabilities.topk(min(BEST, len(probabilities)))
    axes.barh(range(len(best.values)), best.values.tolist(), color=PALETTE[0])
    axes.set(xlim=(0, 1), xticks=(0, 0.5, 1), xlabel="probability", title="next token")
    axes.grid(axis="y", visible=False)
    axes.invert_yaxis()
    label(axes.set_yticks, [tokens[i] for i in best.indices.tolist()])


def label(set_ticks: Callable[..., object], texts: list[str], **look: object) -> None:
    """Name the ticks; a `$` in a sentence is a dollar, not the beginning of a formula."""
    size = rcParams["xtick.labelsize"] * min(1, CROWDED / len(texts))
    set_ticks(range(len(texts)), texts, parse_math=False, fontsize=size, **look)
