"""`present`: the widgets one at a time on a page for the projector.

Voilà serves it on localhost only, behind a token that changes with every start. Nothing is loaded from the
network.
"""

import argparse
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import webbrowser
from contextlib import suppress
from pathlib import Path

from course_lib.cli import arguments
from course_lib.cli.environment import SetUpError, child_environment

HELP = "shows the widgets one at a time, for the projector: all, those of a chapter, or a single one"
FOLDER = Path(__file__).with_name("voila")
HOST = "127.0.0.1"
QUIET = 'c.IPKernelApp.log_level = "ERROR"\n'  # no warning about connections, which stay on this machine
FORGOTTEN = 600  # seconds after which a kernel is ended that no page is connected to, as after a crash
EXTENSIONS = (  # the ones that draw widgets; other JupyterLab extensions fail on a Voilà page
    "@jupyter-widgets/jupyterlab-manager",
    "anywidget",
    "@voila-dashboards/widgets-manager7",
    "@voila-dashboards/widgets-manager8",
    "anywidget",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", help="a chapter, such as 03, or a widget, such as softmax")
    parser.add_argument("--dark", action="store_true", help="light text on a dark page")
    add_server(parser, port=8866)


def add_server(parser: argparse.ArgumentParser, port: int) -> None:
    """The arguments of a command that serves a page. port: the default."""
    parser.add_argument(
        "--no-browser",
        action="store_true",
        help="start the server and print its address, but open no browser",
    )
    parser.add_argument(
        "--port", type=arguments.port, default=port, help="port on localhost (if taken: the next free one)"
    )


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C; returns Voilà's exit code. Raises ValueError for a name that does not exist."""
    from course_lib.chapters.gallery import exhibits

    exhibits(args.what)
    port, token = free_port(args.port), secrets.token_urlsafe(24)
    address = f"http://{HOST}:{port}/?token={token}"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as settings:
        environment = variables(token, args.what, Path(settings))
        server = subprocess.Popen(command(port, args.dark), env=environment, start_new_session=True)
        try:
            if answers(port, server):
                print(f"The widgets are at {address}\nTo stop, press Ctrl-C.", flush=True)
                if not args.no_browser:
                    webbrowser.open(address)
            return server.wait()
        except KeyboardInterrupt:
            return 0
        finally:
            end(server)


def end(server: subprocess.Popen, seconds: float = 5.0) -> None:
    """Terminate Voilà and its kernels, which would outlive Voilà alone; then kill what is left."""
    import psutil

    try:
        parent = psutil.Process(server.pid)
        family = [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:  # it has ended, and its kernels with it
        family = []
    for process in family:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    for process in psutil.wait_procs(family, timeout=seconds)[1]:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    server.wait()


def command(port: int, dark: bool = False) -> list[str]:
    """Voilà with the course's page; code stays hidden, and no URL can request another page or theme."""
    return [
        sys.executable, "-m", "voila", str(FOLDER / "present.ipynb"), "--no-browser", "--token",
        f"--Voila.ip={HOST}", f"--port={port}", "--Voila.port_retries=0", "--Voila.log_level=ERROR",
        "--template=course", f"--theme={'dark' if dark else 'light'}",
        "--VoilaConfiguration.allow_template_override=NO", "--VoilaConfiguration.allow_theme_override=NO",
        *(f"--VoilaConfiguration.extension_allowlist={name}" for name in EXTENSIONS),
        f"--MappingKernelManager.cull_idle_timeout={FORGOTTEN}", "--MappingKernelManager.cull_interval=60",
    ]  # fmt: skip


def variables(token: str, what: str | None, settings: Path) -> dict[str, str]:
    """The environment of Voilà and its kernels. It holds the token: process lists show arguments.

    settings: an empty folder, in place of the user's own settings of Jupyter and IPython, which could move or
    change the page.
    """
    profile = settings / "profile_default"
    profile.mkdir(exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text(QUIET, encoding="utf-8")
    paths = [str(FOLDER.parent), *filter(None, [os.environ.get("JUPYTER_PATH")])]
    return {
        **child_environment(),
        "JUPYTER_PATH": os.pathsep.join(paths),
        "JUPYTER_TOKEN": token,
        "JUPYTER_NO_CONFIG": "1",
        "JUPYTER_CONFIG_DIR": str(settings),
        "IPYTHONDIR": str(settings),
        **({"COURSE_PRESENT": what} if what else {}),
    }


def free_port(first: int) -> int:
    """The first free port from `first` on. Raises SetUpError if 50 in a row are taken."""
    last = min(first + 49, 65535)
    for port in range(first, last + 1):
        with socket.socket() as attempt:
            attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                attempt.bind((HOST, port))
            except OSError:
                continue
            return port
    raise SetUpError(f"All ports from {first} to {last} are taken. Choose another with --port.")


def answers(port: int, server: subprocess.Popen, seconds: float = 60.0) -> bool:
    """Wait until the server listens; False if it exits first, or on a timeout."""
    end = time.monotonic() + seconds
    while server.poll() is None and time.monotonic() < end:
        try:
            socket.create_connection((HOST, port), timeout=1).close()
            return True
        except OSError:
            time.sleep(0.1)
    return False
