"""JupyterLab and Voilà as separate programs, each on a free port of localhost, with its log in a file."""

import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from course_lib.cli import environment, lab, present

NEWS = "@jupyterlab/apputils-extension/notification.jupyterlab-settings"  # whether one asks for them
NOTEBOOK = environment.ROOT / "notebooks" / "instructor.ipynb"


@dataclass(frozen=True)
class Server:
    """Where it is, and what opens it. log: the file that it and its kernels write into; pid: its process."""

    address: str
    token: str
    log: Path
    pid: int

    def url(self, path: str = "") -> str:
        return f"{self.address}/{path}?token={self.token}"


@contextmanager
def serving(
    command: list[str], variables: dict[str, str], port: int, token: str, log: Path
) -> Iterator[Server]:
    """Run a server while the block lasts; raises RuntimeError with its log where it does not answer."""
    with log.open("w") as file:
        process = subprocess.Popen(command, env=variables, stdout=file, stderr=subprocess.STDOUT)
    try:
        if not present.answers(port, process, seconds=120.0):
            raise RuntimeError(f"no answer from {command[2]}:\n{log.read_text()[-2000:]}")
        yield Server(f"http://{present.HOST}:{port}", token, log, process.pid)
    finally:
        process.terminate()
        process.wait()


@contextmanager
def jupyterlab(folder: Path) -> Iterator[Server]:
    """JupyterLab as `lab` serves it, on a copy of the instructor's notebook, without the user's settings."""
    shutil.copy(NOTEBOOK, folder)
    names = ("JUPYTER_CONFIG_DIR", "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR")
    own = {name: str(folder / f".{name.lower()}") for name in names}
    own["JUPYTER_CONFIG_PATH"] = str(lab.SETTINGS)
    silent = Path(own["JUPYTERLAB_SETTINGS_DIR"], NEWS)
    silent.parent.mkdir(parents=True)
    silent.write_text('{"fetchNews": "false", "checkForUpdates": false}')
    port, token = present.free_port(9100), secrets.token_urlsafe(12)
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", f"--ServerApp.root_dir={folder}", "--allow-root",
        f"--ServerApp.ip={present.HOST}", f"--ServerApp.port={port}", "--ServerApp.port_retries=0",
        "--LabApp.expose_app_in_browser=True",
    ]  # fmt: skip
    variables = {**environment.child_environment(), "JUPYTER_TOKEN": token, **own}
    with serving(command, variables, port, token, folder / "server.log") as server:
        yield server


@contextmanager
def presented(folder: Path, what: str | None = None, dark: bool = False) -> Iterator[Server]:
    """What `python -m course_lib present` serves."""
    port, token = present.free_port(9200), secrets.token_urlsafe(12)
    (folder / "settings").mkdir(exist_ok=True)
    variables = present.variables(token, what, folder / "settings")
    with serving(present.command(port, dark), variables, port, token, folder / "server.log") as server:
        yield server
