"""Trees of tensors and plain values as folders: safetensors and JSON with checksums, written atomically."""

import hashlib
import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from course_lib.utils.files import atomic_path

FILES = ("tensors.safetensors", "values.json")
SUMS = "SHA256SUMS"  # in the format of the command sha256sum


class Damaged(ValueError):
    """A file that is not as it was written."""


def save_tree(folder: Path, tree: Any) -> None:
    """Write nested lists and dictionaries of tensors and plain values; all keys must be strings.

    Raises OSError if the disk is full or not writable; a folder that is there already stays as it is.
    """
    tensors: dict[str, Tensor] = {}

    def move(tensor: Tensor) -> dict[str, str]:
        """Move a tensor out of the JSON, and refer to it by its number."""
        tensors[str(len(tensors))] = tensor.contiguous()
        return {"tensor": str(len(tensors) - 1)}

    values = json.dumps(tree, default=move)
    with atomic_path(folder) as room:
        room.mkdir()
        try:
            save_file(tensors, room / FILES[0])
        except SafetensorError as error:  # it has its own errors
            raise OSError(str(error)) from error
        (room / FILES[1]).write_text(values, encoding="utf-8")
        (room / SUMS).write_bytes(file_sums(room))


def load_tree(folder: Path) -> Any:
    """Read a folder by `save_tree`. Raises Damaged or FileNotFoundError if a file is damaged or missing."""
    if (folder / SUMS).read_bytes() != file_sums(folder):
        raise Damaged(f"{folder} is damaged: the checksums of its files are not those in {SUMS}")
    tensors = load_file(folder / FILES[0])
    return json.loads(
        (folder / FILES[1]).read_text(encoding="utf-8"),
        object_hook=lambda part: tensors[part["tensor"]] if part.keys() == {"tensor"} else part,
    )


def file_sums(folder: Path) -> bytes:
    """The checksum and the name of each file, a line for each."""
    lines = (f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in FILES)
    return "".join(lines).encode()
