"""What a GPU buys in each notebook, by arithmetic: `python tests/helpers/gpu_budgets.py` writes docs/gpu.md.

Each notebook that has a setting for a GPU runs with one step per training run, on the CPU with its setting
for a CPU, and on the device made of CPU memory with its setting for a GPU. From what a step costs there, and
the number of steps, follow the times in the table. Nothing in it was measured on a GPU.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from helpers import short_notebook
from helpers.solutions import NOTEBOOKS, ROOT

PAGE, START, END = ROOT / "docs" / "gpu.md", "<!-- computed from here -->", "<!-- to here -->"
COSTS = ROOT / "tests" / "helpers" / "gpu_costs.json"
# Seconds to launch an operation in eager mode, and multiplications and additions per second that small
# models reach, about half of the peak: in fp32, and in 16 bits.
GPUS = {"T4": (15e-6, 4e12, 15e12), "larger (A100, H100)": (10e-6, 10e12, 100e12)}
BY_HAND = {"06": {"cpu": 600, "gpu": 1507}}  # steps of its own loop: like those that the library takes there


def measured(notebook: Path, second: bool) -> list[dict]:
    """The cost of a step of each training run of a notebook."""
    variables = {key: value for key, value in os.environ.items() if key != "COURSE_SECOND_DEVICE"}
    variables |= {"COURSE_SECOND_DEVICE": "1"} if second else {"COURSE_DEVICE": "cpu"}
    with tempfile.TemporaryDirectory() as folder:
        costs = Path(folder) / "costs.json"
        command = [sys.executable, short_notebook.__file__, notebook, costs, "--whole"]
        subprocess.run(command, cwd=folder, env=variables, check=True)
        return json.loads(costs.read_text())


def seconds(run: dict, gpu: str) -> float:
    """How long a run takes at least: the larger of what its launches and its arithmetic need."""
    launch, full, half = GPUS[gpu]
    rate = full if run["precision"] == "fp32" else half
    return run["steps"] * max(run["operations"] * launch, 2 * run["multiplications"] / rate)


def rows(costs: dict[str, dict[str, list[dict]]]) -> list[str]:
    """The table, a row for each cell that trains."""
    lines = []
    for name, by_place in costs.items():
        cells = {place: defaultdict(list) for place in by_place}
        for place, runs in by_place.items():
            for run in runs:
                cells[place][run["cell"]].append(run)
        for cell, runs in sorted(cells["gpu"].items()):
            before = cells["cpu"].get(cell, [])
            minutes = sum(run["steps"] * run["seconds"] for run in before) / 60
            lines.append(
                f"| {name}, cell {cell + 1} | {steps(before)} | {minutes:.1f} | {steps(runs)} "
                f"| {max(run['operations'] for run in runs):,} "
                f"| {max(run['multiplications'] for run in runs) / 1e9:.2f} "
                f"| {max(run['bytes'] for run in runs) / 1e9:.2f} "
                f"| {' | '.join(f'{sum(seconds(run, gpu) for run in runs):,.0f}' for gpu in GPUS)} |"
            )
    return lines


def steps(runs: list[dict]) -> str:
    """Numbers of steps, such as `3 × 200`."""
    numbers = [run["steps"] for run in runs]
    counted = {number: numbers.count(number) for number in numbers}
    return " + ".join(f"{n} × {steps:,}" if n > 1 else f"{steps:,}" for steps, n in counted.items()) or "–"


def write(costs: dict[str, dict[str, list[dict]]]) -> None:
    """Put the table into the page."""
    head = (
        "| chapter | steps on a CPU | minutes there | steps on a GPU | operations per step "
        f"| billion multiplications per step | GB | {' | '.join(f'seconds, {gpu}' for gpu in GPUS)} |"
    )
    table = "\n".join([head, "|---" * (head.count("|") - 1) + "|", *rows(costs)])
    before, rest = PAGE.read_text(encoding="utf-8").split(START)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{START}\n\n{table}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    found = json.loads(COSTS.read_text(encoding="utf-8")) if COSTS.exists() else {}
    for path in NOTEBOOKS:
        chapter = path.name.partition("_")[0]
        if chapter in sys.argv[1:]:
            found[chapter] = {"cpu": measured(path, second=False), "gpu": measured(path, second=True)}
            for place, number in BY_HAND.get(chapter, {}).items():
                found[chapter][place][0]["steps"] = number
    COSTS.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n", encoding="utf-8")
    write(found)
