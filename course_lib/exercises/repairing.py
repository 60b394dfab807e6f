"""The one change that would make a wrong answer right: of a number, a name, an operator, a call, a line.

Changes of the student's own code are tried one after the other, until one gives the right results on every
input. The hint says what to look at, not what would be right.
"""

import ast
import inspect
import io
import textwrap
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from copy import copy
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import torch

from course_lib.exercises.comparing import CallResult, alike, call
from course_lib.exercises.exercise import Exercise

MOST = 1000  # changes that are tried
ROUNDS = 4_000  # of all loops together: a changed loop may never end
LONG = 60  # characters of code that a hint quotes
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.MatMult)
COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
FAMILIES = [
    set(line.split())
    for line in (
        "sum mean amax amin prod median std",
        "cumsum sum",
        "max min sum len",
        "argmax argmin",
        "maximum minimum",
        "sin cos tan",
        "exp log",
        "sqrt square abs",
        "softmax log_softmax sigmoid",
        "logsigmoid sigmoid",
        "relu silu gelu sigmoid tanh",
        "tril triu",
        "any all",
        "repeat repeat_interleave",
        "round floor ceil trunc int",
        "stdev pstdev variance mean fmean median",
        "cat stack",
    )
]
ARITHMETIC = ast.Name | ast.Call | ast.BinOp | ast.UnaryOp | ast.Subscript | ast.Attribute


Span = tuple[tuple[int, int], tuple[int, int]]  # of the source: lines and columns of both ends


class _TooLongError(BaseException):
    """A changed function does not come to an end."""


@dataclass(frozen=True, eq=False)
class _Edit:
    """One change: `parent.field`, or its entry at `index`, becomes `new`; words follow "would be right"."""

    parent: ast.AST
    field: str
    index: int | None
    new: ast.AST
    words: str
    quoted: tuple[Span, ...]

    def swap(self, node: ast.AST | None = None) -> ast.AST:
        """Put `node`, or the new one, in its place, and return what was there."""
        value = getattr(self.parent, self.field)
        if self.index is None:
            setattr(self.parent, self.field, node or self.new)
            return value
        value[self.index], before = node or self.new, value[self.index]
        return before


def repaired(exercise: Exercise, answer: Any, expected: Sequence[CallResult], first: int) -> str | None:
    """The change that makes an answer right, in words; None if there is none.

    first: the first input on which the answer is wrong.
    """
    try:
        source = textwrap.dedent(inspect.getsource(answer))
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError):
        return None
    if not isinstance(tree.body[0], ast.FunctionDef) or answer.__closure__:
        return None
    order = [first, *(i for i in range(len(expected)) if i != first)]
    groups = _groups(list(_edits(tree.body[0], _constants(exercise.reference, answer))), source)
    _count_rounds(tree)
    with _quietly():
        for together in groups[:MOST]:
            function = _compiled(tree, together, answer)
            if function and _works(function, exercise, expected, order):
                everywhere = ", everywhere" if len(together) > 1 else ""
                return f"Your function would be right {_said(source, tree, together[0])}{everywhere}."
    return None


def _works(function: Callable, exercise: Exercise, expected: Sequence[CallResult], order: list[int]) -> bool:
    for i in order:
        try:
            mine = call(function, exercise.inputs[i], exercise.run)
        except _TooLongError:
            return False
        if mine.error or mine.changed or not alike(mine, expected[i], exercise.tolerance):
            return False
    return True


def _compiled(tree: ast.Module, together: Sequence[_Edit], answer: Any) -> Callable | None:
    """The changed function; the tree is as before afterward."""
    before = [edit.swap() for edit in together]
    rounds = 0

    def count() -> None:
        nonlocal rounds
        rounds += 1
        if rounds > ROUNDS:
            raise _TooLongError

    room = {**answer.__globals__, "__count__": count}
    try:
        exec(compile(ast.fix_missing_locations(tree), "<changed>", "exec"), room)
    except (SyntaxError, ValueError, TypeError):
        return None
    finally:
        for edit, node in zip(together, before, strict=True):
            edit.swap(node)
    return room[tree.body[0].name]  # type: ignore[attr-defined]


def _count_rounds(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.While):
            node.body.insert(0, ast.parse("__count__()").body[0])


@contextmanager
def _quietly() -> Iterator[None]:
    """Nothing is printed, and no random number of PyTorch is used up."""
    silent = io.StringIO()
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with redirect_stdout(silent), redirect_stderr(silent):
            yield


def _groups(edits: list[_Edit], source: str) -> list[list[_Edit]]:
    """Each change alone; then the same change everywhere."""
    same = defaultdict(list)
    for edit in edits:
        if isinstance(edit.new, ast.expr):
            new = "" if edit.words == "without {}" else getattr(edit.new, "attr", "") or ast.dump(edit.new)
            same[edit.words, _text(source, edit.quoted[0]), new].append(edit)
    several = [edits for edits in same.values() if len(edits) > 1]
    return [[edit] for edit in edits] + several


