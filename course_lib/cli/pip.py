"""pip, run in another Python: one line per step, the full output in a log, and advice if it fails.

Standard library only.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path

from course_lib.cli.requirements import SetUpError
from course_lib.utils.network import CAUSES

with Path(__file__).with_name("pip_advice.toml").open("rb") as _file:
    ADVICE = tomllib.load(_file)
INTEL_MAC = ADVICE["version"]["intel_mac"]["advice"]


class PipError(SetUpError):
    """pip failed; the message says what to do."""


def works(python: Path) -> bool:
    """Whether this Python starts, is new enough, and has a pip that loads."""
    check = "import sys, pip._internal.cli.main; sys.exit(sys.version_info < (3, 11))"
    try:
        return subprocess.run([python, "-c", check], capture_output=True).returncode == 0
    except OSError:
        return False


def install(python: Path, arguments: Sequence[str], what: str, log: Path | None = None) -> None:
    """`pip install` in `python`'s environment, reported in one line. Raises PipError."""
    print(f"  installing {what}", flush=True)
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    command += [*(_progress_option(python) if sys.stdout.isatty() else []), *arguments]
    process = subprocess.Popen(
        command, env=_settings(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, encoding="utf-8", errors="replace",
    )  # fmt: skip
    with process:
        tail = _follow(process.stdout, log)
    if process.returncode:
        raise PipError(f"Installing {what} failed.\n{diagnosis(tail)}")


def versions(python: Path, name: str, options: Sequence[str] = (), seconds: int = 20) -> list[str]:
    """All versions of a package that pip finds for `python`; an empty list if no index answers in time."""
    command = [str(python), "-m", "pip", "index", "versions", "--disable-pip-version-check", "--no-input"]
    command += ["--retries", "0", "--timeout", str(min(5, seconds)), *options, name]
    try:
        done = subprocess.run(
            command, env=_settings(), capture_output=True, text=True, encoding="utf-8", errors="replace",
            timeout=seconds,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return []
    listed = re.search(r"^Available versions: (.*)$", done.stdout, re.MULTILINE)
    return listed[1].split(", ") if listed else []


def diagnosis(lines: Iterable[str]) -> str:
    """What went wrong, from pip's last lines, and what to do about it."""
    lines = [line.strip() for line in lines if line.strip()]
    errors = [line for line in lines if re.match(r"ERROR|HINT|error:", line)] or lines[-5:]
    first, version, last = (
        [(one["said"], one["advice"]) for one in ADVICE[group].values()]
        for group in ("first", "version", "last")
    )
    *telling, unreachable = CAUSES  # pip may have been more successful when it tried again
    nothing = "No matching distribution", f"The index cannot be reached, or has nothing for {this_python()}."
    order = [(errors, first), (lines, telling), (errors, version), (lines, [unreachable]), (lines, first)]
    for said, known in [*order, (errors, [nothing, *last])]:
        if cause := _cause(said, known):
            return cause
    help_ = "Run the command again. If it still fails, delete the folder .venv and run it once more."
    return "\n".join([*(f"    {_shortened(line)}" for line in errors), help_])


def _cause(lines: list[str], known: Iterable[tuple[str, str]]) -> str | None:
    for pattern, advice in known:
        for line in reversed(lines):
            if found := re.search(pattern, line, re.IGNORECASE):
                return f"    {_shortened(line, found.start())}\n{advice}"
    return None


def _shortened(line: str, start: int = 0) -> str:
    """At most 300 characters of a line, around the place `start`."""
    first = max(0, min(start - 100, len(line) - 300))
    return f"{'…' * bool(first)}{line[first : first + 300]}"


def this_python() -> str:
    """This Python in words, and the one that is needed."""
    bits = 64 if sys.maxsize > 2**32 else 32
    here = f"Python {platform.python_version()}, {bits}-bit, {platform.system()} on {platform.machine()}"
    return f"this Python ({here}); the course needs a 64-bit Python 3.11, 3.12 or 3.13"


def forget_interrupted(prefix: Path) -> list[str]:
    """Remove the records of packages that pip lists but did not finish, and return their names.

    pip writes a package's RECORD last.
    """
    infos = [info for site in sites(prefix) for info in site.glob("*.dist-info")]
    broken = [info for info in infos if not (info / "RECORD").exists() or info.name.startswith("~")]
    for info in broken:
        shutil.rmtree(info)
    return sorted(info.stem for info in broken)


def sites(prefix: Path) -> list[Path]:
    """The folders that hold an environment's packages."""
    return [*prefix.glob("lib/python*/site-packages"), *prefix.glob("Lib/site-packages")]


def _settings() -> dict[str, str]:
    """PIP_USER would install outside the environment; PYTHONHOME would start another standard library."""
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONHOME", "PYTHONPATH")}
    return kept | {"PIP_USER": "0", "PYTHONUNBUFFERED": "1"}


def _progress_option(python: Path) -> list[str]:
    """pip's option that prints the bytes of a download line by line; none before pip 24.1."""
    command = [str(python), "-m", "pip", "install", "--help"]
    text = subprocess.run(command, env=_settings(), capture_output=True, text=True, errors="replace").stdout
    offered = re.search(r"--progress-bar[^[]*\[[^]]*\braw\b", text)
    return ["--progress-bar", "raw"] if offered else []


def _follow(output: Iterable[str], log: Path | None) -> deque[str]:
    """Copy pip's output to the log; on a terminal show the current line, in place. Returns the last lines."""
    tail: deque[str] = deque(maxlen=60)
    width = shutil.get_terminal_size().columns - 5
    with open(log or os.devnull, "a", encoding="utf-8") as file:
        for line in output:
            if done := re.match(r"Progress (\d+) of (\d+)", line):
                what = tail[-1].strip() if tail else ""
                shown = f"{int(done[1]) / 1e6:.0f} of {int(done[2]) / 1e6:.0f} MB: {what}"
            else:
                shown = line.strip()
                tail.append(line.rstrip())
                file.write(line)
            if sys.stdout.isatty() and shown:
                print(f"\r    {shown[:width]:<{width}}", end="", flush=True)
    if sys.stdout.isatty():
        print("\r" + " " * (width + 4) + "\r", end="", flush=True)
    return tail
