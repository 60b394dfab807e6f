"""What an exercise is: a reference, inputs, and the mistakes that are known by name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

Answer = Callable[..., Any]
Arguments = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Mistake:
    """A wrong answer that learners give, and why it is wrong.

    name: what the code does, such as "divides by d instead of √d". why: one or two sentences.
    wrong: the implementations that make this mistake; several where the rest can be written in several ways.
    """

    name: str
    why: str
    wrong: tuple[Answer, ...]


@dataclass(frozen=True, eq=False)
class Exercise:
    """A task whose answer is compared with a reference and with each known mistake, on the same inputs.

    id: chapter and name, such as "01.temperature".
    inputs: the arguments of each call, smallest first; `((),)` where a value is asked for, not a function.
    The reference and all mistakes differ from one another on at least one input.
    tolerance: absolute and relative, for numbers.
    """

    id: str
    reference: Answer
    inputs: tuple[Arguments, ...]
    mistakes: tuple[Mistake, ...]
    tolerance: float = 1e-4


def mistake(name: str, why: str, *wrong: Answer) -> Mistake:
    """A `Mistake` with its implementations written one after the other."""
    return Mistake(name, why, wrong)


def value(answer: Any) -> Answer:
    """A function without arguments that returns `answer`: for exercises that ask for a number or a word."""
    return lambda: answer


def normal(*shape: int, seed: int = 0) -> Tensor:
    """Random numbers to ask with, the same at every call."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def numbered(*shape: int) -> Tensor:
    """0, 1, 2, … in the given shape: each number says where it comes from."""
    return torch.arange(torch.Size(shape).numel()).reshape(shape).float()
