"""`colab`: points set-up cells, badges and the README's links at one repository and branch.

Standard library only. Stored outputs and execution counts stay as they are.
"""

import argparse
import json
import re
import subprocess
from pathlib import Path

from course_lib.commands.requirements import ROOT, is_repository
from course_lib.commands.venv import SetUpError
from course_lib.files import atomic_path

HELP = "points the notebooks' Colab links and set-up cells at a repository, such as your fork"
BADGE = "[![Open in Colab]("
MARKS = ("<!-- colab: begin -->", "<!-- colab: end -->")
ON_GITHUB = re.compile(
    r"(?:https://(?:[^@/]+@)?|ssh://git@|git@)github\.com[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?"
)

SETUP = """\
# @title Set-up: fetches the course where it is not installed, as on Colab, and says what it runs on
# The course asks only for lower bounds that Colab meets: pip changes no package that this kernel has loaded.
import os
from importlib.util import find_spec

if not find_spec("course_lib"):
    github = os.environ.get("COURSE_ARCHIVE", "https://github.com")
    %pip install -q {github}/OWNER/NAME/archive/BRANCH.zip

from course_lib.commands.doctor import device

print(device())"""
SETUP_WITHOUT = """\
# @title Set-up: says what the course runs on. To let it fetch the course on Colab, run in the repository:
# python -m course_lib colab --repo owner/name
from importlib.util import find_spec

if not find_spec("course_lib"):
    raise ModuleNotFoundError("course_lib is missing: open the notebooks with `python -m course_lib lab`")

from course_lib.commands.doctor import device

print(device())"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which repository and which branch."""
    parser.add_argument("--repo", help="owner/name on GitHub (default: the git remote 'origin')")
    parser.add_argument("--branch", default="main", help="branch or tag (default: main)")


def run(args: argparse.Namespace) -> int:
    """Stamp all notebooks and the README; returns 0. Raises SetUpError for an impossible name."""
    if not is_repository():
        raise SetUpError("The notebooks are in the course's repository; run this in a copy of it.")
    repo = args.repo or origin(ROOT)
    if repo and not re.fullmatch(r"[\w.-]+/[\w.-]+", repo):
        raise SetUpError(f"--repo {repo!r} is not of the form owner/name")
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)*", args.branch):
        raise SetUpError(f"--branch {args.branch!r} is not the name of a branch")
    changed = stamp(ROOT, repo, args.branch)
    print(
        f"{repo}, branch {args.branch}"
        if repo
        else "No repository on GitHub known: no badges. Give --repo owner/name."
    )
    print(f"changed: {', '.join(path.name for path in changed) or 'nothing'}")
    return 0


def setup_cell(repo: str | None, branch: str) -> str:
    """The text of the one set-up cell; `repo` is "owner/name" on GitHub, or None where it is not known."""
    return (SETUP if repo else SETUP_WITHOUT).replace("OWNER/NAME", repo or "").replace("BRANCH", branch)


def badge(repo: str, branch: str, notebook: str) -> str:
    """The line that opens a notebook of the repository on Colab."""
    colab = "https://colab.research.google.com"
    address = f"{colab}/github/{repo}/blob/{branch}/notebooks/{notebook}"
    return f"{BADGE}{colab}/assets/colab-badge.svg)]({address})"


def origin(folder: Path) -> str | None:
    """owner/name of the git remote `origin`, or None where there is no remote on GitHub."""
    try:
        command = ["git", "config", "--get", "remote.origin.url"]
        url = subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout.strip()
    except OSError:
        return None
    found = ON_GITHUB.fullmatch(url)
    return found and found[1]


def stamp(root: Path, repo: str | None, branch: str) -> list[Path]:
    """Write repository and branch into the notebooks and the README of `root`; returns the changed files."""
    notebooks = sorted((root / "notebooks").glob("*.ipynb"))
    texts = {path: stamped(path.read_text(encoding="utf-8"), path.name, repo, branch) for path in notebooks}
    readme = root / "README.md"
    if readme.exists():
        names = [path.name for path in notebooks]
        texts[readme] = stamped_readme(readme.read_text(encoding="utf-8"), names, repo, branch)
    changed = [path for path, text in texts.items() if path.read_text(encoding="utf-8") != text]
    for path in changed:
        with atomic_path(path) as part:
            part.write_text(texts[path], encoding="utf-8", newline="\n")
    return changed


def stamped(text: str, name: str, repo: str | None, branch: str) -> str:
    """A notebook's JSON with the set-up cell and the badge of this repository.

    Raises SetUpError where the notebook does not begin as the course's notebooks do.
    """
    notebook = json.loads(text)
    first = next((cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"), None)
    code = next((cell for cell in notebook["cells"] if cell["cell_type"] == "code"), None)
    if first is None or code is None or "course_lib" not in "".join(code["source"]):
        raise SetUpError(f"{name}: the first code cell is not the set-up cell; nothing was written")
    lines = [line for line in "".join(first["source"]).splitlines() if not line.startswith(BADGE)]
    prose = "\n".join(lines).lstrip("\n")
    first["source"] = _lines(f"{badge(repo, branch, name)}\n\n{prose}" if repo else prose)
    code["source"] = _lines(setup_cell(repo, branch))
    code["metadata"].pop("cellView", None)
    if repo:
        code["metadata"]["cellView"] = "form"  # Colab folds the cell to its title
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def stamped_readme(text: str, notebooks: list[str], repo: str | None, branch: str) -> str:
    """The README with the links to Colab between its two marks; unchanged where it has no marks."""
    if not all(mark in text for mark in MARKS):
        return text
    before, rest = text.split(MARKS[0], 1)
    after = rest.split(MARKS[1], 1)[1]
    links = [f"- `{name}` {badge(repo, branch, name)}" for name in notebooks] if repo else []
    links = links or ["Links appear here after `python -m course_lib colab --repo owner/name`."]
    return before + "\n".join([MARKS[0], *links, MARKS[1]]) + after


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
