"""Learning rate schedules: Noam, linear, cosine and constant, compared with a reference schedule."""

from collections.abc import Callable

import ipywidgets
import torch
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from course_lib.training.config import TrainConfig, learning_rate
from course_lib.viz.style import PALETTE
from course_lib.widgets.explorer import Explorer, choice, slider

KINDS = ("noam", "linear", "cosine", "constant")
RATES = (1e-5, 3e-5, 1e-4, 2e-4, 3e-4, 5e-4, 1e-3, 2e-3, 3e-3, 5e-3)  # peaks
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)  # factor of Noam's formula
TOTALS = (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
WARMUPS = (1, 10, 100, 200, 500, 1000, 2000, 4000, 8000, 16_000)
WIDTHS = (64, 128, 256, 512, 1024)
REFERENCE = TrainConfig(steps=TOTALS[-1], schedule="noam", lr=2.0, warmup=4000)  # Kak slide 77
REFERENCE_WIDTH = 256
POINTS = 400  # points per curve


def schedule_explorer() -> Explorer:
    """Learning rate over training, by schedule, peak or factor, warm-up, steps and d_model."""
    controls = {
        "kind": choice("schedule", KINDS),
        "rate": slider(ipywidgets.SelectionSlider, "factor", options=FACTORS, value=1.0),
        "warmup": slider(ipywidgets.SelectionSlider, "warm-up", options=allowed(20_000), value=4000),
        "total": slider(ipywidgets.SelectionSlider, "steps", options=TOTALS, value=20_000),
        "d_model": slider(ipywidgets.SelectionSlider, "d_model", options=WIDTHS, value=512),
    }
    connect(controls)
    return Explorer(
        controls,
        schedule_picture,
        "sliders for the peak, the warm-up, the number of steps and d_model, buttons for the schedule, and "
        "the learning rate at each step.",
    )


def allowed(total: int) -> tuple[int, ...]:
    """Warm-up lengths shorter than the training run."""
    return tuple(steps for steps in WARMUPS if steps < total)


def connect(controls: dict[str, ipywidgets.Widget]) -> None:
    """Keep controls valid: factor and d_model for Noam, else a peak; warm-up ends before training."""
    rate, warmup = controls["rate"], controls["warmup"]
    last = {"factor": 1.0, "peak": 1e-3}

    def take_turns(change: dict) -> None:
        last[rate.description] = rate.value
        noam = change["new"] == "noam"
        controls["d_model"].disabled = not noam
        if (rate.description == "factor") != noam:
            rate.description = "factor" if noam else "peak"
            set_options(rate, FACTORS if noam else RATES, last[rate.description])

    def shorten(change: dict) -> None:
        fitting = allowed(change["new"])
        set_options(warmup, fitting, min(warmup.value, fitting[-1]))

    controls["kind"].observe(take_turns, names="value")
    controls["total"].observe(shorten, names="value")


def set_options(control: ipywidgets.Widget, options: tuple, value: float | int) -> None:
    """Replace the options and set a value; otherwise the control would jump to its first option."""
    control.options = options
    control.value = value


def rates(config: TrainConfig, total: int, d_model: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Sampled steps, including the last warm-up step, and the learning rate at each."""
    steps = {round(i * (total - 1) / (POINTS - 1)) for i in range(POINTS)} | {min(config.warmup, total) - 1}
    places = sorted(steps)
    return torch.tensor(places) + 1, torch.tensor([learning_rate(i, total, config, d_model) for i in places])


def schedule_picture(figure: Figure) -> Callable[..., str]:
    """Learning rate by step, with the end of warm-up (dotted) and the reference schedule (dashed)."""
    axes = figure.add_axes((0.11, 0.2, 0.82, 0.66))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    (curve,) = axes.plot([], [], color=PALETTE[0], label="chosen")
    (other,) = axes.plot([], [], "--", color=PALETTE[1], label="reference: Noam, factor 2, d_model 256")
    (peak,) = axes.plot([], [], "o", color=PALETTE[0])
    end = axes.axvline(0, color="0.4", linestyle=":", linewidth=1.5, label="end of warm-up")
    axes.legend(ncols=3, loc="lower left", bbox_to_anchor=(-0.13, 1.0), columnspacing=1.2)
    axes.set(xlabel="step", ylabel="learning rate / 0.001")

    def update(kind: str, rate: float, warmup: int, total: int, d_model: int) -> str:
        config = TrainConfig(steps=total, schedule=kind, lr=rate, warmup=warmup)
        steps, chosen = rates(config, total, d_model)
        reference_steps, reference = rates(REFERENCE, total, REFERENCE_WIDTH)
        curve.set_data(steps, 1000 * chosen)
        other.set_data(reference_steps, 1000 * reference)
        best = int(chosen.argmax())
        peak.set_data([steps[best]], [1000 * chosen[best]])
        end.set_xdata((warmup, warmup))
        top = 1000 * max(chosen.max(), reference.max()).item()
        axes.set(xlim=(0, total), ylim=(0, 1.08 * top))
        return in_words(config, total, d_model, steps, chosen)

    return update


def in_words(config: TrainConfig, total: int, d_model: int, steps: torch.Tensor, chosen: torch.Tensor) -> str:
    """Status line: peak, fraction of warm-up steps, mean and final learning rate."""
    best = int(chosen.argmax())
    mean = (torch.trapezoid(chosen, steps.float()) / (steps[-1] - steps[0])).item()
    peak = chosen[best].item()
    reference = learning_rate(REFERENCE.warmup - 1, None, REFERENCE, REFERENCE_WIDTH)
    kind = config.schedule
    settings = f" with factor {config.lr:g} and d_model {d_model}" if kind == "noam" else ""
    return (
        f"{kind.capitalize()}{settings}: peak {peak:.3g} at step {int(steps[best]):,}; warm-up is "
        f"{config.warmup / total:.1%} of {total:,} steps. Mean rate {mean:.3g} ({mean / peak:.0%} of the "
        f"peak), final rate {chosen[-1].item():.3g}. " + against(peak, reference)
    )


def against(peak: float, reference: float) -> str:
    """Status line, last part: the peak relative to the reference schedule's."""
    times = peak / reference
    if 0.995 < times < 1.005:
        return f"The reference schedule has the same peak, {reference:.3g}."
    return f"The peak is {times:.2g} times that of the reference schedule ({reference:.3g})."
