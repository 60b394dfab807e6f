"""A model card: what a model is for, what it has learned from, how well it does, and where it fails."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev

from course_lib.chapters.ch11_your_own_model.project import Project
from course_lib.training.run_record import checksum
from course_lib.utils import machine
from course_lib.utils.files import atomic_path

FILE = "README.md"


def write_card(
    folder: str | Path,
    project: Project,
    scores: Sequence[float],
    baselines: Mapping[str, float],
    *,
    title: str,
    settings: dict[str, object],
    license: str,
    source: str,
    limits: Sequence[str],
) -> Path:
    """Write a model card into the folder of a model, at once or not at all; returns its path.

    scores: test scores, one per seed. settings: how the model was made. license, source: of the data.
    limits: what the model cannot do, and what it should not be used for, a sentence each.
    Raises ValueError if there is no score, no baseline, or nothing is said about license, source or limits.
    Source: Mitchell et al. 2019.
    """
    if not scores or not baselines:
        raise ValueError(
            f"a card needs scores and baselines: {len(scores)} scores, {len(baselines)} baselines"
        )
    said = {"title": [title], "license": [license], "source": [source], "limits": list(limits) or [""]}
    for name, texts in said.items():
        if not all(text.strip(" .?…") for text in texts):
            raise ValueError(f"{name} says nothing: write it for the people who will use the model")
    digits = 3 if project.kind == "text" else 1
    deviation = f" ± {stdev(scores):.{digits}f} (standard deviation)" if len(scores) > 1 else ", one run"
    better = "higher" if project.higher else "lower"
    row = "| {} | {} |".format
    parts = (getattr(project.data, part) for part in ("train", "validation", "test"))
    data = [part.pixels if project.kind == "images" else part for part in parts]
    lines = [
        f"# {title}",
        "",
        f"A model of {project.kind}, made in chapter 11 of the course.",
        "",
        "## Data",
        "",
        f"- Source: {source}",
        f"- License: {license}",
        f"- Checksum: {checksum([str(project.option), *data])}",
        *(f"- {line}" for line in project.look()),
        "",
        f"## Score: {project.unit}, {better} is better",
        "",
        row("on the test set", project.unit),
        row("---", "---"),
        row(f"this model, {len(scores)} seeds", f"{mean(scores):.{digits}f}{deviation}"),
        *(row(name, f"{score:.{digits}f}") for name, score in baselines.items()),
        "",
        "## Settings",
        "",
        *(f"- {name}: {value}" for name, value in (settings | machine.describe("cpu")).items()),
        "",
        "## Limits",
        "",
        *(f"- {limit}" for limit in limits),
        "",
    ]
    path = Path(folder) / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as room:
        room.write_text("\n".join(lines), encoding="utf-8")
    return path
