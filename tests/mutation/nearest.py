"""Which test files are near a module: those that import its names, or names of modules built on it."""

import ast
from functools import cache
from pathlib import Path

PACKAGE = "course_lib"


def nearest_tests(root: Path, module: str, most: int) -> list[str]:
    """The test files that speak most of a module (a path below `root`), nearest first.

    That is told by the names they take from the library: how many are the module's, squared, per name. Names
    of modules that import the module themselves count a third; a file named after the module comes first.
    """
    own = _defined(root / module)
    users = [path for path in _files(root / PACKAGE) if _imported(root, path) & own]
    above = set().union(*(_defined(path) for path in users)) - own if users else set()
    scores = {}
    for path in _files(root / "tests"):
        if path.name.startswith("test_"):
            names = _with_helpers(root, path)
            score = len(names & own) + len(names & above) / 3
            if score:
                named = path.stem == f"test_{Path(module).stem}"
                scores[path.relative_to(root).as_posix()] = 100 * named + score**2 / len(names)
    return sorted(scores, key=lambda path: (-scores[path], path))[:most]


@cache
def _files(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(folder.rglob("*.py")))


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _defined(path: Path) -> frozenset[str]:
    """The module's own name and what it defines."""
    names = {path.stem}
    for node in _tree(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(names)


@cache
def _imported(root: Path, path: Path) -> frozenset[str]:
    """The names that a file takes from the library."""
    names = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {a.name.rpartition(".")[2] for a in node.names if a.name.startswith(f"{PACKAGE}.")}
    return frozenset(names)


@cache
def _with_helpers(root: Path, path: Path) -> frozenset[str]:
    """The same for a test file, with what the helpers that it imports take."""
    names = set(_imported(root, path))
    for node in ast.walk(_tree(path)):
        module = getattr(node, "module", None) or ""
        helper = root / "tests" / f"{module.replace('.', '/')}.py"
        if isinstance(node, ast.ImportFrom) and helper.is_file() and helper != path:
            names |= _with_helpers(root, helper)
    return frozenset(names)