def _constants(reference: Callable, answer: Any) -> set[int | float]:
    """Numbers of the reference, and those that have a name in the notebook, such as PAD."""
    code = getattr(reference, "__code__", None)
    named = [one for name, one in answer.__globals__.items() if name.isupper()]
    found = [*(code.co_consts if code else ()), *named]
    return {one for one in found if type(one) in (int, float) and abs(one) < 1e5}


def _said(source: str, tree: ast.Module, edit: _Edit) -> str:
    """The change in words, with the smallest expression around it that shows where it is."""
    start, end = edit.quoted[-1]
    whole = _text(source, (start, end))
    around = (_span(node) for node in ast.walk(tree) if isinstance(node, ast.expr | ast.stmt))
    larger = sorted((_text(source, one) for one in around if one[0] <= start and one[1] >= end), key=len)
    place = next((one for one in larger if source.count(one) == 1 and len(one) > len(whole) + 2), whole)
    said = edit.words.format(*(f"`{_short(_text(source, one))}`" for one in edit.quoted))
    alone = source.count(whole) == 1 and len(whole) > 3 or len(place) > LONG
    return said if alone or place == whole else f"{said} in `{_short(place)}`"


def _span(node: ast.AST) -> Span:
    return _start(node), _end(node)


def _text(source: str, span: Span) -> str:
    (first, left), (last, right) = span
    lines = source.splitlines()[first - 1 : last]
    lines[-1] = lines[-1].encode()[:right].decode()
    lines[0] = lines[0].encode()[left:].decode()
    return "\n".join(lines).strip()


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONG else f"{text[: LONG - 1]}…"


def _edits(function: ast.FunctionDef, known: set[int | float]) -> Iterator[_Edit]:
    """All changes, the likeliest mistakes first."""
    found = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    stored = {node.id for node in found if isinstance(node.ctx, ast.Store)}
    names = sorted(stored | {one.arg for one in function.args.args})
    places = [place for part in function.body for place in _places(part)]
    for i, statement in enumerate(function.body):
        places.append((function, "body", i, statement))
    for changes in (_removals, _replacements, _additions):
        for parent, field, index, node in places:
            for new, words, *quoted in changes(node, parent, names, known):
                spans = (_span(one) if isinstance(one, ast.AST) else one for one in quoted)
                yield _Edit(parent, field, index, new, words, tuple(spans))


def _places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            for index, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(node, ast.AST):
                    yield parent, field, index, node


Changes = Iterator[tuple]


def _removals(node: ast.AST, parent: ast.AST, names: list[str], known: set) -> Changes:
    match node:
        case ast.BinOp(left, _, right):
            yield left, "without {}", (_end(left), _end(node))
            yield right, "without {}", (_start(node), _start(right))
        case ast.BoolOp(_, values):
            for one in values:
                yield one, "with only a part of the condition {}", node
        case ast.UnaryOp(_, operand):
            yield operand, "without {}", (_start(node), _start(operand))
        case ast.Call(func, args, keywords):
            if isinstance(func, ast.Attribute):
                yield func.value, "without {}", (_end(func.value), _end(node))
            if args and isinstance(func, ast.Name | ast.Attribute):
                yield args[0], "without {} around {}", func, args[0]
            for i, keyword in enumerate(keywords):
                yield _with(node, keywords=[*keywords[:i], *keywords[i + 1 :]]), "without {}", keyword
        case ast.Attribute(value, _, ast.Load()) if not (
            isinstance(parent, ast.Call) and node is parent.func
        ):
            yield value, "without {}", (_end(value), _end(node))
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
                yield value.func.value, "without {}", (_end(value.func.value), _end(node))
        case ast.Subscript(value, _, ast.Load()):
            yield value, "without {}", (_end(value), _end(node))
        case ast.Slice(lower, upper, step):
            if lower and not upper:
                yield lower, "with {} alone, without the colon", lower
            if lower:
                yield ast.Slice(None, upper, step), "with another beginning than {}", lower
            if upper:
                yield ast.Slice(lower, None, step), "with another end than {}", upper
        case ast.List(items):
            for i, one in enumerate(items):
                yield _with(node, elts=[*items[:i], *items[i + 1 :]]), "without {}", one
        case ast.IfExp(test, body, other):
            yield ast.IfExp(test, other, body), "with both cases of {} swapped", node
            yield body, "without the condition {}", test
            yield other, "without the condition {}", test
        case ast.Assign() | ast.AugAssign() | ast.Expr() | ast.If():
            yield ast.Pass(), "without {}", node


