"""`present`: the widgets on a page of their own, for the projector.

Voilà serves it on localhost alone, behind a token that changes with every start. Nothing comes from the
network.
"""

import argparse
import os
import secrets
import socket
import subprocess
import sys
import time
import webbrowser
from pathlib import Path

from course_lib.commands import environment

HELP = "shows the widgets on a page of their own, for the projector: all, a chapter's, or one"
FOLDER = Path(__file__).with_name("voila")
HOST = "127.0.0.1"
EXTENSIONS = (  # all that draw widgets; others that are installed for JupyterLab fail on a page of Voilà
    "@jupyter-widgets/jupyterlab-manager",
    "@voila-dashboards/widgets-manager7",
    "@voila-dashboards/widgets-manager8",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", help="a chapter, such as 03, or a widget, such as softmax")
    parser.add_argument("--dark", action="store_true", help="light letters on a dark page")
    parser.add_argument("--no-browser", action="store_true", help="only serve, and print the address")
    parser.add_argument(
        "--port", type=int, default=8866, help="port on localhost (if taken: the next free one)"
    )


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C; returns Voilà's exit code. Raises SetUpError for a name that does not exist."""
    from course_lib.widgets.gallery import exhibits

    try:
        exhibits(args.what)
    except ValueError as problem:
        raise environment.SetUpError(str(problem)) from None
    port, token = free_port(args.port), secrets.token_urlsafe(24)
    address = f"http://{HOST}:{port}/?token={token}"
    server = subprocess.Popen(command(port, args.dark), env=variables(token, args.what))
    try:
        if answers(port, server):
            print(f"The widgets are at {address}\nStop with Ctrl-C.", flush=True)
            if not args.no_browser:
                webbrowser.open(address)
        return server.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        server.terminate()
        server.wait()


def command(port: int, dark: bool = False) -> list[str]:
    """Voilà with the course's page; code stays hidden, and no address may ask for another page or theme."""
    return [
        sys.executable, "-m", "voila", str(FOLDER / "present.ipynb"), "--no-browser", "--token",
        f"--Voila.ip={HOST}", f"--port={port}", "--Voila.port_retries=0", "--Voila.log_level=WARN",
        "--template=course", f"--theme={'dark' if dark else 'light'}",
        "--VoilaConfiguration.allow_template_override=NO", "--VoilaConfiguration.allow_theme_override=NO",
        *(f"--VoilaConfiguration.extension_allowlist={name}" for name in EXTENSIONS),
    ]  # fmt: skip


def variables(token: str, what: str | None = None) -> dict[str, str]:
    """The environment of Voilà and its kernels. The token is no argument: those may be listed."""
    paths = [str(FOLDER.parent), *filter(None, [os.environ.get("JUPYTER_PATH")])]
    return {
        **environment.child_environment(),
        "JUPYTER_PATH": os.pathsep.join(paths),
        "JUPYTER_TOKEN": token,
        **({"COURSE_PRESENT": what} if what else {}),
    }


def free_port(first: int) -> int:
    """The first port from `first` on that no one listens at. Raises SetUpError where 50 are taken."""
    for port in range(first, first + 50):
        with socket.socket() as attempt:
            attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                attempt.bind((HOST, port))
            except OSError:
                continue
            return port
    raise environment.SetUpError(f"The ports from {first} to {first + 49} are taken: give another --port.")


def answers(port: int, server: subprocess.Popen, seconds: float = 60.0) -> bool:
    """Wait until the server listens; False where it ended, or did not in that time."""
    end = time.monotonic() + seconds
    while server.poll() is None and time.monotonic() < end:
        try:
            socket.create_connection((HOST, port), timeout=1).close()
            return True
        except OSError:
            time.sleep(0.1)
    return False
