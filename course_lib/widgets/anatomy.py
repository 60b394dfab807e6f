"""The lecture's system, some of its oddities mended: what stored runs came to."""

from collections.abc import Callable

import ipywidgets
from matplotlib.figure import Figure

from course_lib.show import PALETTE
from course_lib.widgets.anatomy_runs import MENDS, Run, Score, stored
from course_lib.widgets.explorer import Explorer, numbered_bars, slider

ASKED = {
    "new random vectors, no words fed back": "lecture",
    "the learnt vectors, no words fed back": "learnt",
    "the learnt vectors, words fed back": "feedback",
}


def anatomy_explorer() -> Explorer:
    """A box for each mend, and how the model is asked: BLEU of the stored run that is nearest."""
    boxes = {name: slider(ipywidgets.Checkbox, mend[0], value=False) for name, mend in MENDS.items()}
    ways = list(ASKED)
    asked = slider(ipywidgets.Dropdown, "tested with", options=ways, value=ways[-1])
    return Explorer(
        {"asked": asked, **boxes},
        anatomy_picture,
        "boxes for the oddities of the lecture's system, ticked where they are mended, and a list for how "
        "the model is tested, above bars for the BLEU on training and on held-out sentences. It answers "
        "while the notebook is running.",
        size=(7.0, 2.6),
    )


def nearest(mended: frozenset[str]) -> Run:
    """The stored run whose mends differ in the fewest names."""
    runs = [run for part in stored().values() for run in part]
    return min(runs, key=lambda run: len(run.mended ^ mended))


def anatomy_picture(figure: Figure) -> Callable[..., str]:
    """Two bars, with the BLEU written at their ends."""
    axes = figure.subplots()
    figure.subplots_adjust(left=0.24, right=0.97, bottom=0.22, top=0.86)
    bars = axes.barh(["held-out sentences", "training sentences"], [0, 0], color=[PALETTE[1], PALETTE[0]])
    bars[0].set_hatch("//")
    axes.set(xlim=(0, 112), xlabel="corpus BLEU")
    axes.set_xticks(range(0, 101, 20))
    axes.grid(axis="y", visible=False)
    title = axes.set_title("", animated=True)
    move = numbered_bars(bars)

    def update(asked: str, **ticked: bool) -> str:
        mended = frozenset(name for name, on in ticked.items() if on)
        run = nearest(mended)
        found = run.scores[ASKED[asked]]
        away = len(run.mended ^ mended)
        title.set_text(
            f"{len(run.mended)} of {len(MENDS)} mended" + (f", {away} off your choice" if away else "")
        )
        move([found.held_out_bleu, found.train_bleu])
        return sentence(run, mended, found)

    return update


def sentence(run: Run, mended: frozenset[str], found: Score) -> str:
    """What is shown, in words and numbers."""
    names = [MENDS[name][0] for name in MENDS if name in run.mended]
    shown = f"mended: {', '.join(names)}" if names else "nothing mended"
    if len(names) == len(MENDS):
        shown = "everything mended"
    other = len(run.mended ^ mended)
    head = f"The nearest stored run, {other} boxes away: {shown}." if other else f"{shown.capitalize()}."
    return (
        f"{head} {run.parameters:,} parameters. Training sentences: BLEU {found.train_bleu}, "
        f"{found.train_right:.0%} exactly right. Held-out sentences: BLEU {found.held_out_bleu}, "
        f"{found.held_out_right:.0%} exactly right."
    )
