"""`lab`: opens the notebooks in JupyterLab."""

import argparse
import os
import sys

from course_lib.commands import environment

HELP = "opens the notebooks in JupyterLab; the first time it sets up the environment"
PASSES_ON = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-browser", action="store_true", help="only serve, and print the address")
    parser.add_argument(
        "--port", type=int, default=8888, help="port on localhost (if taken: the next free one)"
    )
    parser.epilog = "All other arguments go to JupyterLab."


def run(args: argparse.Namespace) -> int:
    """Serve `notebooks/` on localhost, with JupyterLab's own token; returns its exit code."""
    command = [sys.executable, "-m", "jupyterlab"]
    command += [f"--ServerApp.root_dir={environment.ROOT / 'notebooks'}", "--ServerApp.ip=localhost"]
    command += [f"--ServerApp.port={args.port}", *(["--no-browser"] if args.no_browser else [])]
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # in a container; JupyterLab would refuse
        command.append("--allow-root")
    print("Starting JupyterLab; stop it here with Ctrl-C.", flush=True)
    return environment.become(
        [*command, *args.rest], env=environment.child_environment(), cwd=environment.ROOT
    )
