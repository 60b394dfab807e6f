"""pip, run in another Python: one calm line per step, the whole output in a log, and advice where it fails.

Standard library only.
"""

import os
import re
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path

ADVICE = (
    (r"No space left|Errno 28|not enough space", "The disk is full. Make room, then repeat the command."),
    (
        r"Temporary failure in name resolution|NewConnectionError|NameResolutionError|Failed to establish"
        r"|getaddrinfo|Network is unreachable|timed out|ProxyError|ConnectionResetError|SSLError"
        r"|from versions: none",
        "The package index cannot be reached. Check the network (behind a proxy: set HTTPS_PROXY),\n"
        "then repeat the command; what was fetched is kept.",
    ),
    (
        r"Permission denied|Errno 13",
        "The folder may not be written. Copy the course to a folder of your own.",
    ),
    (
        r"No matching distribution found",
        "No package for this Python on this machine. Use a 64-bit Python 3.11, 3.12 or 3.13.",
    ),
)


class PipError(Exception):
    """pip failed; the message says what to do."""


def works(python: Path) -> bool:
    """Whether this Python starts, is new enough, and has a pip that loads."""
    check = "import sys, pip._internal.cli.main; sys.exit(sys.version_info < (3, 11))"
    try:
        return subprocess.run([python, "-c", check], capture_output=True).returncode == 0
    except OSError:
        return False


def install(python: Path, arguments: Sequence[str], what: str, log: Path | None = None) -> None:
    """`pip install` in `python`'s environment, said in one line.

    Raises PipError with the last lines of pip's output and what to do about them.
    """
    print(f"  installing {what}", flush=True)
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", *arguments]
    # PIP_USER would install beside the environment, PYTHONHOME would start another library.
    settings = {key: value for key, value in os.environ.items() if key not in ("PYTHONHOME", "PYTHONPATH")}
    settings |= {"PIP_USER": "0", "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, env=settings, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, encoding="utf-8", errors="replace",
    )  # fmt: skip
    with process:
        tail = _follow(process.stdout, log)
    if process.returncode:
        raise PipError(f"Installing {what} failed.\n{diagnosis(tail)}")


def diagnosis(lines: Iterable[str]) -> str:
    """From pip's last lines: those that say what went wrong, and what to do about it."""
    lines = [line.strip()[:300] for line in lines if line.strip()]
    for pattern, help_ in ADVICE:
        telling = [line for line in lines if re.search(pattern, line, re.IGNORECASE)]
        if telling:
            return f"    {telling[-1]}\n{help_}"
    errors = [line for line in lines if line.startswith("ERROR")] or lines[-5:]
    help_ = "Repeat the command. If it fails again, delete the folder .venv and repeat it once more."
    return "\n".join([*(f"    {line}" for line in errors), help_])


def forget_interrupted(prefix: Path) -> list[str]:
    """Remove the records of packages whose installation was cut short, so that pip installs them again.

    pip writes a package's RECORD last: without it a package is incomplete, though pip calls it installed.
    Returns their names.
    """
    names = []
    for site in (*prefix.glob("lib/python*/site-packages"), *prefix.glob("Lib/site-packages")):
        for info in site.glob("*.dist-info"):
            if not (info / "RECORD").exists() or info.name.startswith("~"):
                names.append(info.name.removesuffix(".dist-info"))
                shutil.rmtree(info)
    return sorted(names)


def _follow(output: Iterable[str], log: Path | None) -> deque[str]:
    """Copy pip's output to the log; on a terminal show the present line, in place. Returns the last lines."""
    tail: deque[str] = deque(maxlen=60)
    width = shutil.get_terminal_size().columns - 5
    file = log.open("a", encoding="utf-8") if log else None
    try:
        for line in output:
            tail.append(line.rstrip())
            if file:
                file.write(line)
            if sys.stdout.isatty() and line.strip():
                print(f"\r    {line.strip()[:width]:<{width}}", end="", flush=True)
    finally:
        if file:
            file.close()
    if sys.stdout.isatty():
        print("\r" + " " * (width + 4) + "\r", end="", flush=True)
    return tail
