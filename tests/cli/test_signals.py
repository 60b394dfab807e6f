"""A command that is told to end leaves neither files nor processes behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from course_lib.cli import present
from course_lib.utils import files

posix = pytest.mark.skipif(os.name == "nt", reason="Windows cannot send these signals")
DEFAULT = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_DFL)"  # the tests may run under nohup
COMMAND = """
import sys, time
from course_lib import __main__ as program
from course_lib.utils.files import atomic_path

def main(arguments):
    with atomic_path(arguments[0]) as part:
        part.write_text("half")
        print("writing", flush=True)
        time.sleep(600)

program.main = main
program.start()
"""
SERVER = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # its child inherits that
kernel = "import time; print(1, flush=True); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", kernel], start_new_session=True, stdout=subprocess.PIPE)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(600)
"""


def start(code: str, *arguments: str) -> subprocess.Popen:
    environment = os.environ | {"PYTHONPATH": str(Path(files.__file__).parents[1])}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)


@posix
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_command_that_is_ended_cleans_up(name: str, tmp_path: Path) -> None:
    command = start(DEFAULT + COMMAND, str(tmp_path / "a.zip"))
    assert command.stdout.readline() == b"writing\n"
    assert list(tmp_path.iterdir())
    number = getattr(signal, name)
    command.send_signal(number)
    assert command.wait() == 128 + number and command.stderr.read() == b""
    assert not list(tmp_path.iterdir())


@posix
def test_a_signal_that_is_ignored_stays_so(tmp_path: Path) -> None:
    """As by nohup, under which a command goes on when the terminal is closed."""
    before = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    command = start(before + COMMAND, str(tmp_path / "a.zip"))
    command.stdout.readline()
    command.send_signal(signal.SIGHUP)
    command.send_signal(signal.SIGTERM)
    assert command.wait() == 128 + signal.SIGTERM


@posix
def test_present_prints_errors_only() -> None:
    """Voilà and ipykernel warn about connections, in words that sound like a lack of security."""
    assert "--Voila.log_level=ERROR" in present.command(8866) and '"ERROR"' in present.QUIET


def test_present_ends_the_kernels_of_its_server() -> None:
    """Even those that SIGTERM does not end, and that are in their own session."""
    server = start(SERVER)
    kernel = psutil.Process(int(server.stdout.readline()))
    assert kernel.is_running()
    present.end(server, seconds=0.2)
    assert not psutil.pid_exists(server.pid)
    assert psutil.wait_procs([kernel], timeout=60)[1] == []
    present.end(server)  # nothing is left to end
