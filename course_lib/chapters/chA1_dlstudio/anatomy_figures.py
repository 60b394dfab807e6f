"""Tables and figures of the training runs in the appendix on the DLStudio system."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from course_lib.viz.style import PALETTE


@runtime_checkable
class Score(Protocol):
    """Corpus BLEU (0 to 100) on training and on held-out sentences."""

    @property
    def train_bleu(self) -> float: ...

    @property
    def held_out_bleu(self) -> float: ...


@runtime_checkable
class Run(Protocol):
    """A training run: its size, its length, and its scores with the model's own words fed back."""

    @property
    def parameters(self) -> int: ...

    @property
    def steps(self) -> int: ...

    @property
    def speed(self) -> float: ...

    @property
    def scores(self) -> Mapping[str, Score]: ...


def print_runs(labels: Sequence[str], timed: Sequence[Run], counted: Sequence[Run]) -> None:
    """Print one row per system: its size, its speed, and its BLEU after a minute and after 400 steps.

    timed, counted: the runs of a minute and of 400 steps, one for each label.
    """
    print(f"{'':38}{'positions':>11}{'steps in':>10}   BLEU training / held out, words fed back")
    print(f"{'':27}{'parameters':>11}{'a second':>11}{'a minute':>10}{'a minute':>18}{'400 steps':>18}")
    for label, *runs in zip(labels, timed, counted, strict=True):
        scores = [run.scores["feedback"] for run in runs]
        both = [f"{score.train_bleu:.1f} / {score.held_out_bleu:.1f}" for score in scores]
        run = runs[0]
        numbers = f"{run.parameters:>11,}{float(f'{run.speed:.2g}'):>11,.0f}{run.steps:>10,}"
        print(f"{label:27}{numbers}{both[0]:>18}{both[1]:>18}")


def draw_runs(labels: Sequence[str], timed: Sequence[Run]) -> Figure:
    """Draw BLEU on training and on held-out sentences, one row per system."""
    fig, ax = plt.subplots(figsize=(6.4, 4.4))
    scores = [run.scores["feedback"] for run in timed]
    rows = range(len(scores))
    ax.plot([score.train_bleu for score in scores], rows, "s--", color=PALETTE[0], label="training")
    ax.plot([score.held_out_bleu for score in scores], rows, "o-", color=PALETTE[1], label="held out")
    ax.set_yticks(rows, labels)
    ax.invert_yaxis()
    ax.set(xlabel="corpus BLEU after a minute, words fed back", xlim=(-3, 103))
    ax.legend(loc="center right")
    return fig
