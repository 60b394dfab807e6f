"""Repairs of the notes' einsum listing, and a check for each of its faults.

The listing is not stored a second time. To check one repaired line, it is put into the otherwise repaired
system, and the system is run: so each fault has its own check, whatever the others have come to, and every
spelling that computes the same is right.
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
from course_lib.lectures.einsum_faults import BY_NAME, FAULTS

SOURCE = torch.tensor([[2, 5, 3, 6, 4], [4, 1, 3, 0, 0], [0, 0, 0, 0, 0]])  # the third is nothing but padding
TARGET = torch.tensor([[1, 7, 3, 5], [1, 4, 8, 2], [1, 6, 2, 8]])
SIZES = {"src_vocab_size": 7, "trg_vocab_size": 9, "src_pad_idx": 0, "embed_size": 6, "num_layers": 2}
SIZES |= {"forward_expansion": 4, "heads": 2, "max_length": 8}


class Repair:
    """Some repaired lines, as a function from a fault's name to what comes of its line.

    lines: by the faults' names; `...` stands for a line that has not been tried.
    Raises ValueError for a name that no fault has.
    """

    def __init__(self, lines: Mapping[str, Any]):
        if unknown := set(lines) - set(BY_NAME):
            raise ValueError(f"no fault is called {sorted(unknown)}; there are {', '.join(BY_NAME)}")
        self.lines = dict(lines)

    def __call__(self, fault: str) -> Any:
        line = self.lines.get(fault, ...)
        return line if line is ... else outcome(fault, line)


def listing(lines: Mapping[str, str]) -> str:
    """The source of the repaired system, with other lines in the places of some faults."""
    source = inspect.getsource(einsum_transformer)
    for where in dict.fromkeys(fault.where for fault in FAULTS):
        source = source.replace(_source(where), _source(where, lines))
    return source


def as_printed(where: str) -> str:
    """The source of a class, with all its faults.

    Raises ValueError for one that has none.
    """
    if where not in {fault.where for fault in FAULTS}:
        raise ValueError(f"no fault is in {where!r}")
    return _source(where, {fault.name: fault.says for fault in FAULTS})


@lru_cache(maxsize=256)
def outcome(fault: str, line: str) -> Tensor | None:
    """What the repaired system computes with this line in the fault's place: logits, or a mean for LayerNorm.

    Weights and sentences are always the same. What the line raises is raised here.
    """
    room: dict[str, Any] = {"__name__": "repaired"}
    exec(compile(listing({fault: line}), "<repaired>", "exec"), room)
    if BY_NAME[fault].where == "layer_norm_mean":
        return room["layer_norm_mean"](_numbers("x", (2, 3, 4))).expand(2, 3, 4)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        model = room["Transformer"](**SIZES).eval()
        set_weights(model)
        return model(SOURCE, TARGET)


def set_weights(model: nn.Module) -> None:
    """Give each parameter numbers that depend on its name and shape alone."""
    for name, parameter in model.named_parameters():
        parameter.copy_(_numbers(name, tuple(parameter.shape)))


def _numbers(name: str, shape: Iterable[int]) -> Tensor:
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    return torch.randn(*shape, generator=generator)


def _source(where: str, lines: Mapping[str, str] = MappingProxyType({})) -> str:
    """The source of one class, with other lines in the places of some faults."""
    source = inspect.getsource(getattr(einsum_transformer, where))
    for fault in FAULTS:
        if fault.where == where and fault.name in lines:
            source = _replace(source, fault.right, lines[fault.name])
    return source


def _replace(source: str, right: str, line: str) -> str:
    """The source with `line`, or some lines, in the place of the one line `right`."""
    found = list(re.finditer(rf"^( *){re.escape(right)}\n", source, re.MULTILINE))
    if len(found) != 1:
        raise ValueError(f"{right!r} stands {len(found)} times where it should stand once")
    new = textwrap.indent(textwrap.dedent(line).strip(), found[0][1])
    return source[: found[0].start()] + (new + "\n" if new else "") + source[found[0].end() :]
