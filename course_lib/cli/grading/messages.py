"""Results of a student's functions as JSON: plain values only, so that reading them runs no code.

A pickle from a student's process could run anything in ours; JSON and raw tensors cannot.
"""

import base64
import builtins
import json
import math
import numbers
import os
import re
from typing import Any

import torch
from torch import Tensor

from course_lib.exercises.checking import Attempt
from course_lib.exercises.comparing import CallResult

LONGEST = 300  # characters of an error's message
CELL = re.compile(r'(?:File )?"?<ipython-input-[^>]*>"?,? ?')
LARGEST = 2**63  # integers beyond it are not answers
DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in (
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128,
)}  # fmt: skip


class Malformed(ValueError):
    """A message is not one that the student's process sends by itself."""


class Foreign:
    """Represents a value of a type that no exercise asks for; equal to nothing."""

    __hash__ = None

    def __init__(self, name: str):
        self.__name__ = f"a value of type {name}"

    def __eq__(self, other: object) -> bool:
        return False


def encoded_attempt(made: Attempt) -> dict[str, Any]:
    """An attempt as JSON values."""
    return {"state": made.state, "results": [_encoded_result(one) for one in made.results]}


def _encoded_result(result: CallResult) -> dict[str, Any]:
    if result.error is not None:
        error = result.error
        return {"error": type(error).__name__, "message": plain(str(error)), "changed": result.changed}
    return {"value": encoded(result.value), "changed": result.changed}


def plain(text: str) -> str:
    """The text of an error without the kernel's names for cells and the place where the notebook runs."""
    text = text[: 10 * LONGEST].replace(f"{os.getcwd()}{os.sep}", "")
    return CELL.sub("", text)[:LONGEST]


def encoded(value: Any) -> Any:
    """A value as JSON: numbers, strings and None as they are, all else as a dictionary with one key."""
    if value is None or isinstance(value, bool | str):
        return value
    if value is ...:
        return {"ellipsis": True}
    if isinstance(value, Tensor):
        return _encoded_tensor(value)
    if isinstance(value, tuple):
        return {"tuple": [encoded(one) for one in value]}
    if isinstance(value, list | range):
        return [encoded(one) for one in value]
    if isinstance(value, numbers.Integral):
        return int(value) if abs(int(value)) < LARGEST else {"foreign": "int"}
    return float(value) if isinstance(value, numbers.Real) else {"foreign": type(value).__name__}


def _encoded_tensor(tensor: Tensor) -> dict[str, Any]:
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in DTYPES or tensor.layout != torch.strided:
        return {"foreign": f"{tensor.layout} {tensor.dtype}"}
    flat = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
    data = flat.view(torch.uint8).numpy().tobytes()
    message = {"tensor": dtype, "shape": list(tensor.shape), "bytes": base64.b64encode(data).decode()}
    return message | {"gradient": True} if tensor.requires_grad else message


def parsed(line: bytes) -> dict[str, Any]:
    """A message as a dictionary. Raises Malformed."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON: {type(error).__name__}") from None
    if not isinstance(message, dict):
        raise Malformed("not a dictionary")
    return message


def decoded_attempt(message: Any, inputs: int) -> Attempt:
    """The attempt in a message. Raises Malformed, also for another number of results than of inputs."""
    if not isinstance(message, dict) or message.get("state") not in ("tried", "not tried", "not a function"):
        raise Malformed("no attempt")
    if message["state"] != "tried":
        return Attempt(message["state"])
    results = message.get("results")
    if not isinstance(results, list) or len(results) != inputs:
        raise Malformed(f"an attempt without {inputs} results")
    try:
        return Attempt("tried", tuple(_decoded_result(one) for one in results))
    except RecursionError:
        raise Malformed("too many levels") from None


def _decoded_result(message: Any) -> CallResult:
    if not isinstance(message, dict) or not isinstance(message.get("changed"), bool):
        raise Malformed("no result")
    if "error" in message:
        return CallResult(error=_error(message), changed=message["changed"])
    return CallResult(decoded(message.get("value")), changed=message["changed"])


def _error(message: dict[str, Any]) -> Exception:
    """An exception of the same type, if it is one of Python's own; otherwise of a new type with its name."""
    name, text = str(message["error"]), str(message.get("message", ""))[:LONGEST]
    kind = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            return kind(text)
        except TypeError:  # UnicodeDecodeError takes five arguments
            pass
    return type(name.replace("\0", "")[:LONGEST], (Exception,), {})(text)


def decoded(message: Any) -> Any:
    """The value of `encoded`. Raises Malformed."""
    if message is None or isinstance(message, bool | str | int | float):
        return message
    if isinstance(message, list):
        return [decoded(one) for one in message]
    if isinstance(message, dict):
        if "tensor" in message:
            return _decoded_tensor(message)
        if message.get("ellipsis") is True:
            return ...
        if isinstance(message.get("tuple"), list):
            return tuple(decoded(one) for one in message["tuple"])
        if isinstance(message.get("foreign"), str):
            return Foreign(message["foreign"][:LONGEST])
    raise Malformed("no value")


def _decoded_tensor(message: dict[str, Any]) -> Tensor:
    shape, dtype = message.get("shape"), DTYPES.get(str(message["tensor"]))
    whole = (
        isinstance(shape, list) and len(shape) < 64 and all(type(n) is int and 0 <= n < 2**40 for n in shape)
    )
    try:
        data = bytearray(base64.b64decode(message["bytes"], validate=True))
    except (KeyError, TypeError, ValueError):
        raise Malformed("a tensor without numbers") from None
    if not whole or dtype is None or math.prod(shape) * dtype.itemsize != len(data):
        raise Malformed("a tensor of another size than its shape")
    gradient = message.get("gradient", False)  # some exercises ask for an answer that gradients flow through
    if type(gradient) is not bool or gradient and not (dtype.is_floating_point or dtype.is_complex):
        raise Malformed("a gradient of what has none")
    found = torch.frombuffer(data, dtype=dtype).reshape(shape) if data else torch.empty(shape, dtype=dtype)
    return found.requires_grad_(gradient)
