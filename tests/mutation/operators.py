"""The mutation operators: what a slip of the pen makes of one node of the syntax tree."""

import ast
import re
from collections.abc import Iterator

Replacement = tuple[str, ast.AST, ast.AST]  # name of the operator, the old node, the new one

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
# Calls that may be left out and the program still runs: f(x) and x.f() become x.
PASSING = re.compile(
    r"(.*_)?(dropout|norm\w*|scale|mask\w*|sqrt|r?sqrt_|softmax|relu|gelu|square|tril|clone|float|flip|abs"
    r"|sorted|exp|log|clamp|tanh|detach|positions|rotary|turn|rotate|lower|strip|cumsum|mean|max|min|round)"
)


UNSEEN = {"strict"}  # keywords that only a fault elsewhere could tell from their absence
SYMMETRIC = {"max", "min", "maximum", "minimum", "transpose", "swapaxes"}  # their arguments may be swapped
OTHER_WAY = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)


def replacements(node: ast.AST) -> Iterator[Replacement]:
    """Every fault that this node offers, its children left alone."""
    match node:
        case ast.Compare(ops=[op]):
            swapped = COMPARISONS[type(op)]()
            yield "comparison", node, ast.Compare(node.left, [swapped], node.comparators)
        case ast.BinOp():
            yield from _arithmetic(node)
        case ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield "arithmetic", node, ast.AugAssign(node.target, ARITHMETIC[type(op)](), node.value)
        case ast.BoolOp(op=op, values=values):
            yield "and/or", node, ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(operand=operand) if not isinstance(node.op, ast.UAdd):
            yield {ast.Not: "no not", ast.Invert: "no ~"}.get(type(node.op), "sign"), node, operand
        case ast.If() | ast.While() | ast.IfExp():
            yield from _negated(node.test)
        case ast.comprehension(ifs=[condition, *_]):
            yield from _negated(condition)
        case ast.Constant(value=value) if isinstance(value, int | float):
            yield "constant", node, ast.Constant(_another(value))
        case ast.arguments():
            for default in (*node.defaults, *filter(None, node.kw_defaults)):
                if isinstance(default, ast.Constant) and isinstance(default.value, int | float):
                    yield "default", default, ast.Constant(_another(default.value))
        case ast.Expr(value=ast.Call()) if "super()" not in ast.unparse(node):
            yield "statement dropped", node, ast.Pass()
        case ast.Call():
            yield from _calls(node)


def _arithmetic(node: ast.BinOp) -> Iterator[Replacement]:
    if type(node.op) not in ARITHMETIC or any(_is_text(side) for side in (node.left, node.right)):
        return
    yield "arithmetic", node, ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
    kept = node.right if isinstance(node.left, ast.Constant) else node.left
    yield "operand dropped", node, kept


def _calls(node: ast.Call) -> Iterator[Replacement]:
    """Left out, with two arguments swapped, and with one keyword argument fewer."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    plain = [one for one in node.args if not isinstance(one, ast.Starred | ast.GeneratorExp)]
    if PASSING.fullmatch(name) and (plain or isinstance(node.func, ast.Attribute)):
        of_module = isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") in (
            "F", "math", "torch", "self", "np",
        )  # fmt: skip
        if isinstance(node.func, ast.Name) or of_module:
            kept = plain[0] if plain else None
        else:
            kept = node.func.value
        if kept is not None:
            yield "call dropped", node, kept
    different = len(plain) > 1 and plain[:2] == node.args[:2] and ast.dump(plain[0]) != ast.dump(plain[1])
    if different and name not in SYMMETRIC:
        yield (
            "arguments swapped",
            node,
            ast.Call(node.func, [plain[1], plain[0], *node.args[2:]], node.keywords),
        )
    for i, keyword in enumerate(node.keywords):
        if keyword.arg and keyword.arg not in UNSEEN:
            fewer = node.keywords[:i] + node.keywords[i + 1 :]
            yield "keyword dropped", node, ast.Call(node.func, node.args, fewer)


def _negated(test: ast.expr) -> Iterator[Replacement]:
    """The condition turned round, where no other operator does that."""
    compared = isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], OTHER_WAY)
    if not compared and not isinstance(test, ast.UnaryOp):
        yield "condition", test, ast.UnaryOp(ast.Not(), test)


def _another(value: bool | int | float) -> bool | int | float:
    """The other truth value, one more, or ten times as much."""
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) or value == 0 else 10 * value


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(getattr(node, "value", None), str)
