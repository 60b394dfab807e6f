"""Sampling from a language model: next-token probabilities before and after temperature and cutoffs."""

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

from course_lib.experiments.real_gpt import PROMPTS
from course_lib.generation.decoding import sample
from course_lib.generation.sampling import next_token_probabilities
from course_lib.models.gpt import GPT
from course_lib.text.tokenizers import EOS, Vocabulary
from course_lib.training.evaluation import evaluating
from course_lib.viz.style import PALETTE
from course_lib.widgets.explorer import Explorer, slider
from course_lib.widgets.markup import Markup, line, shaded, span
from course_lib.widgets.reading import Controls, encode, follow, model_of, pieces_of, prompt_controls
from course_lib.widgets.token_map import Names
from course_lib.widgets.token_words import shown
from course_lib.widgets.toy_lm import PREFIXES

LENGTH = 24  # most new tokens
MOST = 10  # most candidates shown
CUTS = ("temperature", "top_k", "top_p", "min_p")  # sampling settings, passed to `sample`
ALL = "all"
TEXTS = {"wikipedia": PROMPTS, "stories": PREFIXES}


@dataclass(frozen=True)
class Sampled:
    """A prompt and its sampled continuation; row t of the probabilities belongs to the t-th new token.

    own: the model's probabilities. drawn_with: sampling probabilities, after temperature and cutoffs.
    """

    prompt: str
    ids: list[int]
    pieces: list[str]
    own: Float[Tensor, "written vocab"]
    drawn_with: Float[Tensor, "written vocab"]


def sampler_explorer(
    model: GPT | str | None = None, tokens: Vocabulary | None = None, prompts: Sequence[str] = ()
) -> Explorer:
    """Sampling from a GPT with temperature, top-k, top-p and min-p, token by token.

    Without a model, the stored GPT with a real vocabulary; "stories": the toy language model.
    prompts: texts to choose from; the first one is shown first.
    Raises ValueError for a model without its tokenizer or without a prompt.
    """
    model, tokens, prompts = model_of(model, tokens, prompts, TEXTS)
    controls = prompt_controls(prompts) | sampling_controls()

    @lru_cache(maxsize=16)
    def written(prompt: str, seed: int, *settings: float | int | str) -> Sampled:
        cuts = {cut: None if value == ALL else value for cut, value in zip(CUTS, settings, strict=True)}
        return write(model, tokens, prompt, seed, cuts)

    def length() -> int:
        return len(written(*(control.value for control in watched)).ids)

    watched = [controls[name] for name in ("prompt", "seed", *CUTS)]
    follow(controls["step"], watched, length, to_the_end=False)
    return Explorer(
        controls,
        lambda figure: sampler_picture(figure, written, tokens),
        "sliders for the temperature, top-k, top-p, min-p, the seed and the step, a menu of prompts and a "
        "field to type one, with the probabilities of the next token and the generated text.",
        size=(7.0, 3.6),
    )


def sampling_controls() -> Controls:
    """Controls for the temperature, the three cutoffs, the seed and the step."""
    share = {"step": 0.05, "readout_format": ".2f"}
    return {
        "temperature": slider(
            ipywidgets.FloatSlider, "temperature", value=1.0, min=0.0, max=3.0, step=0.1, readout_format=".1f"
        ),
        "top_k": slider(ipywidgets.SelectionSlider, "top-k", options=[ALL, 1, 2, 3, 4, 5, 8, 10, 20, 50]),
        "top_p": slider(ipywidgets.FloatSlider, "top-p", value=1.0, min=0.05, max=1.0, **share),
        "min_p": slider(ipywidgets.FloatSlider, "min-p", value=0.0, min=0.0, max=1.0, **share),
        "seed": slider(ipywidgets.IntSlider, "seed", value=0, min=0, max=7),
        "step": slider(ipywidgets.IntSlider, "step", value=1, min=1, max=2),
    }


@torch.inference_mode()
def write(
    model: GPT, tokens: Vocabulary, prompt: str, seed: int, cuts: dict[str, float | int | None]
) -> Sampled:
    """Sample a continuation, then get the probabilities of all steps in one forward pass.

    Raises ValueError as `encode` does; the prompt must leave room for one token.
    """
    ids = encode(tokens, prompt, model.config.max_tokens - 1)
    device = model.embedding.weight.device
    length = min(LENGTH, model.config.max_tokens - len(ids))
    rng = torch.Generator(device).manual_seed(seed)
    with evaluating(model):
        new = sample(model.generator(), torch.tensor([ids], device=device), EOS, length, rng=rng, **cuts)[0]
        new += [EOS] * (len(new) < length)
        logits = model(torch.tensor([[*ids, *new[:-1]]], device=device))[0, len(ids) - 1 :].float().cpu()
    return Sampled(
        prompt=prompt,
        ids=new,
        pieces=pieces_of(tokens, [*ids, *new])[len(ids) :],
        own=logits.softmax(dim=-1),
        drawn_with=next_token_probabilities(logits, **cuts),
    )


