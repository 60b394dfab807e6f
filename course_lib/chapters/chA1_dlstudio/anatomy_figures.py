"""Tables and figures of the training runs in the appendix on the DLStudio system."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from course_lib.chapters.chA1_dlstudio.anatomy import Run
from course_lib.viz.style import PALETTE


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
