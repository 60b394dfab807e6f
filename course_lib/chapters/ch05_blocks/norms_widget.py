"""Post-norm and pre-norm: gradients per block at initialization, and the loss of stored runs."""

from collections.abc import Callable, Sequence
from functools import cache

import ipywidgets
import torch
import torch.nn.functional as F
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib.chapters.ch05_blocks.norms import EVERY, VOCAB, Curve, small_model, stored
from course_lib.viz.style import PALETTE
from course_lib.widgets.explorer import Explorer, choice, slider

LOOKS = {"post": (PALETTE[1], "o-", "post-norm"), "pre": (PALETTE[0], "s--", "pre-norm")}
THICK, THIN = 1.0, 0.4  # line width of the chosen norm and of the other one, as a fraction of the usual width


def norm_explorer() -> Explorer:
    """Gradients at initialization and stored runs, by norm, depth, warm-up and learning rate.

    It starts where post-norm fails: six blocks on each side, no warm-up.
    """
    recipes = [curve.recipe for curve in stored()["grid"]]
    depths, warmups, rates = (
        sorted({get(recipe) for recipe in recipes})
        for get in (lambda r: r.layers[0], lambda r: r.warmup, lambda r: r.lr)
    )
    return Explorer(
        {
            "norm": choice("norm", ["post", "pre"]),
            "depth": slider(ipywidgets.SelectionSlider, "blocks on each side", options=depths, value=6),
            "lr": slider(ipywidgets.SelectionSlider, "learning rate", options=rates, value=4e-3),
            "warmup": slider(ipywidgets.SelectionSlider, "warm-up", options=warmups),
        },
        norm_picture,
        "sliders for the number of blocks, the learning rate and the warm-up steps, and buttons for "
        "post-norm or pre-norm, with the gradient of each block before training and the loss of stored runs.",
        size=(7.0, 3.4),
    )


@cache
def block_gradients(norm: str, depth: int, seed: int = 0) -> tuple[float, ...]:
    """Gradient norm of each block's last weight matrix at initialization, encoder first.

    Source: Xiong et al. 2020, section 3.3 and figure 3.
    """
    model = small_model(norm, (depth, depth), seed)
    generator = torch.Generator().manual_seed(seed)
    source, target, labels = torch.randint(5, VOCAB, (3, 16, 8), generator=generator)
    F.cross_entropy(model(source, target).flatten(0, 1), labels.flatten()).backward()
    blocks = [*model.encoder, *model.decoder]
    return tuple(block.feed_forward.w_out.weight.grad.norm().item() for block in blocks)


def runs_of(norm: str, depth: int, lr: float, warmup: int) -> list[Curve]:
    """Stored runs with these settings, one per seed."""
    wanted = {"norm": norm, "layers": (depth, depth), "lr": lr, "warmup": warmup}
    return [curve for curve in stored()["grid"] if wanted.items() <= vars(curve.recipe).items()]


def norm_picture(figure: Figure) -> Callable[..., str]:
    """Gradients on the left, losses on the right; the chosen norm has thicker lines."""
    left, right = figure.subplots(1, 2)
    figure.subplots_adjust(left=0.09, right=0.96, bottom=0.2, top=0.86, wspace=0.28)
    points = gradient_axes(left)
    lines = loss_axes(right, seeds=len({curve.recipe.seed for curve in stored()["grid"]}))

    def update(norm: str, depth: int, lr: float, warmup: int) -> str:
        for kind in LOOKS:
            width = rcParams["lines.linewidth"] * (THICK if kind == norm else THIN)
            places = [(i + 0.5) / depth for i in range(2 * depth)]
            points[kind].set_data(places, block_gradients(kind, depth))
            points[kind].set_linewidth(width)
            show_runs(lines[kind], runs_of(kind, depth, lr, warmup), width)
        return sentence(norm, depth, lr, warmup)

    return update


def gradient_axes(axes: Axes) -> dict:
    axes.set(xlim=(0, 2), ylim=(0.06, 2), yscale="log", title="gradient norm before training")
    axes.set_xticks((0.06, 0.5, 1.5, 1.94), ("first", "encoder", "decoder", "last"))
    axes.set_yticks((0.1, 0.3, 1), ("0.1", "0.3", "1"))
    axes.minorticks_off()
    axes.set_xlabel("block")
    axes.axvline(1, color="0.5", linewidth=1)
    return {
        norm: axes.plot([], [], style, color=colour, animated=True)[0]
        for norm, (colour, style, _) in LOOKS.items()
    }


def loss_axes(axes: Axes, seeds: int) -> dict:
    """One line per seed, and a static legend."""
    last = max(EVERY * len(curve.losses) for curve in stored()["grid"])
    axes.set(xlim=(0, last), ylim=(0, 6.5), xlabel="steps", title="loss on held-out sentences")
    for _, (colour, style, label) in LOOKS.items():
        axes.plot([], [], style, color=colour, label=label)
    axes.legend(loc="lower left", fontsize=rcParams["legend.fontsize"])
    return {
        norm: [axes.plot([], [], style[1:], color=colour, animated=True)[0] for _ in range(seeds)]
        for norm, (colour, style, _) in LOOKS.items()
    }


def show_runs(lines: Sequence, curves: Sequence[Curve], width: float) -> None:
    for line, curve in zip(lines, curves, strict=False):
        line.set_data([EVERY * (i + 1) for i in range(len(curve.losses))], curve.losses)
        line.set_linewidth(width)


def sentence(norm: str, depth: int, lr: float, warmup: int) -> str:
    """Status line: settings, gradients and losses of the chosen runs."""
    curves, gradients = runs_of(norm, depth, lr, warmup), block_gradients(norm, depth)
    losses = [curve.losses[-1] for curve in curves]
    rise = f"{warmup} steps of warm-up" if warmup else "no warm-up"
    return (
        f"{LOOKS[norm][2].capitalize()}, {depth} + {depth} blocks, learning rate {lr:g}, {rise}. Gradient "
        f"norm: last decoder block {gradients[-1]:.2f}, first encoder block {gradients[0]:.2f}. After "
        f"{EVERY * len(curves[0].losses)} steps, the loss of {len(curves)} runs is {min(losses):.2f} to "
        f"{max(losses):.2f}. " + verdict(curves)
    )


def verdict(curves: Sequence[Curve]) -> str:
    """How many of the runs collapsed (loss stuck at the unigram level)."""
    collapsed = sum(curve.collapsed for curve in curves)
    if collapsed == len(curves):
        return "Every run collapsed: its loss is stuck at the unigram level."
    if collapsed:
        return f"{collapsed} of {len(curves)} runs collapsed: it depends on the seed."
    return "No run collapsed."
