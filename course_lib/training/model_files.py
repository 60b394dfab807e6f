"""Model files: weights in safetensors, checked against the model that they are for."""

import re
from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError
from torch import Tensor, nn

from course_lib.training.run_record import OtherRun
from course_lib.utils.files import atomic_path
from course_lib.utils.tree_files import Damaged, load_tensors, save_tensors, tied

OLD_NORM = re.compile(r"\.residuals\.(\d)\.norm\.")  # the LayerNorms of a block, in older files


class BrokenCheckpoint(Damaged):
    """A checkpoint or a model file that is missing, damaged, or invalid."""


def save_model(model: nn.Module, path: Path) -> None:
    """Write the weights as safetensors; tied weights are written once.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from torch import nn
    >>> model, other = nn.Linear(2, 2), nn.Linear(2, 2)
    >>> with TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "model.safetensors")
    ...     load_model(other, Path(folder) / "model.safetensors")
    >>> other.weight.equal(model.weight)
    True
    """
    with atomic_path(path) as room:
        save_tensors(model.state_dict(), room)


def load_model(model: nn.Module, path: Path) -> None:
    """Load weights by `save_model`; they may be stored in half precision.

    Raises BrokenCheckpoint if the file is damaged, and OtherRun if names, shapes or dtypes differ.
    """
    try:
        found = load_tensors(path)
    except SafetensorError as error:
        raise BrokenCheckpoint(f"{path} is not a whole safetensors file: {error}") from error
    found = {OLD_NORM.sub(lambda m: f".norm_{int(m[1]) + 1}.", name): t for name, t in found.items()}
    check_weights(path, found, model.state_dict(), any_float=True)
    model.load_state_dict(found)


def check_weights(
    place: Path | str, found: Mapping[str, Tensor], like: Mapping[str, Tensor], any_float: bool = False
) -> None:
    """Raise OtherRun if weights found at `place` have other names, shapes or dtypes than the model's, `like`.

    So it does if two weights that the model ties differ there. any_float: treat all floating-point dtypes as
    equal.
    """
    for name in sorted(found.keys() | like.keys()):
        there, here = (form(part.get(name), any_float) for part in (found, like))
        if there != here:
            raise OtherRun(f"{place} is of another model: {name} is {there} there and {here} here")
    for name, first in tied(like).items():
        if found[name] is not found[first] and not found[name].equal(found[first]):
            raise OtherRun(f"{place} is of another model: {name} is not {first} there and tied to it here")


def fitting(found: Tensor, like: Tensor, scalar: bool = False) -> Tensor:
    """`found` on the device of `like`. Raises ValueError if it has another dtype or shape.

    scalar: it must be a single number.
    """
    if form(found) != form(like.new_empty(()) if scalar else like):
        raise ValueError(f"a tensor is {form(found)}, and its weight is {form(like)}")
    return found.to(like.device)


def form(tensor: Tensor | None, any_float: bool = False) -> str:
    """Shape and dtype as text."""
    if tensor is None:
        return "absent"
    dtype = "float" if any_float and tensor.is_floating_point() else str(tensor.dtype).removeprefix("torch.")
    return f"{tuple(tensor.shape)} {dtype}"