def sampler_picture(
    figure: Figure, written: Callable[..., Sampled], tokens: Vocabulary
) -> Callable[..., str | tuple[str, Markup]]:
    """Bars for the likeliest next tokens; those cut off are hatched and labeled."""
    bars = NextTokens(figure.add_axes((0.14, 0.17, 0.46, 0.68)), tokens)

    def update(example: str, prompt: str, seed: int, step: int, **cuts: float | int | str):
        try:
            seen = written(prompt, seed, *(cuts[cut] for cut in CUTS))
        except ValueError as error:
            bars.clear()
            return str(error)
        step = min(step, len(seen.ids))
        bars.draw(seen.own[step - 1], seen.drawn_with[step - 1], seen.ids[step - 1])
        return in_words(seen, tokens, step), below(seen, step)

    return update


class NextTokens:
    """Model probabilities as outlines, sampling probabilities as bars."""

    def __init__(self, axes: Axes, tokens: Vocabulary):
        self.tokens, self.rows = tokens, min(MOST, len(tokens))
        axes.set(xlim=(0, 1), ylim=(self.rows - 0.5, -0.5), xticks=(0, 0.25, 0.5, 0.75, 1), yticks=())
        axes.set_xlabel("probability of the next token")
        rows, zeros, small = range(self.rows), [0.0] * self.rows, rcParams["xtick.labelsize"]
        look = {"height": 0.7, "animated": True}
        self.kept = axes.barh(rows, zeros, color=PALETTE[9], **look)
        self.own = axes.barh(rows, zeros, fill=False, edgecolor="0.1", **look)
        self.cut = axes.barh(rows, zeros, color="0.93", hatch="////", edgecolor="0.4", **look)
        parts, labels = [self.kept, self.own, self.cut], ["sampling", "model", "cut off"]
        axes.legend(parts, labels, ncols=3, loc="lower left", bbox_to_anchor=(-0.02, 0.98))
        self.texts = [axes.text(1.03, row, "", va="center", animated=True, size=small) for row in rows]
        self.names = Names(axes)

    def draw(self, own: Float[Tensor, " vocab"], kept: Float[Tensor, " vocab"], written: int) -> None:
        """Show the likeliest tokens, with an arrow at the generated one."""
        best = own.topk(self.rows).indices.tolist()
        if written not in best:
            best[-1] = written
        for row, i in enumerate(best):
            p, q = own[i].item(), kept[i].item()
            self.kept[row].set_width(q)
            self.own[row].set_width(p if q else 0.0)
            self.cut[row].set_width(0.0 if q else p)
            arrow = "  ← chosen" if i == written else ""
            text = f"{q:.2f} (model {p:.2f}){arrow}" if q else f"cut off (model {p:.2f})"
            self.texts[row].set(text=text, weight="bold" if arrow else "normal")
        self.names.set([shown(self.tokens, i) for i in best])

    def clear(self) -> None:
        for bar in (*self.kept, *self.own, *self.cut):
            bar.set_width(0.0)
        for text in self.texts:
            text.set_text("")
        self.names.clear()


def in_words(seen: Sampled, tokens: Vocabulary, step: int) -> str:
    """Status line: the sampled token, and the number and mass of the tokens that pass the cutoffs."""
    own, kept, i = seen.own[step - 1], seen.drawn_with[step - 1], seen.ids[step - 1]
    many, share = int((kept > 0).sum()), own[kept > 0].sum().item()
    place = int((own > own[i]).sum()) + 1
    left = f"all {many} tokens are candidates"
    if many < len(own):
        left = f"{many} of {len(own)} tokens are candidates, with probability mass {share:.2f}"
    logs = seen.own[range(len(seen.ids)), seen.ids].clamp(min=1e-30).log().mean().item()
    return (
        f"Step {step} of {len(seen.ids)}: {left}; sampled {shown(tokens, i)}, rank {place} "
        f"(probability {kept[i]:.2f}; {own[i]:.2f} under the model). Mean log-probability of all "
        f"{len(seen.ids)} tokens under the model: {logs:.2f}."
    )


def below(seen: Sampled, step: int) -> Markup:
    """Prompt and sampled tokens, with the model's probability above each; the current step is framed."""
    own = seen.own[range(len(seen.ids)), seen.ids].tolist()
    written = [
        shaded(piece, p, framed=i == step)
        for i, (piece, p) in enumerate(zip(seen.pieces, own, strict=True), start=1)
    ]
    return line(
        "Text, with the model's probability of each token:",
        span(seen.prompt, "white-space: pre-wrap"),
        *written,
    )
