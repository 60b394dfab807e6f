"""Argument types for the commands: each converts one argument, or reports what it was and what is allowed.

Standard library only, so that a mistake is reported before anything is installed or loaded.
"""

import argparse
import os
import re
import reprlib
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

from course_lib.utils.device import KINDS, NAME

MANY = 10**9  # more steps or examples than anyone means
LARGE = 10**6  # the same for the size of a model, in any direction


class Parser(argparse.ArgumentParser):
    """An argument parser that reports a mistake in one line, without the usage message."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (for help: --help)\n")


class OneOrMore(argparse.Action):
    """With nargs="+": a single value is stored by itself, several are stored as a list."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> None:
        setattr(namespace, self.dest, values[0] if len(values) == 1 else values)


def checked(convert: Callable[[str], Any], holds: Callable[[Any], bool], wanted: str) -> Callable[[str], Any]:
    """An argument type: `convert`, for values for which `holds` is true; `wanted` describes them."""

    def argument(text: str) -> Any:
        try:
            value = convert(text)
        except ValueError:
            value = None
        if value is None or not holds(value):
            raise argparse.ArgumentTypeError(f"{reprlib.repr(text)} is not {wanted}")
        return value

    return argument


def integer(least: int, most: int) -> Callable[[str], int]:
    """An integer in [least, most]."""
    return checked(int, lambda value: least <= value <= most, f"an integer from {least} to {most:,}")


def number(least: float, most: float) -> Callable[[str], float]:
    """A number in [least, most]: neither infinite nor NaN."""
    return checked(float, lambda value: least <= value <= most, f"a number from {least:g} to {most:g}")


def positive(most: float) -> Callable[[str], float]:
    """A number in (0, most]."""
    return checked(float, lambda value: 0 < value <= most, f"a number > 0 and <= {most:g}")


def choice(names: Iterable[str]) -> Callable[[str], str]:
    """One of some names."""
    known = tuple(names)
    return checked(str, lambda name: name in known, f"one of {', '.join(known)}")


def matching(pattern: str, wanted: str) -> Callable[[str], str]:
    """A string that matches the whole pattern."""
    return checked(str, re.compile(pattern, re.ASCII).fullmatch, wanted)


positive_integer = integer(1, MANY)
not_negative = integer(0, MANY)
size = integer(1, LARGE)
layers = integer(1, 1000)
seed = integer(0, 2**32 - 1)
port = integer(1, 65535)
probability = checked(float, lambda value: 0 <= value < 1, "a number >= 0 and < 1")
name = checked(str, lambda text: text.strip(), "a name")
device = checked(str, NAME.fullmatch, f"a device: cpu, {', '.join(KINDS)}, or one of several, as cuda:1")


def path(text: str) -> Path:
    """The path of a file or folder."""
    if not text.strip() or "\0" in text:
        raise argparse.ArgumentTypeError(f"{text!r} is not a path")
    return Path(text)


def file(text: str) -> Path:
    """The path of a file that exists."""
    return _existing(text, os.path.isfile, os.path.isdir, "is a folder, not a file")


def folder(text: str) -> Path:
    """The path of a folder that exists."""
    return _existing(text, os.path.isdir, os.path.isfile, "is a file, not a folder")


def _existing(text: str, fits: Callable[[Path], bool], other: Callable[[Path], bool], why_not: str) -> Path:
    found = path(text)
    if not fits(found):
        why = why_not if other(found) else "does not exist"
        raise argparse.ArgumentTypeError(f"{shortened(text)} {why}")
    return found


def output_folder(text: str) -> Path:
    """The path of a folder in which files can be written; it need not exist yet."""
    folder = path(text)
    try:
        require_writable(folder)
    except OSError as problem:
        message = f"cannot write to the folder {shortened(text)}: {problem.strerror}"
        raise argparse.ArgumentTypeError(message) from None
    return folder


def output_file(text: str) -> Path:
    """The path of a file that can be created or replaced."""
    written = path(text)
    if os.path.isdir(written):
        raise argparse.ArgumentTypeError(f"{text} is a folder, not a file")
    output_folder(str(written.parent))
    return written


def require_writable(folder: Path) -> None:
    """Raise OSError if no byte can be written in `folder`, existing or new. Leaves nothing behind."""
    while True:
        try:
            os.stat(folder)
            break
        except FileNotFoundError:
            folder = folder.parent
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"x")  # the disk may be full to the last byte


def shortened(text: str) -> str:
    """The text, with its middle cut out if it is long."""
    return text if len(text) <= 200 else f"{text[:100]}…{text[-100:]}"
