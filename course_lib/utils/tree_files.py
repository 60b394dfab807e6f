"""Trees of tensors and plain values as folders: safetensors and JSON with checksums, written atomically."""

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save, save_file
from torch import Tensor

from course_lib.utils.files import atomic_path

FILES = ("tensors.safetensors", "values.json")
SUMS = "SHA256SUMS"  # in the format of the command sha256sum


class Damaged(ValueError):
    """A file that is not as it was written."""


def save_tensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Write tensors as safetensors; one that has several names (tied weights) is written once.

    The other names are in the file's metadata, as in safetensors' own `save_model`.
    Raises OSError if the disk is full or not writable.
    """
    names = tied(tensors)
    kept = {name: tensor.contiguous() for name, tensor in tensors.items() if name not in names}
    storages = Counter(tensor.untyped_storage().data_ptr() for tensor in kept.values())
    for name, tensor in kept.items():
        if storages[tensor.untyped_storage().data_ptr()] > 1:  # parts of one tensor, which may overlap
            kept[name] = tensor.clone()
    try:
        save_file(kept, path, names)
    except SafetensorError as error:  # it has its own errors
        number = re.search(r"os error (\d+)", str(error))
        raise (OSError(int(number[1]), os.strerror(int(number[1]))) if number else OSError(error)) from error


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Read a safetensors file. Raises SafetensorError if it is damaged."""
    with safe_open(path, "pt") as file:
        found = {name: file.get_tensor(name) for name in file.keys()}
        names = file.metadata() or {}
    return {**{name: found[first] for name, first in names.items() if first in found}, **found}


def tied(tensors: Mapping[str, Tensor]) -> dict[str, str]:
    """The names of tensors that are another one, each with the first name of that one."""
    first: dict[Any, str] = {}
    same = {}
    for name, tensor in tensors.items():
        place = (tensor.device, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())
        if tensor.numel() and first.setdefault(place, name) != name:
            same[name] = first[place]
    return same


def check_savable(what: str, tree: Any) -> None:
    """Raise ValueError for what `save_tree` could not write; for use before long work. Writes nothing."""
    try:
        values, tensors = parts(tree)
        save({name: tensor.detach().reshape(-1)[:1].clone() for name, tensor in tensors.items()})
    except Exception as error:
        raise ValueError(f"{what} cannot be saved: {str(error).splitlines()[0]}") from error


def parts(tree: Any) -> tuple[str, dict[str, Tensor]]:
    """The plain values of a tree as JSON, and its tensors by the numbers with which that refers to them."""
    tensors: dict[str, Tensor] = {}

    def move(part: Any) -> dict[str, str]:
        if not isinstance(part, Tensor):
            raise TypeError(f"{part!r:.60} is neither a tensor nor a plain value")
        tensors[str(len(tensors))] = part
        return {"tensor": str(len(tensors) - 1)}

    return json.dumps(tree, default=move), tensors


def save_tree(folder: Path, tree: Any) -> None:
    """Write nested lists and dictionaries of tensors and plain values; all keys must be strings.

    Raises OSError if the disk is full or not writable; a folder that is there already stays as it is.
    """
    values, tensors = parts(tree)
    with atomic_path(folder) as room:
        room.mkdir()
        save_tensors(tensors, room / FILES[0])
        (room / FILES[1]).write_text(values, encoding="utf-8")
        (room / SUMS).write_bytes(file_sums(room))


def load_tree(folder: Path) -> Any:
    """Read a folder by `save_tree`. Raises Damaged or FileNotFoundError if a file is damaged or missing."""
    if (folder / SUMS).read_bytes() != file_sums(folder):
        raise Damaged(f"{folder} is damaged: the checksums of its files are not those in {SUMS}")
    tensors = load_tensors(folder / FILES[0])

    def put_back(part: dict[str, Any]) -> Any:
        """A tensor where a number refers to one; a weight may have the name "tensor", too."""
        reference = part.keys() == {"tensor"} and isinstance(part["tensor"], str)
        return tensors[part["tensor"]] if reference else part

    return json.loads((folder / FILES[1]).read_text(encoding="utf-8"), object_hook=put_back)


def file_sums(folder: Path) -> bytes:
    """The checksum and the name of each file, a line for each."""
    lines = (f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in FILES)
    return "".join(lines).encode()
