"""Repairs of the notes' einsum listing, and a check for each of its bugs.

The listing is not stored twice. To check one repaired line, we substitute it into the otherwise repaired
system and run that: each bug is checked independently of the others, and any equivalent line is accepted.
"""

import inspect
import re
import textwrap
import zlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.lectures import einsum_transformer
from course_lib.lectures.einsum_bugs import BUGS, BY_NAME

SOURCE = torch.tensor([[2, 5, 3, 6, 4], [4, 1, 3, 0, 0], [0, 0, 0, 0, 0]])  # the third is all padding
TARGET = torch.tensor([[1, 7, 3, 5], [1, 4, 8, 2], [1, 6, 2, 8]])
SIZES = {"src_vocab_size": 7, "trg_vocab_size": 9, "src_pad_idx": 0, "embed_size": 6, "num_layers": 2}
SIZES |= {"forward_expansion": 4, "heads": 2, "max_length": 8}


def listing(lines: Mapping[str, str]) -> str:
    """Source of the repaired system, with these lines in place of the correct ones."""
    source = inspect.getsource(einsum_transformer)
    for where in dict.fromkeys(bug.where for bug in BUGS):
        source = source.replace(_source(where), _source(where, lines))
    return source


def as_printed(where: str) -> str:
    """Source of a class as printed, with all its bugs.

    Raises ValueError for a class without bugs.
    """
    if where not in {bug.where for bug in BUGS}:
        raise ValueError(f"{where!r} has no bugs")
    return _source(where, {bug.name: bug.says for bug in BUGS})


@lru_cache(maxsize=256)
def outcome(bug: str, line: str) -> Tensor | None:
    """Output of the repaired system with this line substituted: logits, or a mean for LayerNorm.

    Weights and sentences are fixed. Errors raised by the line propagate.
    """
    room: dict[str, Any] = {"__name__": "repaired"}
    exec(compile(listing({bug: line}), "<repaired>", "exec"), room)
    if BY_NAME[bug].where == "layer_norm_mean":
        return room["layer_norm_mean"](_numbers("x", (2, 3, 4))).expand(2, 3, 4)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        model = room["Transformer"](**SIZES).eval()
        set_weights(model)
        return model(SOURCE, TARGET)


def set_weights(model: nn.Module) -> None:
    """Set each parameter to random values that depend only on its name and shape."""
    for name, parameter in model.named_parameters():
        parameter.copy_(_numbers(name, tuple(parameter.shape)))


def _numbers(name: str, shape: Iterable[int]) -> Tensor:
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    return torch.randn(*shape, generator=generator)


def _source(where: str, lines: Mapping[str, str] = MappingProxyType({})) -> str:
    """Source of one class, with these lines in place of the correct ones."""
    source = inspect.getsource(getattr(einsum_transformer, where))
    for bug in BUGS:
        if bug.where == where and bug.name in lines:
            source = _replace(source, bug.right, lines[bug.name])
    return source


def _replace(source: str, right: str, line: str) -> str:
    """Source with `line` (one or more lines) in place of the line `right`, which must be unique."""
    found = list(re.finditer(rf"^( *){re.escape(right)}\n", source, re.MULTILINE))
    if len(found) != 1:
        raise ValueError(f"{right!r} occurs {len(found)} times instead of once")
    new = textwrap.indent(textwrap.dedent(line).strip(), found[0][1])
    return source[: found[0].start()] + (new + "\n" if new else "") + source[found[0].end() :]
