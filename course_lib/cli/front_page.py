"""The parts of README.md that follow from the notebooks and the repository: badges, first commands, table.

Each part lies between two marks. Standard library only.
"""

import json
import re
from collections.abc import Mapping
from urllib.parse import quote

from course_lib.cli.environment import ROOT
from course_lib.cli.github import Repository
from course_lib.utils.chapters import CHAPTER

COLAB = "https://colab.research.google.com"
BADGE = "[![Open in Colab]("
BINDER_GB = 2.0  # of memory, for everything that runs there
SERVER_GB = 0.1  # of it for JupyterLab itself
LICENSE = "[![License: MIT and CC BY 4.0](https://img.shields.io/badge/license-MIT%20and%20CC%20BY%204.0-blue)](LICENSE)"
TIME = re.compile(r"\*\*Time:?\*\*:?\D{0,40}?(\d+) min")
MEMORY = re.compile(r"(?m)^\| `(\w+)` \| (\d+\.\d+) \|$")


def mark(part: str, edge: str) -> str:
    """The comment at one edge of a part of README.md."""
    return f"<!-- {part}: {edge} -->"


def colab_badge(repo: Repository, notebook: str) -> str:
    """The line that opens a notebook of the repository on Colab."""
    address = f"{COLAB}/github/{repo.name}/blob/{repo.branch}/notebooks/{notebook}"
    return f"{BADGE}{COLAB}/assets/colab-badge.svg)]({address})"


def filled(text: str, notebooks: Mapping[str, str], memory: str, repo: Repository | None) -> str:
    """README.md with its parts made new; what is outside their marks stays.

    notebooks: the text of each file in notebooks/, by name. memory: a page with the table of memory.
    """
    parts = {
        "badges": lambda old: badges(repo, min(notebooks)),
        "start": lambda old: start(repo),
        "notebooks": lambda old: table(old, notebooks, dict(MEMORY.findall(memory)), repo),
    }
    for part, make in parts.items():
        between = rf"(?s)(?<={mark(part, 'begin')}).*?(?={mark(part, 'end')})"
        text = re.sub(between, lambda old, make=make: f"\n{make(old[0])}\n", text, count=1)
    return text


def badges(repo: Repository | None, notebook: str) -> str:
    """Site, Colab, Binder, tests, license; of a repository that is not known, the license alone."""
    if repo is None:
        return LICENSE
    branch = quote(repo.branch, safe="")
    tests = f"https://github.com/{repo.name}/actions/workflows/ci.yml"
    binder = f"https://mybinder.org/v2/gh/{repo.name}/{branch}?urlpath=lab/tree/notebooks"
    lines = [
        f"[![Site](https://img.shields.io/badge/read-online-blue)]({repo.site})",
        colab_badge(repo, notebook),
        f"[![Binder](https://mybinder.org/badge_logo.svg)]({binder})",
        f"[![Tests]({tests}/badge.svg?branch={branch})]({tests})",
        LICENSE,
    ]
    return "\n".join(lines)


def start(repo: Repository | None) -> str:
    """The commands from nothing to the open notebooks."""
    name = repo.name if repo else "OWNER/NAME"
    clone = f"git clone https://github.com/{name}.git\ncd {name.partition('/')[2]}"
    return f"```bash\n{clone}\npython -m course_lib lab\n```"


def table(old: str, notebooks: Mapping[str, str], memory: Mapping[str, str], repo: Repository | None) -> str:
    """The table of notebooks: picture, title, minutes, link to Colab; from `old`, what else was written."""
    # Without the word "figure", phones show no pictures.
    columns = ["figure", "notebook", "time", *(["open"] if repo else [])]
    rows = [_row(name, text, old, memory, repo) for name, text in notebooks.items()]
    return "\n".join([f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}", *rows])


def _row(name: str, text: str, old: str, memory: Mapping[str, str], repo: Repository | None) -> str:
    """One notebook's row; `old` is the table as it was."""
    stem = name.removesuffix(".ipynb")
    cells = json.loads(text)["cells"]
    opening = next("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    title = re.search(r"(?m)^# (?:Chapter )?(.+)$", opening)
    about = re.search(rf"\]\(notebooks/{re.escape(name)}\)\*\*<br>([^|]*?) \|", old)
    minutes = TIME.search(opening)
    columns = [
        [_thumbnail(stem, old)],
        [f"**[{title[1] if title else stem}](notebooks/{name})**", about and about[1]],
        [minutes and f"{minutes[1]} min", _on_binder(memory.get(stem))],
        *([[colab_badge(repo, name)]] if repo else []),
    ]
    return f"| {' | '.join('<br>'.join(filter(None, column)) for column in columns)} |"


def _thumbnail(stem: str, old: str) -> str | None:
    """The small picture of a notebook, if it has one, with the alt text that it has in `old`."""
    number = re.match(rf"{CHAPTER}(?=_)", stem)
    path = f"docs/images/thumb_{number[0] if number else stem}.png"
    if not (ROOT / path).exists():
        return None
    alt = re.search(rf'<img src="{re.escape(path)}"[^>]* alt="([^"]*)"', old)
    return f'<img src="{path}" width="96" alt="{alt[1] if alt else f"A figure of {stem}"}">'


def _on_binder(gigabytes: str | None) -> str | None:
    """A note where the notebook's kernel and JupyterLab together exceed Binder's memory."""
    too_large = gigabytes is not None and float(gigabytes) + SERVER_GB > BINDER_GB
    return f"needs {gigabytes} GB: not on Binder" if too_large else None
