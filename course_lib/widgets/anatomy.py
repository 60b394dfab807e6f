"""The lecture's system, some of its oddities mended: what stored runs came to."""

from collections.abc import Callable

import ipywidgets
from matplotlib.figure import Figure

from course_lib.show import PALETTE
from course_lib.widgets.anatomy_runs import MENDS, SECONDS, STEPS, Run, Score, stored
from course_lib.widgets.explorer import Explorer, numbered_bars, slider

ASKED = {
    "new random vectors, no words fed back": "lecture",
    "the learnt vectors, no words fed back": "learnt",
    "the learnt vectors, words fed back": "feedback",
}
LONG = {f"{SECONDS} seconds of one processor": True, f"{STEPS} steps": False}  # whether by the clock


def anatomy_explorer() -> Explorer:
    """A box for each mend, how long is trained, how the model is asked: BLEU of the nearest stored run."""
    boxes = {name: slider(ipywidgets.Checkbox, mend[0], value=False) for name, mend in MENDS.items()}
    ways = list(ASKED)
    asked = slider(ipywidgets.Dropdown, "tested with", options=ways, value=ways[-1])
    return Explorer(
        {"trained": slider(ipywidgets.Dropdown, "trained for", options=list(LONG)), "asked": asked, **boxes},
        anatomy_picture,
        "boxes for the oddities of the lecture's system, ticked where they are mended, and lists for how "
        "long it is trained and how it is tested, above bars for the BLEU on training and on held-out "
        "sentences. It answers while the notebook is running.",
        size=(7.0, 2.6),
    )


def nearest(mended: frozenset[str], timed: bool = False) -> Run:
    """The stored run of this length whose mends differ in the fewest names.

    At equal steps all have one decoder pass: the lecture's nine come to the same.
    """
    wanted = mended if timed else mended | {"passes"}
    runs = [run for part, made in stored().items() if part.endswith("timed") == timed for run in made]
    return min(runs, key=lambda run: len(run.mended ^ wanted))


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

    def update(trained: str, asked: str, **ticked: bool) -> str:
        mended = frozenset(name for name, on in ticked.items() if on)
        run = nearest(mended, LONG[trained])
        found = run.scores[ASKED[asked]]
        away = distance(run, mended, LONG[trained])
        title.set_text(
            f"{len(run.mended)} of {len(MENDS)} mended" + (f", {away} off your choice" if away else "")
        )
        move([found.held_out_bleu, found.train_bleu])
        return sentence(run, away, found)

    return update


def distance(run: Run, mended: frozenset[str], timed: bool) -> int:
    """In how many names a run's mends differ from these; at equal steps the passes do not count."""
    return len((run.mended ^ mended) - (frozenset() if timed else {"passes"}))


def sentence(run: Run, away: int, found: Score) -> str:
    """What is shown, in words and numbers."""
    names = [MENDS[name][0] for name in MENDS if name in run.mended]
    shown = f"mended: {', '.join(names)}" if names else "nothing mended"
    if len(names) == len(MENDS):
        shown = "everything mended"
    boxes = "1 box" if away == 1 else f"{away} boxes"
    head = f"The nearest stored run, {boxes} away: {shown}." if away else f"{shown.capitalize()}."
    return (
        f"{head} {run.parameters:,} parameters, {run.steps:,} steps, {run.speed:,.0f} target positions a "
        f"second. Training sentences: BLEU {found.train_bleu}, {found.train_right:.0%} exactly right. "
        f"Held-out sentences: BLEU {found.held_out_bleu}, {found.held_out_right:.0%} exactly right."
    )
