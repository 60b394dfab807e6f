"""Single faults in a module: which ones there are, and a sample of them that is the same every time."""

import ast
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from pathlib import Path

from mutation.operators import Replacement, replacements

Functions = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
# Nothing runs that these say, or it only words an error.
SILENT = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Fault:
    """One changed expression or statement.

    module: path of the file below the root. function: its qualified name, "" at the top of the module.
    line: where it is. source: the whole module with the fault. repeat: how often the same has come before
    in the function.
    """

    module: str
    function: str
    operator: str
    before: str
    after: str
    line: int
    source: str
    repeat: int = 0

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What names the fault wherever its file and line are."""
        number = f" #{self.repeat + 1}" if self.repeat else ""
        return Path(self.module).stem, self.function, self.operator, f"{self.before} -> {self.after}{number}"


def faults_in(
    source: str, module: str, operators: Callable[[ast.AST], Iterator[Replacement]] = replacements
) -> list[Fault]:
    """Every fault that the operators can plant into a module, in the order of its lines."""
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    found = []
    for node, function in _places(ast.parse(source)):
        for operator, old, new in operators(node):
            begin = starts[old.lineno - 1] + old.col_offset
            end = starts[old.end_lineno - 1] + old.end_col_offset
            after = ast.unparse(ast.fix_missing_locations(new))
            text = f"({after})" if isinstance(new, ast.expr) else after
            changed = (source.encode()[:begin] + text.encode() + source.encode()[end:]).decode()
            if _compiles(changed):
                found.append(Fault(module, function, operator, ast.unparse(old), after, old.lineno, changed))
    return _numbered({fault.source: fault for fault in reversed(found)}.values())


def sample(faults: list[Fault], number: int, seed: int) -> list[Fault]:
    """So many faults, every operator in turn; which ones, only the seed and their keys decide."""

    def rank(*key: str) -> bytes:
        return hashlib.sha256("\0".join([str(seed), *key]).encode()).digest()

    groups: dict[str, list[Fault]] = {}
    for fault in sorted(faults, key=lambda fault: rank(*fault.key)):
        groups.setdefault(fault.operator, []).append(fault)
    order = sorted(groups, key=lambda operator: rank(faults[0].key[0], operator))
    in_turn = chain.from_iterable(zip_longest(*(groups[operator] for operator in order)))
    return [fault for fault in in_turn if fault][:number]


def _numbered(faults: Iterable[Fault]) -> list[Fault]:
    """In the order of their lines, those with equal keys numbered."""
    seen: Counter[tuple[str, ...]] = Counter()
    numbered = []
    for fault in sorted(faults, key=lambda fault: fault.line):
        numbered.append(replace(fault, repeat=seen[fault.key]))
        seen[fault.key] += 1
    return numbered


def _places(node: ast.AST, function: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Each node that runs, with the qualified name of the function or class it is in."""
    yield node, function
    inside = f"{function}.{node.name}".lstrip(".") if isinstance(node, Functions) else function
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, SILENT) and not _is_alias(child):
                yield from _places(child, inside)


def _is_alias(node: ast.AST) -> bool:
    """Is it the assignment of a type, such as `Labels = Int[Tensor, " batch"] | Float[…]`?"""
    if isinstance(node, ast.AnnAssign):
        return "TypeAlias" in ast.unparse(node.annotation)
    return isinstance(node, ast.Assign) and isinstance(getattr(node.value, "op", None), ast.BitOr)


def _compiles(source: str) -> bool:
    try:
        compile(source, "fault", "exec")
    except (SyntaxError, ValueError):
        return False
    return True
