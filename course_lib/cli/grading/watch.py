"""The watching process: starts a student's process and, at its limits, ends it and all that it has started.

Standard library and psutil only. Passes on each line from the student's process, behind "S "; the last line,
behind "E ", says how it ended. A student's process cannot write that line: it has only its own pipe.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import psutil

EVERY = 0.1  # seconds between two looks
LONGEST_LINE = 2**22  # bytes of one answer
MOST_SENT = 2**26  # bytes of all answers
TO_START = 180  # seconds until the first cell: imports, on a slow machine
STARTED = b'{"started": true}\n'  # sent before the first cell runs


class Watch:
    """One student's process and the limits that it has: seconds, bytes and processes."""

    def __init__(self, plan: dict):
        self.plan, self.reason, self.started = plan, "", None
        self.begun = time.monotonic()
        adopt_orphans()
        self.student = subprocess.Popen(
            plan["command"],
            cwd=plan["folder"],
            env=plan["environment"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def run(self) -> None:
        """Watch until the process has ended or must end; then say why."""
        passing = threading.Thread(target=self.pass_on, daemon=True)
        passing.start()
        threading.Thread(target=self.follow_parent, daemon=True).start()
        try:
            while not self.reason and self.student.poll() is None:
                if excess := self.excess():  # the other threads set the reason as well
                    self.reason = excess
                time.sleep(EVERY)
        finally:
            end_all(self.student.pid)
        passing.join(timeout=10)
        ended = {"reason": self.reason, "code": self.student.poll(), "started": self.started is not None}
        write(b"E " + json.dumps(ended).encode() + b"\n")

    def excess(self) -> str:
        """The limit that is exceeded, or an empty string."""
        now = time.monotonic()
        if self.started is None and now - self.begun > TO_START:
            return "did not start"
        if self.started is not None and now - self.started > self.plan["seconds"]:
            return "time limit"
        family, memory = psutil.Process().children(recursive=True), 0
        if len(family) > self.plan["processes"]:
            return "process limit"
        for process in family:
            with suppress(psutil.Error):
                memory += process.memory_info().rss
        return "memory limit" if memory > self.plan["memory"] else ""

    def pass_on(self) -> None:
        """Pass on what the student's process sends, up to a limit."""
        sent = 0
        while line := self.student.stdout.readline(LONGEST_LINE):
            sent += len(line)
            if sent > MOST_SENT or len(line) == LONGEST_LINE:
                self.reason = self.reason or "output limit"
                return
            if line == STARTED and self.started is None:
                self.started = time.monotonic()
            write(b"S " + line.rstrip(b"\n") + b"\n")

    def follow_parent(self) -> None:
        """End when the grading process closes our input, as it does whenever it ends."""
        os.read(0, 1)  # not sys.stdin: a thread that waits in it would break the exit of this process
        self.reason = "stopped"


def write(line: bytes) -> None:
    """Write a line to standard output; nobody may be left to read it."""
    with suppress(OSError):
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


def adopt_orphans() -> None:
    """On Linux, become the parent of descendants whose own parent ends, so that none escapes."""
    if sys.platform == "linux":
        PR_SET_CHILD_SUBREAPER = 36
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_all(group: int, seconds: float = 20.0) -> None:
    """Kill the student's process group, and all descendants outside it, until none is left."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        family = psutil.Process().children(recursive=True)
        if not family:
            return
        for process in family:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(family, timeout=0.2)


if __name__ == "__main__":
    Watch(json.loads(sys.argv[1])).run()
