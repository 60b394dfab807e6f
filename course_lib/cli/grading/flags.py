"""Lines of a notebook that an instructor should read: they reach for the solutions, or for other files.

Nothing here is a verdict. A line that is also in the course's own notebook is not reported (see `running`).
"""

import ast
import re
from collections.abc import Iterator
from typing import Any

MOST = 20  # lines of one notebook
LONGEST = 160  # characters of a line
GIVING = {"answer_or_reference", "my_pieces"}  # offered, and able to return a solution
OFFERED = {"check", "conclude", "find", "my_prediction", "progress", "quiz", "recall", *GIVING}
SOLUTIONS = {"reference", "mistakes", "catalogue", "of_chapter", "read_exercises", *GIVING}
CODE_AS_TEXT = {"exec", "eval", "compile", "__import__", "import_module", "run_path"}
LISTINGS = {"iterdir", "rglob", "glob", "iglob", "scandir", "listdir", "walk"}
PLACE = re.compile(r"\.ipynb|(^|/)\.\.(/|$)|^[/~]\w*/|^~$|course_lib[./]|exercises(/|\.md)")
LIBRARY = re.compile(r"course_lib\.(generation|layers|models|tasks|text|training)\b")


def found(cells: list[str], allowed: dict[str, set[str]]) -> list[tuple[str, str]]:
    """What to read, each a reason and a line of code; allowed: by exercise, what its solution uses itself."""
    trees = [tree for cell in cells if (tree := parsed(cell)) is not None]
    library = {name: module for tree, _ in trees for name, module in imported(tree)}
    listed: dict[tuple[str, str], None] = {}
    answers = {name: one for tree, _ in trees for one, name in map(checked, ast.walk(tree)) if name}
    for tree, lines in trees:
        for node, reason in (*reasons(tree, library), *borrowed(tree, library, answers, allowed)):
            listed[reason, lines[node.lineno - 1].strip()[:LONGEST]] = None
    return list(listed)[:MOST]


def parsed(cell: str) -> tuple[ast.Module, list[str]] | None:
    """The syntax tree of a cell and its lines, with magics as Python; None if it cannot run."""
    from IPython.core.inputtransformer2 import TransformerManager

    try:
        source = TransformerManager().transform_cell(cell)
        return ast.parse(source), source.splitlines()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Each name that an import binds, with its module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((one.asname or one.name, f"{node.module}.{one.name}") for one in node.names)
        elif isinstance(node, ast.Import):
            yield from ((one.asname or one.name.partition(".")[0], one.name) for one in node.names)


def reasons(tree: ast.Module, library: dict[str, str]) -> Iterator[tuple[Any, str]]:
    """Each place of a cell that reaches for solutions, files or the library's own functions, and why."""
    for node in ast.walk(tree):
        name = getattr(node, "attr", None) or getattr(node, "id", None)
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (
                (node, f"imports {module}")
                for module in (forbidden(one, node) for one in node.names)
                if module
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value in SOLUTIONS or PLACE.search(node.value) and "\n" not in node.value:
                yield node, f"names {node.value!r}"[:LONGEST]
        elif isinstance(node, ast.Assign | ast.AugAssign):
            yield from (
                (one, f"replaces {ast.unparse(one)}") for one in targets(node) if root(one) in library
            )
        elif name in SOLUTIONS:
            yield node, f"uses {name}"
        elif isinstance(node, ast.Name) and name in CODE_AS_TEXT:
            yield node, f"runs code from text with {name}"
        elif isinstance(node, ast.Attribute) and name in LISTINGS | CODE_AS_TEXT - {"compile", "eval"}:
            yield node, f"uses {name}"


def borrowed(
    tree: ast.Module, library: dict[str, str], answers: dict[str, str], allowed: dict[str, set[str]]
) -> Iterator[tuple[Any, str]]:
    """Each place where an answer calls a function of the library that its solution does without."""
    for node in ast.walk(tree):
        one = checked(node)[0] or answers.get(getattr(node, "name", "")) or answers.get(assigned(node))
        for name in ast.walk(node) if one else ():
            module = library.get(getattr(name, "id", ""), "")
            if LIBRARY.match(module) and name.id not in allowed.get(one, ()):
                yield name, f"answers with {module}"


def checked(node: ast.AST) -> tuple[str, str]:
    """The exercise that a call of `check` names, and the name of the answer; empty strings for all else."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "check" and len(node.args) == 2:
        return str(getattr(node.args[0], "value", "")), str(getattr(node.args[1], "id", ""))
    return "", ""


def assigned(node: ast.AST) -> str:
    """The name that an assignment binds, if it is only one."""
    return getattr(node.targets[0], "id", "") if isinstance(node, ast.Assign) else ""


def forbidden(alias: ast.alias, node: ast.Import | ast.ImportFrom) -> str:
    """What is imported, if no notebook has a reason to: solutions, the exercises' modules, other commands."""
    module = f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
    place, _, name = module.rpartition(".")
    if place == "course_lib.exercises":
        return "" if name in OFFERED and (name not in GIVING or not alias.asname) else module
    if module == "course_lib.exercises.later.later":  # `release` writes this
        return ""
    inside = re.match(r"course_lib\.(cli\b|exercises\.|(?!exercises$).*\bexercises\b)", module)
    return module if inside else ""


def targets(node: ast.Assign | ast.AugAssign) -> list[ast.Attribute]:
    """The attributes that an assignment sets."""
    given = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [one for target in given for one in ast.walk(target) if isinstance(one, ast.Attribute)]


def root(node: ast.expr) -> str:
    """The name that an attribute is of: `a` of `a.b.c`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return getattr(node, "id", "")
