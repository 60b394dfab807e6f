"""Scaling law: how more parameters or more tokens would change the loss."""

from collections.abc import Callable

import ipywidgets
import numpy as np
from matplotlib import rcParams
from matplotlib.figure import Figure

from course_lib.chapters.ch07_language_models import scaling
from course_lib.chapters.ch07_language_models.scaling_law import Law, Number, fit_law, training_flops
from course_lib.viz.style import PALETTE
from course_lib.widgets.explorer import Explorer, slider

PARAMETERS = tuple(round(10 ** (3 + i / 4), -1) for i in range(17))  # 1,000 to 10 million
TOKENS = tuple(round(10 ** (5 + i / 4), -2) for i in range(13))  # 100,000 to 100 million


def scaling_explorer() -> Explorer:
    """The stored sweep's runs, and the loss its law gives for any number of parameters and tokens."""
    runs = scaling.stored("sweep")
    law = fit_law(runs)
    controls = {
        "parameters": slider(
            ipywidgets.SelectionSlider, "parameters", options=_named(PARAMETERS), value=PARAMETERS[4]
        ),
        "tokens": slider(ipywidgets.SelectionSlider, "tokens", options=_named(TOKENS), value=TOKENS[2]),
    }
    return Explorer(
        controls,
        lambda figure: scaling_picture(figure, runs, law),
        "sliders for the number of parameters and of training tokens, above the held-out losses of measured "
        "runs and the loss that the fitted law predicts.",
    )


def _named(numbers: tuple[Number, ...]) -> list[tuple[str, Number]]:
    return [(f"{number:,.0f}", number) for number in numbers]


def scaling_picture(figure: Figure, runs: list[scaling.Run], law: Law) -> Callable[..., str]:
    """Held-out loss over training tokens: measured runs, the law for the chosen size, the chosen point."""
    axes = figure.add_axes((0.09, 0.18, 0.88, 0.76))
    marks = 0.7 * rcParams["lines.markersize"]  # they lie close together
    sizes = sorted({run.parameters for run in runs})
    for size, color, marker in zip(sizes, PALETTE[1:], "os^v", strict=False):
        places = [(run.tokens, run.loss) for run in runs if run.parameters == size]
        axes.plot(
            *zip(*places, strict=True),
            marker,
            color=color,
            markersize=marks,
            label=f"measured, {size:,.0f} parameters",
        )
    (curve,) = axes.plot([], [], color=PALETTE[0], label="law, chosen size")
    (chosen,) = axes.plot([], [], "D", color="black", label="chosen")
    axes.set(xscale="log", xlabel="training tokens", ylabel="held-out loss")
    lowest = min(law.loss(PARAMETERS[-1], TOKENS[-1]), min(run.loss for run in runs))
    axes.set(xlim=(0.8 * TOKENS[0], 1.2 * TOKENS[-1]), ylim=(0.9 * lowest, 1.3 * max(r.loss for r in runs)))
    axes.legend(loc="upper right", ncols=2)
    line = np.geomspace(TOKENS[0], TOKENS[-1], 80)

    def update(parameters: Number, tokens: Number) -> str:
        curve.set_data(line, [law.loss(parameters, d) for d in line])
        chosen.set_data([tokens], [law.loss(parameters, tokens)])
        return in_words(law, parameters, tokens) + outside(runs, parameters, tokens)

    return update


def in_words(law: Law, parameters: Number, tokens: Number) -> str:
    """Status line: the loss, the compute, and what doubling either number would give."""
    here, larger, longer = law.loss(parameters, tokens), law.loss(2 * parameters, tokens), 2 * tokens
    return (
        f"{parameters:,.0f} parameters, {tokens:,.0f} tokens: predicted loss {here:.2f} for "
        f"{training_flops(parameters, tokens):.1e} FLOPs. With twice the parameters: {larger:.2f}; with "
        f"twice the tokens: {law.loss(parameters, longer):.2f}."
    )


def outside(runs: list[scaling.Run], parameters: Number, tokens: Number) -> str:
    """Status line, last part: a warning if no measured run has such a size or so many tokens."""
    sizes, texts = [run.parameters for run in runs], [run.tokens for run in runs]
    within = min(sizes) <= parameters <= max(sizes) and min(texts) <= tokens <= max(texts)
    return "" if within else " This lies outside the measured runs: an extrapolation."