def _replacements(node: ast.AST, parent: ast.AST, names: list[str], known: set) -> Changes:
    if isinstance(parent, ast.Call) and node is parent.func and isinstance(node, ast.Name | ast.Attribute):
        attribute = isinstance(node, ast.Attribute)
        for family in FAMILIES:
            for other in sorted(family) if (node.attr if attribute else node.id) in family else ():
                place = (_end(node.value), _end(node)) if attribute else node
                yield (
                    _with(node, **{"attr" if attribute else "id": other}),
                    "with another function than {}",
                    place,
                )
    match node:
        case ast.Constant(bool(value)):
            yield ast.Constant(not value), "with the opposite of {}", node
        case ast.Constant(int() | float() as value):
            around = {value + 1, value - 1, 2 * value, value / 2, 0, 1, 2, -1, -2, 3, *known}
            if isinstance(value, float):
                around |= {float(f"{value * 10.0**k:.6g}") for k in (-3, -2, -1, 1, 2, 3)}
            for one in sorted(around - {value, -value}, key=lambda one: (abs(one - value), one)):
                yield _number(one), "with another number than {}", node
            for name in names:
                yield ast.Name(name, ast.Load()), "with something else in place of {}", node
        case ast.operator():
            for kind in OPERATORS:
                yield kind(), "with another operator in {}", parent
        case ast.cmpop():
            for kind in COMPARISONS:
                yield kind(), "with another comparison in {}", parent
        case ast.And() | ast.Or():
            other = ast.Or() if isinstance(node, ast.And) else ast.And()
            yield other, "with `and` and `or` swapped in {}", parent
        case ast.Name(name, ast.Load()) if name in names:
            for other in names:
                yield ast.Name(other, ast.Load()), "with something else in place of {}", node
            if isinstance(parent, ast.List):
                yield ast.Starred(node, ast.Load()), "with the items of {} in place of the list itself", node
        case ast.Call(_, args, _):
            for i, j in combinations(range(len(args)), 2):
                yield _with(node, args=_swapped(args, i, j)), "with the arguments of {} swapped", node
        case ast.Tuple(items, ast.Load()):
            for i, j in combinations(range(len(items)), 2):
                yield _with(node, elts=_swapped(items, i, j)), "with two parts of {} swapped", node
        case ast.Slice(lower, upper, step) if lower or upper:
            yield ast.Slice(upper, lower, step), "with the beginning and the end of {} swapped", node
        case ast.BinOp(left, ast.Sub() | ast.Div() | ast.MatMult() | ast.FloorDiv() | ast.Pow(), right):
            yield _with(node, left=right, right=left), "with both sides of {} swapped", node


def _additions(node: ast.AST, parent: ast.AST, names: list[str], known: set) -> Changes:
    if isinstance(node, ast.Call):
        for word, value, words in (
            ("keepdim", True, "if {} kept the axis (keepdim=True)"),
            ("reverse", True, "with {} in the opposite order"),
            ("descending", True, "with {} in the opposite order"),
            ("start", 1, "if {} began at 1"),
            ("dim", -1, "if {} said along which axis (dim=…)"),
            ("dim", 0, "if {} said along which axis (dim=…)"),
            ("dim", 1, "if {} said along which axis (dim=…)"),
        ):
            if not any(one.arg == word for one in node.keywords):
                keyword = ast.keyword(word, ast.Constant(value))
                yield _with(node, keywords=[*node.keywords, keyword]), words, node
    if isinstance(parent, ast.Return):
        for name in ("mean", "sum"):
            reduced = ast.Call(ast.Attribute(node, name, ast.Load()), [], [])
            yield reduced, f"with the {name} of {{}} at the end", node
    if isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value:
        yield ast.UnaryOp(ast.USub(), node), "with the opposite sign of {}", node
    if isinstance(node, ARITHMETIC) and not isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        if isinstance(parent, ast.Call) and node is parent.func:
            return
        yield ast.UnaryOp(ast.USub(), node), "with the opposite sign of {}", node
        yield ast.BinOp(node, ast.Add(), ast.Constant(1)), "if {} were 1 larger", node
        yield ast.BinOp(node, ast.Sub(), ast.Constant(1)), "if {} were 1 smaller", node
        yield ast.UnaryOp(ast.Invert(), node), "with the opposite of {}", node
        yield ast.BinOp(ast.Constant(1), ast.Sub(), node), "with 1 minus {}", node
        yield ast.BinOp(node, ast.Pow(), ast.Constant(0.5)), "with the root of {}", node
        yield ast.BinOp(node, ast.Pow(), ast.Constant(2)), "with the square of {}", node
        yield ast.BinOp(ast.Constant(2), ast.Mult(), node), "with twice {}", node
        yield ast.BinOp(node, ast.Div(), ast.Constant(2)), "with half of {}", node
        yield ast.Attribute(node, "mT", ast.Load()), "if {} were transposed", node
        yield ast.Attribute(node, "T", ast.Load()), "if {} were transposed", node
        for one in sorted({0, 1, *known}):
            yield _number(one), "with a number in place of {}", node


def _start(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _end(node: ast.AST) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


def _number(value: int | float) -> ast.expr:
    return ast.UnaryOp(ast.USub(), ast.Constant(-value)) if value < 0 else ast.Constant(value)


def _with(node: ast.AST, **fields: Any) -> Any:
    new = copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _swapped(items: list[ast.expr], i: int, j: int) -> list[ast.expr]:
    new = [*items]
    new[i], new[j] = items[j], items[i]
    return new
