"""A text written token by token: the probabilities of the next, what the cuts leave, what is drawn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import ipywidgets
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.characters import Vocabulary
from course_lib.decoding import sample
from course_lib.gpt import GPT
from course_lib.sampling import next_token_probabilities
from course_lib.tokens import EOS
from course_lib.widgets.explorer import Explorer, slider
from course_lib.widgets.markup import Markup, line, shaded, span
from course_lib.widgets.next_tokens import NextTokens
from course_lib.widgets.reading import Controls, encode, follow, model_of, pieces_of, prompt_controls
from course_lib.widgets.small_world import BEGINNINGS

LENGTH = 24  # tokens that are written, at most
CUTS = ("temperature", "top_k", "top_p", "min_p")  # the controls that are handed on
ALL = "all"


@dataclass(frozen=True)
class Sampled:
    """A prompt and what was written after it; row t of the probabilities belongs to the t-th token written.

    own: the model's probabilities. drawn_with: those after temperature and cuts, from which it was drawn.
    """

    prompt: str
    ids: list[int]
    pieces: list[str]
    own: Float[Tensor, "written vocab"]
    drawn_with: Float[Tensor, "written vocab"]


def sampler_explorer(
    model: GPT | None = None, tokens: Vocabulary | None = None, prompts: Sequence[str] = ()
) -> Explorer:
    """A prompt, the settings of sampling, and the text that is written token by token.

    Without a model, that of the small world is shown. prompts: texts to choose from; the first one is shown.
    Raises ValueError where a model comes without its vocabulary or without a prompt.
    """
    model, tokens, prompts = model_of(model, tokens, prompts, BEGINNINGS)
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
        "sliders for the temperature, top-k, top-p, min-p, the seed and the step, a list of prompts and a "
        "field to type another one; below, the probabilities of the next token and the text that is written. "
        "It answers while the notebook is running.",
        size=(7.0, 3.6),
    )


def sampling_controls() -> Controls:
    """Temperature, the three cuts, the seed and the step."""
    share = {"step": 0.05, "readout_format": ".2f"}
    return {
        "temperature": slider(
            ipywidgets.FloatSlider, "temperature", value=1.0, min=0.0, max=3.0, step=0.1, readout_format=".1f"
        ),
        "top_k": slider(ipywidgets.SelectionSlider, "top-k", options=[ALL, 1, 2, 3, 4, 5, 8, 10, 20, 50]),
        "top_p": slider(ipywidgets.FloatSlider, "top-p", value=1.0, min=0.05, max=1.0, **share),
        "min_p": slider(ipywidgets.FloatSlider, "min-p", value=0.0, min=0.0, max=1.0, **share),
        "seed": slider(ipywidgets.IntSlider, "seed", value=0, min=0, max=9),
        "step": slider(ipywidgets.IntSlider, "step", value=1, min=1, max=2),
    }


@torch.inference_mode()
def write(
    model: GPT, tokens: Vocabulary, prompt: str, seed: int, cuts: dict[str, float | int | None]
) -> Sampled:
    """Write after the prompt, then read the whole once for the probabilities of all steps.

    Raises ValueError for a prompt that cannot be read, and for one that leaves no room to write.
    """
    ids = encode(tokens, prompt, model.config.max_tokens - 1)
    device, training = model.embedding.weight.device, model.training
    model.eval()
    length = min(LENGTH, model.config.max_tokens - len(ids))
    rng = torch.Generator(device).manual_seed(seed)
    new = sample(model.generator(), torch.tensor([ids], device=device), EOS, length, rng=rng, **cuts)[0]
    new += [EOS] * (len(new) < length)
    logits = model(torch.tensor([[*ids, *new[:-1]]], device=device))[0, len(ids) - 1 :].float().cpu()
    model.train(training)
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
    """A bar for each of the likeliest next tokens; what is cut away is hatched and says so."""
    bars = NextTokens(figure.add_axes((0.16, 0.17, 0.8, 0.66)), tokens)

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


def in_words(seen: Sampled, tokens: Vocabulary, step: int) -> str:
    """What is drawn at this step, from how many tokens, and what the cuts have left."""
    own, kept, i = seen.own[step - 1], seen.drawn_with[step - 1], seen.ids[step - 1]
    many, share = int((kept > 0).sum()), own[kept > 0].sum().item()
    place = int((own > own[i]).sum()) + 1
    left = f"all {many} tokens can be drawn"
    if many < len(own):
        left = f"{many} of {len(own)} tokens can be drawn, with {share:.2f} of the model's probability"
    logs = seen.own[range(len(seen.ids)), seen.ids].clamp(min=1e-30).log().mean().item()
    return (
        f"Step {step} of {len(seen.ids)}: {left}; {tokens[i]} is drawn, number {place} by probability "
        f"({kept[i]:.2f}, the model's own {own[i]:.2f}). Mean log-probability of all {len(seen.ids)} tokens "
        f"by the model: {logs:.2f}."
    )


def below(seen: Sampled, step: int) -> Markup:
    """The prompt and what is written, with the model's probability above each token; a frame at the step."""
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
