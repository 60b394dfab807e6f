"""The lecture's system with some of its deviations fixed: the results of stored training runs."""

from collections.abc import Callable

import ipywidgets
from matplotlib.figure import Figure

from course_lib.chapters.chA1_dlstudio import anatomy_samples
from course_lib.chapters.chA1_dlstudio.anatomy import FIXES, SECONDS, STEPS, Run, Score, stored
from course_lib.viz.style import PALETTE
from course_lib.widgets.explorer import Explorer, numbered_bars, slider
from course_lib.widgets.markup import Markup, join, line, span

ASKED = {
    "new embeddings": "lecture",
    "same embeddings": "learnt",
    "same, autoregressive": "feedback",
}
LONG = {f"{SECONDS} s of CPU time": True, f"{STEPS} steps": False}  # True: limited by time


def anatomy_explorer() -> Explorer:
    """BLEU of the stored run nearest to the chosen fixes, training budget and evaluation."""
    boxes = {name: slider(ipywidgets.Checkbox, fix[0], value=False) for name, fix in FIXES.items()}
    ways = list(ASKED)
    asked = slider(ipywidgets.Dropdown, "tested with", options=ways, value=ways[-1])
    trained = slider(ipywidgets.Dropdown, "trained for", options=list(LONG))
    return Explorer(
        {"trained": trained, "asked": asked, **boxes},
        anatomy_picture,
        "checkboxes that fix deviations in the lecture's system, and menus for the training budget and the "
        "evaluation, with bars that show BLEU on training and held-out sentences, and sample translations.",
        size=(7.0, 2.6),
    )


def nearest(fixed: frozenset[str], timed: bool = False) -> Run:
    """Nearest stored run with this budget: the one whose set of fixes differs by the fewest names.

    With a budget in steps, every run has one decoder pass: the lecture's nine passes give the same result.
    """
    wanted = fixed if timed else fixed | {"passes"}
    runs = [run for part, made in stored().items() if part.endswith("timed") == timed for run in made]
    return min(runs, key=lambda run: len(run.fixed ^ wanted))


def anatomy_picture(figure: Figure) -> Callable[..., tuple[str, Markup]]:
    """Bars for BLEU on held-out and training sentences."""
    axes = figure.subplots()
    figure.subplots_adjust(left=0.24, right=0.97, bottom=0.22, top=0.86)
    bars = axes.barh(["held-out sentences", "training sentences"], [0, 0], color=[PALETTE[1], PALETTE[0]])
    bars[0].set_hatch("//")
    axes.set(xlim=(0, 112), xlabel="corpus BLEU")
    axes.set_xticks(range(0, 101, 20))
    axes.grid(axis="y", visible=False)
    title = axes.set_title("", animated=True)
    move = numbered_bars(bars)

    def update(trained: str, asked: str, **ticked: bool) -> tuple[str, Markup]:
        fixed = frozenset(name for name, on in ticked.items() if on)
        run = nearest(fixed, LONG[trained])
        found = run.scores[ASKED[asked]]
        away = distance(run, fixed, LONG[trained])
        title.set_text(
            f"{len(run.fixed)} of {len(FIXES)} fixed" + (f" ({away} away from your choice)" if away else "")
        )
        move([found.held_out_bleu, found.train_bleu])
        return sentence(run, away, found), samples(run, ASKED[asked])

    return update


def distance(run: Run, fixed: frozenset[str], timed: bool) -> int:
    """Number of fixes by which a run differs from these; with a budget in steps, the passes do not count."""
    return len((run.fixed ^ fixed) - (frozenset() if timed else {"passes"}))


def sentence(run: Run, away: int, found: Score) -> str:
    """Status line: the run, its size, its speed and its scores."""
    names = [FIXES[name][0] for name in FIXES if name in run.fixed]
    shown = f"fixed: {', '.join(names)}" if names else "nothing fixed"
    if len(names) == len(FIXES):
        shown = "everything fixed"
    boxes = "1 checkbox" if away == 1 else f"{away} checkboxes"
    head = f"The nearest stored run, {boxes} away: {shown}." if away else f"{shown.capitalize()}."
    return (
        f"{head} {run.parameters:,} parameters, {run.steps:,} steps, {run.speed:,.0f} target positions "
        f"per second. Training sentences: BLEU {found.train_bleu}, {found.train_right:.0%} exact matches. "
        f"Held-out sentences: BLEU {found.held_out_bleu}, {found.held_out_right:.0%} exact matches."
    )


def samples(run: Run, asked: str) -> Markup:
    """A few sentences, the run's translations and the references.

    A run of a minute without samples shows those of the same system after `STEPS` steps, and says so.
    """
    pairs, translated = anatomy_samples.stored()
    steps = run.steps if (run.fixed, run.steps) in translated else STEPS
    kinds = ["training"] * anatomy_samples.EACH + ["held out"] * anatomy_samples.EACH
    lines = [line(f"Sample translations after {steps} steps; references in parentheses")]
    for kind, (source, target), words in zip(kinds, pairs, translated[run.fixed, steps][asked], strict=True):
        lines.append(line(f"{kind}:", span(f"{source} → {words or '(no output)'} ({target})", "")))
    return join(lines)
