"""Mutants of an exercise's solution: answers with one slip, which its check must not accept."""

import ast
import csv
import re
from collections.abc import Iterator
from pathlib import Path

from mutation.faults import Fault, faults_in
from mutation.operators import Replacement, replacements

SURVIVORS = Path(__file__).with_name("survivors.csv")
SWAPS = (
    ("min", "max"), ("amin", "amax"), ("argmin", "argmax"), ("minimum", "maximum"), ("sum", "mean"),
    ("any", "all"), ("tril", "triu"), ("exp", "log"), ("sin", "cos"), ("floor", "ceil"),
)  # fmt: skip
OTHER = {one: other for pair in SWAPS for one, other in (pair, pair[::-1])}
# Calls without arguments that change nothing which a check could see.
SILENT = {
    "item",
    "tolist",
    "contiguous",
    "detach",
    "clone",
    "items",
    "keys",
    "values",
    "eval",
    "float",
    "long",
}
STATEMENTS = (ast.Assign, ast.AugAssign, ast.For, ast.If, ast.Expr)


def mutants(solution: str, exercise: str) -> list[Fault]:
    """Every single fault in a solution, without those that only write the same in another way."""
    faults = faults_in(solution, f"{exercise}.py", slips)
    return [one for one in faults if one.before != one.after and not re.search(r"-\(-[\d.]+\)", one.source)]


def slips(node: ast.AST) -> Iterator[Replacement]:
    """The faults of a module, and what a learner mixes up: sides, signs, neighbors among the functions."""
    yield from replacements(node)
    match node:
        case ast.BinOp(op=ast.Sub() | ast.Div() | ast.MatMult()):
            yield "sides swapped", node, ast.BinOp(node.right, node.op, node.left)
        case ast.Constant(value=value) if type(value) in (int, float):
            yield "constant", node, ast.Constant(value - 1 if type(value) is int else value / 2)
            if value > 0:
                yield "sign", node, ast.UnaryOp(ast.USub(), ast.Constant(value))
        case ast.Attribute(attr=name) if name in OTHER:
            yield "another function", node, ast.Attribute(node.value, OTHER[name], ast.Load())
        case ast.Name(id=name) if name in OTHER and isinstance(node.ctx, ast.Load):
            yield "another function", node, ast.Name(OTHER[name], ast.Load())
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=[], keywords=[]) if name not in SILENT:
            yield "call dropped", node, value
        case _ if isinstance(node, STATEMENTS):
            yield "statement dropped", node, ast.Pass()


def listed() -> dict[tuple[str, ...], str]:
    """The survivors that are known, each with the reason: `open` if its check should still be fixed."""
    with SURVIVORS.open(newline="", encoding="utf-8") as file:
        return {tuple(row[:3]): row[3] for row in list(csv.reader(file))[1:]}


def key(fault: Fault) -> tuple[str, str, str]:
    """What names a mutant in the table of survivors: exercise, operator and change."""
    exercise, _, operator, change = fault.key
    return exercise, operator, change
