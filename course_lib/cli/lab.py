"""`lab`: opens the notebooks in JupyterLab."""

import argparse
import os
import sys
from pathlib import Path

from course_lib.cli import arguments, carry, environment, start_page

HELP = "opens the notebooks in JupyterLab; sets up the environment the first time"
PASSES_ON = True
SETTINGS = Path(__file__).with_name("jupyter")  # fewer messages, Markdown rendered, pages that can be printed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--no-browser",
        action="store_true",
        help="start the server and print its address, but open no browser",
    )
    parser.add_argument(
        "--port", type=arguments.port, default=8888, help="port on localhost (if taken: the next free one)"
    )
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
    for name in unreadable(environment.ROOT / "notebooks"):
        print(f"{name} is not a notebook, perhaps because of git's conflict marks: see docs/updating.md.")
    print("Starting JupyterLab. To stop it, press Ctrl-C here.", flush=True)
    return environment.become([*command, *args.rest], env=variables, cwd=environment.ROOT)


def start_at(notebooks: Path) -> list[str]:
    """JupyterLab's option that opens the start page; if the folder cannot be written, a warning and none."""
    try:
        return [f"--LabApp.default_url=/lab/tree/{start_page.write(notebooks).name}"]
    except OSError as problem:
        print(
            f"{notebooks}: {problem.strerror}. Your changes cannot be saved there; copy the course elsewhere."
        )
        return []


def unreadable(notebooks: Path) -> list[str]:
    """The names of the notebooks that Jupyter cannot open."""
    names = []
    for path in sorted(notebooks.glob("*.ipynb")):
        try:
            carry.parsed(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            names.append(path.name)
    return names


def refuse_unknown(rest: list[str]) -> None:
    """Raise ValueError for an option or a notebook that JupyterLab would silently ignore."""
    options = [one.lstrip("-").partition("=")[0] for one in rest if one.startswith("-")]
    if options:
        from jupyterlab.labapp import LabApp

        known = {*LabApp.flags, *LabApp.aliases, "h", "help", "help-all", "version"}
        unknown = [one for one in options if one not in known and "." not in one]  # a.b: any setting
        if unknown:
            raise ValueError(
                f"--{unknown[0]} is not an option of lab or JupyterLab; see --help and --help-all"
            )
    for one in rest:
        if one.endswith(".ipynb") and not (environment.ROOT / one).is_file():
            raise ValueError(f"no such notebook: {environment.ROOT / one}")
