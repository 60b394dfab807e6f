"""Results of a student's functions as JSON: plain values only, so that reading them runs no code.

A pickle from a student's process could run anything in ours; JSON and safetensors cannot.
"""

import base64
import builtins
import json
import numbers
import os
import re
from typing import Any

from safetensors import SafetensorError
from safetensors import torch as safetensors
from torch import Tensor

from course_lib.exercises.checking import Attempt
from course_lib.exercises.comparing import CallResult

LONGEST = 300  # characters of an error's message
CELL = re.compile(r'(?:File )?"?<ipython-input-[^>]*>"?,? ?')
LARGEST = 2**63  # integers beyond it are not answers


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
    try:
        here = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
        data = safetensors.save({"": here})
    except (KeyError, RuntimeError, ValueError, SafetensorError):  # sparse, or of a rare type
        return {"foreign": f"{tensor.layout} {tensor.dtype}"}
    message = {"tensor": base64.b64encode(data).decode()}
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
    try:
        (found,) = safetensors.load(base64.b64decode(message["tensor"], validate=True)).values()
        return found.requires_grad_(message.get("gradient", False))  # some exercises ask for one
    except (AssertionError, KeyError, OverflowError, RuntimeError, TypeError, ValueError, SafetensorError):
        raise Malformed("not one tensor") from None
