"""Exercise: a reference answer, test inputs, and the known mistakes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

Answer = Callable[..., Any]
Arguments = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Mistake:
    """Known mistake: a wrong answer that students give, and why it is wrong.

    name: what is wrong, as a clause that follows "Not yet:", such as "your loss counts the padding".
    why: why it matters and the next step, in two or three short sentences.
    wrong: implementations with this mistake; several if the remaining code can be written in several ways.
    """

    name: str
    why: str
    wrong: tuple[Answer, ...]


@dataclass(frozen=True, eq=False)
class Exercise:
    """Exercise whose answer is compared with a reference and with each known mistake on the same inputs.

    id: chapter and name, such as "01.temperature".
    reference: a correct answer; messages show its parameter names, so they must be those of the notebook.
    inputs: the arguments of each call, smallest first; `((),)` if the answer is a value, not a function.
    mistakes: they differ from the reference, and from one another, on at least one input.
    tolerance: absolute and relative tolerance for numbers.
    run: how an answer is called, if not by `answer(*arguments)`: `run(answer, *arguments)` returns what is
    compared, so it can also look at how the answer computes (see `watching`).
    minutes, difficulty (1 to 3): our estimates. now: what a correct answer makes possible, in a sentence.
    """

    id: str
    reference: Answer
    inputs: tuple[Arguments, ...]
    mistakes: tuple[Mistake, ...]
    tolerance: float = 1e-4
    run: Callable[..., Any] | None = None
    minutes: int = 0
    difficulty: int = 0
    now: str = ""


def mistake(name: str, why: str, *wrong: Answer) -> Mistake:
    """Shorthand for `Mistake` that takes the implementations as positional arguments."""
    return Mistake(name, why, wrong)


def value(answer: Any) -> Answer:
    """Constant function without arguments that returns `answer`, for exercises that ask for a value."""
    return lambda: answer


def normal(*shape: int, seed: int = 0) -> Tensor:
    """Standard normal numbers, the same at every call."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def whole(*shape: int, seed: int = 0) -> Tensor:
    """Whole numbers from −2 to 2, the same at every call: inputs whose results one can follow on paper."""
    return torch.randint(-2, 3, shape, generator=torch.Generator().manual_seed(seed)).float()


def numbered(*shape: int) -> Tensor:
    """0, 1, 2, … in the given shape, so that each number identifies its original position."""
    return torch.arange(torch.Size(shape).numel()).reshape(shape).float()
