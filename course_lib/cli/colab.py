"""`colab`: points setup cells, badges and the README's links at one repository and branch.

Standard library only. Stored outputs and execution counts stay as they are.
"""

import argparse
import json
import re
from pathlib import Path

from course_lib.cli import front_page
from course_lib.cli.front_page import BADGE, colab_badge
from course_lib.cli.github import Repository, branch, origin, repository
from course_lib.cli.requirements import ROOT, SetUpError, require_repository
from course_lib.utils.files import atomic_path

HELP = "points the notebooks' Colab links and setup cells, and the README, at a repository such as your fork"
GITHUB = "https://github.com"
STAMP = re.compile(rf"{re.escape(GITHUB)}/([\w-]+/[\w.-]+)/archive/([\w./-]+)\.zip")
TITLE = "# @title Setup: find the course, or install it as on Colab, and show the device\n"
FIND = """\
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

above = [one for one in (Path.cwd(), *Path.cwd().parents) if (one / "course_lib" / "__init__.py").is_file()]
sys.path[:0] = map(str, above[:1])  # the course that this notebook lies in, whatever the kernel
if not find_spec("course_lib"):
"""
NAMED = """\
    archive = "https://github.com/OWNER/NAME/archive/BRANCH.zip"
"""
# In a copy whose address nobody has written into the notebooks; Colab shows this line as a field to fill in.
FIELD = """\
address = ""  # @param {type: "string"}
import re
"""
UNNAMED = r"""
    if not address:
        raise RuntimeError(f"{sys.executable} lacks the course: choose another kernel or fill in the address")
    path = re.split(r"(?i)github\.com[:/]|/github/", address.strip())[-1] + "/"
    owner, name = re.split(r"\.git\b|[/?#]", path)[:2]
    archive = f"https://github.com/{owner}/{name}/archive/HEAD.zip"
"""[1:]
# The course asks only for lower bounds that Colab meets: pip changes no package that this kernel has loaded.
INSTALL = """\
    print("Installing the course into", sys.executable)
    pip = [sys.executable, "-m", "pip", "install", "-q", archive]
    if (done := subprocess.run(pip, capture_output=True, text=True)).returncode:
        raise RuntimeError(f"{done.stderr}\\nOn your own computer, use: python -m course_lib lab")
"""
SHOW = """\
from course_lib.cli import first_cell

first_cell.start()"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which repository and which branch, or none."""
    target = parser.add_mutually_exclusive_group()
    target.add_argument(
        "--repo",
        type=repository,
        help="owner/name on GitHub, or any address of the repository (default: the git remote 'origin')",
    )
    target.add_argument(
        "--remove", action="store_true", help="remove the badges and the address from all files"
    )
    parser.add_argument(
        "--branch", type=branch, help="branch or tag (default: the one in the address, or main)"
    )


def run(args: argparse.Namespace) -> int:
    """Stamp all notebooks and the README; returns 0."""
    require_repository("The notebooks")
    repo = None if args.remove else chosen(args.repo or origin(ROOT), args.branch, stamped_as(ROOT))
    changed = stamp(ROOT, repo)
    if repo:
        print(f"{repo.name}, branch {repo.branch}")
    elif not args.remove:
        print("No repository on GitHub is known, so there are no badges. Give --repo owner/name.")
    print(f"changed: {', '.join(path.name for path in changed) or 'nothing'}")
    if changed:
        about = "Setup cells and the table of notebooks are up to date"
        about = f"Badges and setup cells point at {repo.name}" if repo else about
        print(f'Now run:\n    git commit -m "{about}" -- README.md notebooks\n    git push')
    return 0


def chosen(asked: Repository | None, branch: str | None, before: Repository | None) -> Repository | None:
    """The repository to stamp: the one asked for or, failing that, the present one, if one is known."""
    if asked and asked.branch and branch not in (None, asked.branch):
        raise SetUpError(f"the address names the branch {asked.branch}, --branch names {branch}")
    repo = asked or before
    if repo is None:
        return None
    kept = before.branch if before and before.name == repo.name else None
    return Repository(repo.name, branch or repo.branch or kept or "main")


def setup_cell(repo: Repository | None) -> str:
    """The text of the one setup cell; without a known repository, it has a line for the address."""
    if not repo:
        return TITLE + FIELD + FIND + UNNAMED + INSTALL + SHOW
    named = NAMED.replace("OWNER/NAME", repo.name).replace("BRANCH", repo.branch)
    return TITLE + FIND + named + INSTALL + SHOW


def stamped_as(root: Path) -> Repository | None:
    """The repository that the notebooks of `root` name now, or None."""
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        if found := STAMP.search(path.read_text(encoding="utf-8")):
            return Repository(found[1], found[2])
    return None


def stamp(root: Path, repo: Repository | None) -> list[Path]:
    """Write the repository into notebooks and README of `root`, or remove it; returns what changed."""
    notebooks = sorted((root / "notebooks").glob("*.ipynb"))
    texts = {path: stamped(path.read_text(encoding="utf-8"), path.name, repo) for path in notebooks}
    readme, memory = root / "README.md", root / "docs" / "server.md"
    if readme.exists():
        named = {path.name: texts[path] for path in notebooks}
        figures = memory.read_text(encoding="utf-8") if memory.exists() else ""
        texts[readme] = front_page.filled(readme.read_text(encoding="utf-8"), named, figures, repo)
    changed = [path for path, text in texts.items() if path.read_text(encoding="utf-8") != text]
    for path in changed:
        with atomic_path(path) as part:
            part.write_text(texts[path], encoding="utf-8", newline="\n")
    return changed


def stamped(text: str, name: str, repo: Repository | None) -> str:
    """A notebook's JSON with the setup cell and the badge of this repository."""
    try:
        notebook = json.loads(text)
    except ValueError:
        raise SetUpError(f"{name} is not a notebook, perhaps because of git's conflict marks") from None
    first = next((cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"), None)
    code = next((cell for cell in notebook["cells"] if cell["cell_type"] == "code"), None)
    if first is None or code is None or "course_lib" not in "".join(code["source"]):
        raise SetUpError(f"{name}: the first code cell is not the setup cell; nothing was written")
    lines = [line for line in "".join(first["source"]).splitlines() if not line.startswith(BADGE)]
    prose = "\n".join(lines).lstrip("\n")
    text = f"{colab_badge(repo, name)}\n\n{prose}" if repo else prose
    first["source"] = text.splitlines(keepends=True)
    code["source"] = setup_cell(repo).splitlines(keepends=True)
    code["metadata"] |= {"cellView": "form", "jupyter": {"source_hidden": True}}  # Colab's fold, JupyterLab's
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
