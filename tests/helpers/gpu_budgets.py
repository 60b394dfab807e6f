"""What a GPU buys in each notebook, by arithmetic: `python tests/helpers/gpu_budgets.py CHAPTER …`.

Writes the table in docs/gpu.md, and measures the costs of the chapters named: each runs on the device made of
CPU memory, with its settings for a GPU and a few steps per training run. From what a step does there, and the
number of steps, follow the times in the table. Nothing in it was measured on a GPU.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from helpers import short_notebook
from helpers.solutions import NOTEBOOKS, ROOT

PAGE, START, END = ROOT / "docs" / "gpu.md", "<!-- computed from here -->", "<!-- to here -->"
COSTS = ROOT / "tests" / "helpers" / "gpu_costs.json"
# Seconds to start an operation in eager mode, and multiplications and additions per second that small models
# reach, about half of the peak: in fp32, and in 16 bits.
DEVICES = {
    "one CPU core": (5e-6, 3e10, 3e11),
    "T4": (15e-6, 4e12, 15e12),
    "A100, H100": (10e-6, 10e12, 100e12),
}
BY_HAND = {"06": 1507}  # steps of its own loop: each is like the first that the library takes there


def stored() -> dict[str, list[dict]]:
    """The cost of a step of each training run, by chapter."""
    return json.loads(COSTS.read_text(encoding="utf-8"))


def measured(notebooks: list[Path]) -> dict[str, list[dict]]:
    """The same, measured now."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, short_notebook.__file__, folder, *notebooks]
        more = {"COURSE_SECOND_DEVICE": "1", "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests")))}
        subprocess.run(command, cwd=folder, env=os.environ | more, check=True)
        files = {chapter(path): Path(folder) / f"{path.stem}.json" for path in notebooks}
        found = {name: json.loads(file.read_text()) for name, file in files.items()}
    for name, result in found.items():
        if result["error"]:
            raise RuntimeError(f"chapter {name}: {result['error']}")
    return {name: result["runs"] for name, result in found.items()}


def chapter(notebook: Path) -> str:
    return notebook.name.partition("_")[0]


def seconds(run: dict, device: str) -> float:
    """How long a run takes at least: the larger of what its launches and its arithmetic need."""
    launch, full, half = DEVICES[device]
    rate = full if run["precision"] == "fp32" else half
    return run["steps"] * max(run["operations"] * launch, 2 * run["multiplications"] / rate)


def rows(costs: dict[str, list[dict]]) -> Iterator[str]:
    """The table, a row for each section that trains."""
    for name, found in costs.items():
        by_section = defaultdict(list)
        own = [{**found[-1], "section": "its own loop", "steps": BY_HAND[name]}] if name in BY_HAND else []
        for run in own + found:
            by_section[run["section"]].append(run)
        for section, runs in by_section.items():
            largest = {
                key: max(run[key] for run in runs) for key in ("operations", "multiplications", "bytes")
            }
            times = [sum(seconds(run, device) for run in runs) for device in DEVICES]
            yield (
                f"| {name}, {section} | {steps(runs)} | {largest['operations']:,} "
                f"| {largest['multiplications'] / 1e9:.2f} | {largest['bytes'] / 1e9:.2f} "
                f"| {' | '.join(f'{time:,.0f}' for time in times)} |"
            )


def steps(runs: list[dict]) -> str:
    """Numbers of steps, such as `3 × 200`."""
    numbers = [run["steps"] for run in runs]
    counted = {number: numbers.count(number) for number in numbers}
    return " + ".join(f"{n} × {steps:,}" if n > 1 else f"{steps:,}" for steps, n in counted.items())


def write(costs: dict[str, list[dict]]) -> None:
    """Put the table into the page."""
    head = (
        "| chapter, section | steps | operations per step | billion multiplications per step | GB "
        f"| {' | '.join(f'seconds, {device}' for device in DEVICES)} |"
    )
    table = "\n".join([head, "|---" * (head.count("|") - 1) + "|", *rows(costs)])
    before, rest = PAGE.read_text(encoding="utf-8").split(START)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{START}\n\n{table}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    chosen = [path for path in NOTEBOOKS if chapter(path) in sys.argv[1:]]
    found = dict(sorted((stored() | (measured(chosen) if chosen else {})).items()))
    COSTS.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n", encoding="utf-8")
    write(found)
