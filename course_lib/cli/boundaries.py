"""Finds printed digits that another machine may print differently: numbers close to a rounding boundary.

An IPython extension for the kernels in which `python -m course_lib test --plain` runs the notebooks. Every
float that a notebook or the library formats is formatted again, slightly smaller and slightly larger. Where
the digits change, both readings are printed, as in `0.2773|0.2774`, so the cell fails under nbval.
"""

import ast
import builtins
import math
import re
import sys
from collections.abc import Callable
from functools import partial
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import Any

import numpy as np
from numpy._core.arrayprint import FloatingFormat

RELATIVE = 1e-5  # more than two processors differ by in fp32, less than a reader of four digits sees
ROUNDING = 1e-12  # more than a different order of additions changes in fp64
MAX_DIGITS = 10  # a number that has more was computed
OPTIONAL = {"d2l", "timm"}  # absent on Colab: notebooks must run without them
NUMBER = re.compile(r"([+-]?)(\d[\d,]*\.?\d*|\.\d+)(e[+-]?\d+)?(%?)", re.IGNORECASE)
SHOWN = "_shown_with_boundaries"
CONVERSIONS = {-1: lambda value: value, ord("s"): str, ord("r"): repr, ord("a"): ascii}


class Reading(str):
    """A number as text that shows no quotes inside a list."""

    __repr__ = str.__str__


def readings(value: float, show: Callable[[float], str]) -> str:
    """`show(value)`, or both readings where a slight change of the value changes what is shown."""
    text = show(value)
    if not math.isfinite(value) or is_complete(text, value):
        return text
    relative = ROUNDING if is_short(value) else RELATIVE
    below, above = show(value * (1 - relative)), show(value * (1 + relative))
    if is_negative_zero(text):  # the sign of a rounding error
        above = show(0.0)
    return text if below == above else f"{below}|{above}"


def is_short(value: float) -> bool:
    """Whether a number has few digits: it was typed or counted, so only a tie can go either way."""
    return len(re.sub(r"\D", "", repr(float(value)).split("e")[0]).strip("0")) <= MAX_DIGITS


def is_complete(text: str, value: float) -> bool:
    """Whether the text holds all digits of a short number, such as 2.5 shown as 2.50."""
    found = NUMBER.search(text)
    if not found or not is_short(value):
        return False
    sign, digits, exponent, percent = found.groups(default="")
    return float(sign + digits.replace(",", "") + exponent) / (100 if percent else 1) == value


def is_negative_zero(text: str) -> bool:
    """Whether the text shows a number that has a minus sign and no other digit than 0."""
    found = NUMBER.search(text)
    return bool(found) and found[1] == "-" and not found[2].strip("0.,")


def number_in(value: Any) -> float | None:
    """The float in a Python, NumPy or one-element PyTorch number, if there is one."""
    if isinstance(value, float):
        return value
    if type(value).__module__ not in ("torch", "numpy") or getattr(value, "ndim", 1):
        return None
    item = value.item()
    return item if isinstance(item, float) else None


def shown(value: Any, spec: str, conversion: int) -> str:
    """The text in an f-string for {value!conversion:spec}, with both readings of a number."""
    value = CONVERSIONS[conversion](value)
    number = number_in(value)
    if number is not None:
        return readings(number, lambda number: format(number, spec))
    return format(value if spec else inside(value), spec)


def inside(value: Any) -> Any:
    """The value, with both readings of the floats in it, also inside lists, tuples and dictionaries."""
    if isinstance(value, float):
        return Reading(readings(value, repr if type(value) is float else str))
    if type(value) in (list, tuple):
        return type(value)(map(inside, value))
    return {key: inside(one) for key, one in value.items()} if type(value) is dict else value


class FormattedValues(ast.NodeTransformer):
    """Lets `shown` format the values in f-strings."""

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.FormattedValue:
        self.generic_visit(node)
        spec = node.format_spec or ast.Constant("")
        call = ast.Call(ast.Name(SHOWN, ast.Load()), [node.value, spec, ast.Constant(node.conversion)], [])
        return ast.fix_missing_locations(ast.copy_location(ast.FormattedValue(call, -1, None), node))


class Loader(SourceFileLoader):
    """Loads a module of the library with `shown` in its f-strings."""

    def get_code(self, fullname: str) -> Any:
        path = self.get_filename(fullname)
        return compile(FormattedValues().visit(ast.parse(self.get_data(path), path)), path, "exec")


class Finder(PathFinder):
    """Finds modules as Python does, but the library's with another loader, and no optional packages."""

    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname in OPTIONAL:
            return None
        spec = super().find_spec(fullname, path, target)
        if spec and fullname.split(".")[0] == "course_lib" and isinstance(spec.loader, SourceFileLoader):
            spec.loader = Loader(fullname, spec.loader.path)
        return spec


def load_ipython_extension(shell: Any) -> None:
    """Watch everything that formats a float in this kernel."""
    setattr(builtins, SHOWN, shown)
    sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
    shell.ast_transformers.append(FormattedValues())
    plain_text = shell.display_formatter.formatters["text/plain"]
    plain_text.for_type(float, lambda value, printer, cycle: printer.text(inside(value)))
    original = builtins.print
    builtins.print = lambda *values, **options: original(*map(inside, values), **options)
    builtins.round = watched_round(builtins.round)
    from torch._tensor_str import _Formatter

    for printer, name in ((_Formatter, "format"), (FloatingFormat, "__call__")):
        setattr(printer, name, with_readings(getattr(printer, name)))


def watched_round(original: Callable[..., Any]) -> Callable[..., Any]:
    """`round`, but to some decimals, a float that could go either way stays as it is, so all digits show."""

    def watched(value: Any, digits: int | None = None) -> Any:
        rounded = original(value) if digits is None else original(value, digits)
        if digits is None or not isinstance(value, float):
            return rounded
        return value if "|" in readings(value, lambda value: repr(original(value, digits))) else rounded

    return watched


def with_readings(original: Callable[[Any, Any], str]) -> Callable[[Any, Any], str]:
    """A printer's method that shows one element, with both readings of a float."""

    def watched(self: Any, value: Any) -> str:
        one = partial(original, self)
        return readings(value, one) if isinstance(value, (float, np.floating)) else one(value)

    return watched
