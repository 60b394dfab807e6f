"""Calls of an answer that look at how it computes: forbidden functions, and tensors that are too large.

They end an answer with one of Python's own errors, so that a known mistake that ends likewise names it.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.exercises.exercise import Answer

EXPONENTIALS = {torch.ops.aten.exp, torch.ops.aten.exp_, torch.ops.aten._softmax, torch.ops.aten.softmax}


def without(*names: str) -> Callable[..., Any]:
    """Call an answer; PermissionError if it uses a function of PyTorch with one of these names."""

    def run(answer: Answer, *arguments: Any) -> Any:
        with _Forbidden(names):
            return answer(*arguments)

    return run


def no_tensor_of(
    numbers: Callable[..., int], *names: str, no_softmax_over: Callable[..., int] = lambda *arguments: 0
) -> Callable[..., Any]:
    """Call an answer; MemoryError if it makes a tensor of so many numbers or more.

    numbers: from the arguments. names: of functions that hide such tensors; PermissionError if one is used.
    no_softmax_over: a size, from the arguments; MemoryError if exponentials have an axis of this size.
    """

    def run(answer: Answer, *arguments: Any) -> Any:
        with _Forbidden(names), _Limited(numbers(*arguments), no_softmax_over(*arguments)):
            return answer(*arguments)

    return run


class _Forbidden(TorchFunctionMode):
    """Lets no function with these names run."""

    def __init__(self, names: tuple[str, ...]):
        super().__init__()
        self.names = names

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(function, "__name__", "")
        if name in self.names:
            raise PermissionError(f"this exercise does without {name}")
        return function(*args, **(kwargs or {}))


class _Limited(TorchDispatchMode):
    """Lets no operation make a tensor of `limit` numbers or more, or exponentials along an axis of `size`."""

    def __init__(self, limit: int, size: int):
        super().__init__()
        self.limit, self.size = limit, size

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        parts = result if isinstance(result, tuple | list) else (result,)
        made = [one for one in parts if isinstance(one, Tensor)]
        largest = max((one.numel() for one in made), default=0)
        if largest >= self.limit:
            raise MemoryError(f"a tensor of {largest} numbers; allowed are fewer than {self.limit}")
        if function.overloadpacket in EXPONENTIALS and any(self.size in one.shape for one in made):
            raise MemoryError(f"exponentials along an axis of size {self.size}")
        return result
