"""Repositories on GitHub: the addresses that people paste, and git's remote. Standard library only."""

import argparse
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from course_lib.cli.arguments import matching, shortened

branch = matching(r"(?!.*(\.\.|/\.|\.$|\.lock$))\w[\w.-]*(/[\w.-]+)*", "the name of a branch or tag")
ADDRESS = re.compile(
    r"""(?:(?:git|gh\ repo)\ clone\ +)?
    (?P<host>(?:(?:https?|ssh|git)://)?(?:[^@/\s]+@)?(?:www\.)?github\.com[:/]
      |(?:https?://)?colab\.research\.google\.com/github/)?
    (?P<repo>[a-z\d][a-z\d-]*/(?!\.{1,2}(?:[/?\#]|$))[\w.-]+?)(?:\.git)?
    (?:/(?:(?:tree|blob)/(?P<branch>[^?\#]+)|(?P<page>[^?\#]*)))?
    (?:[?\#].*)?""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
# What may follow a branch in the address of a page: a file or folder of the course.
INSIDE = re.compile(r"/(?:(?:notebooks|course_lib|data|docs|tests)(?:/.*)?|[\w.-]+\.\w+)?$")


@dataclass(frozen=True)
class Repository:
    """A repository on GitHub, as "owner/name", and a branch of it."""

    name: str
    branch: str | None = None

    @property
    def site(self) -> str:
        """The address of its GitHub Pages."""
        owner, name = self.name.split("/")
        return f"https://{owner.lower()}.github.io/{name}/"


def repository(text: str) -> Repository:
    """An argument type: the repository that an address or "owner/name" means, with the branch if it has one.

    Takes what browsers, GitHub's *Code* button, `git clone` and Colab show.
    """
    found = ADDRESS.fullmatch(text.strip())
    if not found or (found["page"] and not found["host"]):
        raise argparse.ArgumentTypeError(
            f"{shortened(text)!r} is not a repository on GitHub: give owner/name or https://github.com/owner/name"
        )
    named = found["branch"]
    return Repository(found["repo"], branch(unquote(INSIDE.sub("", named).rstrip("/"))) if named else None)


def origin(folder: Path) -> Repository | None:
    """The repository of the git remote `origin`, or None if that is not on GitHub."""
    command = ["git", "config", "--get", "remote.origin.url"]
    try:
        url = subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout.strip()
    except OSError:
        return None
    found = ADDRESS.fullmatch(url)
    return Repository(found["repo"]) if found and found["host"] else None
