"""Ranges of settings, and axes of inputs: checks that name the value and its range in one line."""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any


def check_names(config: object, **known: Iterable[object]) -> None:
    """Raise ValueError unless each of these fields has one of its known values."""
    for field, values in known.items():
        if (value := getattr(config, field)) not in values:
            raise ValueError(f"{field}={value!r} is none of {sorted(map(str, values))}")


def check_whole_numbers(config: object, least: int, *fields: str) -> None:
    """Raise ValueError unless each of these fields is an integer of at least `least`."""
    check_whole(least, **{field: getattr(config, field) for field in fields})


def check_whole(least: int, **numbers: object) -> None:
    """Raise ValueError unless each of these is an integer of at least `least`; True and False are none.

    >>> check_whole(1, batch=64, width=0)
    Traceback (most recent call last):
    ValueError: width=0 is not a whole number of at least 1
    """
    for name, number in numbers.items():
        if not isinstance(number, Integral) or isinstance(number, bool) or number < least:
            raise ValueError(f"{name}={number!r} is not a whole number of at least {least}")


def check_axes(tensor: Any, axes: str) -> None:
    """Raise ValueError unless a tensor has as many axes as are named: with others, layers mix them up.

    >>> import torch
    >>> check_axes(torch.zeros(5, 8), "batch, tokens, d_model")
    Traceback (most recent call last):
    ValueError: shape (5, 8) is not (batch, tokens, d_model)
    """
    if tensor.ndim != axes.count(",") + 1:
        raise ValueError(f"shape {tuple(tensor.shape)} is not ({axes})")


def check_numbers(config: object, interval: str, *fields: str) -> None:
    """Raise ValueError unless each of these fields is a number in an interval such as "[0, 1)".

    >>> from types import SimpleNamespace
    >>> check_numbers(SimpleNamespace(dropout=1.0), "[0, 1)", "dropout")
    Traceback (most recent call last):
    ValueError: dropout=1.0 is not a number in [0, 1)
    """
    low, high = map(float, interval[1:-1].split(","))
    for field in fields:
        value = getattr(config, field)
        number = isinstance(value, Real) and not isinstance(value, bool)
        inside = number and low <= value <= high
        if not inside or (value == low and interval[0] == "(") or (value == high and interval[-1] == ")"):
            raise ValueError(f"{field}={value!r} is not a number in {interval}")
