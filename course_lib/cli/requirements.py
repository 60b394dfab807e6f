"""The course's requirements, from pyproject.toml and constraints.txt, and which of them this Python meets.

Standard library only. All requirements have the form `name>=version`; a test checks this.
"""

import importlib.metadata
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class SetUpError(Exception):
    """The environment could not be created, or is not the one that is needed; says what to do."""


def is_repository() -> bool:
    """Whether course_lib is in a copy of the repository rather than in site-packages."""
    return (ROOT / "pyproject.toml").is_file() and (ROOT / "constraints.txt").is_file()


def require_repository(what: str) -> None:
    """Raise SetUpError if course_lib is installed without its repository, which holds `what`."""
    if not is_repository():
        raise SetUpError(f"{what} are in the course's repository; run this in a copy of it.")


def project() -> dict:
    """The table [project] of pyproject.toml."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["project"]


def constraints() -> str:
    """The exact versions that the tests ran with."""
    return (ROOT / "constraints.txt").read_text(encoding="utf-8")


def requirements(extras: Sequence[str] = ()) -> list[str]:
    """The requirements, such as "numpy>=2.0", from pyproject.toml or the installed package."""
    if is_repository():
        listed = project()
        return listed["dependencies"] + [
            one for extra in extras for one in listed["optional-dependencies"][extra]
        ]
    wanted = []
    for line in importlib.metadata.requires("course_lib") or []:
        requirement, _, marker = (part.strip() for part in line.partition(";"))
        if not marker or any(re.search(rf"extra == ['\"]{extra}['\"]", marker) for extra in extras):
            wanted.append(requirement)
    return wanted


def missing(extras: Sequence[str] = ()) -> list[str]:
    """The requirements that this Python does not meet, each with the version it has."""
    lacking = []
    for requirement in requirements(extras):
        name, _, bound = requirement.partition(">=")
        have = installed(name)
        if have is None:
            lacking.append(f"{requirement} (not installed)")
        elif release(have) < release(bound):
            lacking.append(f"{requirement} (here {have})")
    return lacking


def installed(name: str) -> str | None:
    """The version of a package in this Python, or None."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def release(version: str) -> tuple[int, ...]:
    """The leading numbers of a version, without trailing zeros: "2.11.0+cpu" gives (2, 11)."""
    numbers = [int(part) for part in re.match(r"[\d.]*", version)[0].split(".") if part]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def pinned(name: str, text: str | None = None) -> str:
    """The line for `name`, such as "torch==2.13.0", in the text of constraints.txt, or of another file."""
    lines = constraints() if text is None else text
    for line in lines.splitlines():
        if line.partition("==")[0] == name:
            return line.strip()
    raise ValueError(f"constraints.txt has no version of {name}")
