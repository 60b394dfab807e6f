"""The solutions that the notebooks fold away, and what each of them can use."""

import ast
import json
import linecache
import re
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl

from course_lib.cli.environment import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SOLUTION = re.compile(r"<details>.*?```python\n(.*?)```.*?</details>", re.DOTALL)


def cells(notebook: Path) -> list[tuple[str, str]]:
    content = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [(cell["cell_type"], "".join(cell["source"])) for cell in content]


def checks(source: str) -> list[tuple[str, str]]:
    """The exercises a cell checks, each with the expression it passes."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    calls = [node for node in calls if isinstance(node.func, ast.Name) and node.func.id == "check"]
    return [(ast.literal_eval(node.args[0]), ast.unparse(node.args[1])) for node in calls]


def plain(source: str) -> str:
    """The cell without the lines that only IPython reads."""
    return re.sub(r"(?m)^(\s*)[%!].*$", r"\1pass", source)


def imports(notebook: Path) -> list[str]:
    """The setup cell, and what the other cells import."""
    setup, *others = [plain(source) for kind, source in cells(notebook) if kind == "code"]
    nodes = (node for source in others for node in ast.parse(source).body)
    return [setup, *(ast.unparse(node) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))]


def asked(notebook: Path) -> list[tuple[str, str, str]]:
    """Each exercise of a notebook: its id, the expression that is checked, the code of the solution."""
    all_cells = cells(notebook)
    found = []
    for (kind, source), (_, after) in zip(all_cells, [*all_cells[1:], ("", "")], strict=True):
        if kind == "code" and "check(" in source:
            solution = SOLUTION.search(after)
            found += [(key, answer, solution[1] if solution else "") for key, answer in checks(source)]
    return found


@contextmanager
def room_of(notebook: Path) -> Iterator[dict]:
    """The names that the solutions of a notebook can use: those of its setup cell and of its imports."""
    room: dict = {}
    with mpl.rc_context():  # the setup cell may set the style of the figures
        for source in imports(notebook):
            exec(source, room)
        yield room


def written(parameters: str, body: str, room: dict) -> Callable:
    """A function as a learner writes it: its source can be read, as in a notebook."""
    source = f"def answer({parameters}):\n{textwrap.indent(body.rstrip(), '    ')}\n"
    name = f"<answer {hash(source)}>"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    exec(compile(source, name, "exec"), room)
    return room["answer"]
