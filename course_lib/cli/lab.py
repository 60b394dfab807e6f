"""`lab`: opens the notebooks in JupyterLab, on a page with the chapters and the exercises that are passed.

Standard library only.
"""

import argparse
import os
import re
import sys
from pathlib import Path
from urllib.parse import quote

from course_lib.cli import carry, environment, present
from course_lib.utils.files import atomic_path
from course_lib.utils.progress import OPEN, PASSED, answered, location, passed

HELP = "opens the notebooks in JupyterLab; sets up the environment the first time"
PASSES_ON = True
SETTINGS = Path(__file__).with_name("jupyter")  # fewer messages, Markdown rendered, pages that can be printed
START = "START.md"  # beside the notebooks, ignored by git
EXERCISE = re.compile(r"""\bcheck\(\s*["'](\w+\.\w+)["']""")
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
GOING_DEEPER = re.compile(r"\d\d[a-z]_|A\d_")  # names of notebooks that the thread of the course can spare


def add_arguments(parser: argparse.ArgumentParser) -> None:
    present.add_server(parser, port=8888)
    parser.epilog = "All other arguments are passed on to JupyterLab."


def run(args: argparse.Namespace) -> int:
    """Serve `notebooks/` on localhost, with JupyterLab's own token; returns its exit code."""
    refuse_unknown(args.rest)
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-m", "jupyterlab"]
    command += [f"--ServerApp.root_dir={environment.ROOT / 'notebooks'}", "--ServerApp.ip=localhost"]
    command += [f"--ServerApp.port={args.port}", *(["--no-browser"] if args.no_browser else [])]
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # in a container; JupyterLab would refuse
        command.append("--allow-root")
    command += start_at(environment.ROOT / "notebooks")
    variables = environment.child_environment()
    for name in ("JUPYTER_CONFIG_PATH", "JUPYTER_PATH"):
        variables[name] = os.pathsep.join([os.fspath(SETTINGS), *filter(None, [variables.get(name)])])
    notebooks = sorted((environment.ROOT / "notebooks").glob("*.ipynb"))
    for name in [path.name for path in notebooks if source(path) is None]:
        print(f"{name} is not a notebook, perhaps because of git's conflict marks: see docs/updating.md.")
    print("Starting JupyterLab. To stop it, press Ctrl-C here.", flush=True)
    return environment.become([*command, *args.rest], env=variables, cwd=environment.ROOT)


def start_at(notebooks: Path) -> list[str]:
    """JupyterLab's option that opens the start page; if the folder cannot be written, a warning and none."""
    try:
        with atomic_path(notebooks / START) as part:
            part.write_text(start_page(notebooks), encoding="utf-8")
    except OSError as problem:
        print(
            f"{notebooks}: {problem.strerror}. Your changes cannot be saved there; copy the course elsewhere."
        )
        return []
    return [f"--LabApp.default_url=/lab/tree/{START}"]


def start_page(notebooks: Path) -> str:
    """The start page as Markdown: a table with one row per notebook."""
    rows = [row(path) for path in sorted(notebooks.glob("*.ipynb"))]
    kept = f"your progress is {location()}"
    return "\n".join(
        [
            "# Welcome to the Transformer course",
            "",
            "Work through the chapters in order: each one builds on those above it. Indented rows go",
            f"deeper and can wait. Click a chapter to open it. {PASSED} marks an exercise that you have",
            f"passed, {OPEN} one that you have not. `lab` updates this page when it starts.",
            'To read your saved answers, run `progress(show="01")` in the notebook of chapter 1.',
            "",
            "| | exercises | |",
            "|---|---|---|",
            *rows,
            "",
            "  \n".join(f"{line[0].upper()}{line[1:]}." for line in filter(None, [answered(), kept])),
            "",
        ]
    )


def row(path: Path) -> str:
    """The table row of a notebook: title, a mark per exercise, and their count."""
    text = source(path) or ""
    found = TITLE.search(text)
    title = (found[1] if found else path.stem).replace("|", r"\|")
    indent = "&emsp;" if GOING_DEEPER.match(path.name) else ""
    exercises = list(dict.fromkeys(EXERCISE.findall(text)))
    done = passed().intersection(exercises)
    marks = "".join(PASSED if one in done else OPEN for one in exercises)
    count = f"{len(done)} of {len(exercises)}" if exercises else ""
    return f"| {indent}[{title}]({quote(path.name)}) | {marks} | {count} |"


def source(path: Path) -> str | None:
    """The text and code of a notebook; None if the file is not one, so that Jupyter cannot open it."""
    try:
        return "\n".join(map(carry.text, carry.parsed(path.read_text(encoding="utf-8"))["cells"]))
    except (AttributeError, OSError, TypeError, ValueError):
        return None


def refuse_unknown(rest: list[str]) -> None:
    """Raise ValueError for an option or a notebook that JupyterLab would silently ignore."""
    options = [one.lstrip("-").partition("=")[0] for one in rest if one.startswith("-")]
    if options:
        from jupyterlab.labapp import LabApp

        known = {*LabApp.flags, *LabApp.aliases, "h", "help", "help-all", "version"}
        for one in options:
            if one not in known and "." not in one:  # a.b: any setting
                raise ValueError(f"--{one} is not an option of lab or JupyterLab; see --help and --help-all")
    for one in rest:
        if one.endswith(".ipynb") and not (environment.ROOT / one).is_file():
            raise ValueError(f"no such notebook: {environment.ROOT / one}")
