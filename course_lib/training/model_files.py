"""Model files: weights in safetensors, checked against the model that they are for."""

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from course_lib.training.run_record import OtherRun
from course_lib.utils.files import atomic_path


class BrokenCheckpoint(ValueError):
    """A checkpoint or a model file that is missing, damaged, or invalid."""


def save_model(model: nn.Module, path: Path) -> None:
    """Write the weights as safetensors."""
    with atomic_path(path) as room:
        save_file({name: t.contiguous() for name, t in model.state_dict().items()}, room)


def load_model(model: nn.Module, path: Path) -> None:
    """Load weights by `save_model`; they may be stored in half precision.

    Raises BrokenCheckpoint if the file is damaged, and OtherRun if names, shapes or dtypes differ.
    """
    model.load_state_dict(read_weights(path, model.state_dict(), any_float=True))


def read_weights(path: Path, like: dict[str, Tensor], any_float: bool = False) -> dict[str, Tensor]:
    """Read the tensors in a file, and check that they have the names, shapes and dtypes of `like`.

    any_float: treat all floating-point dtypes as equal.
    Raises BrokenCheckpoint if the file is damaged, and OtherRun for other names, shapes or dtypes.
    """
    try:
        found = load_file(path)
    except SafetensorError as error:
        raise BrokenCheckpoint(f"{path} is not a whole safetensors file: {error}") from error
    for name in sorted(found.keys() | like.keys()):
        there, here = (form(part.get(name), any_float) for part in (found, like))
        if there != here:
            raise OtherRun(f"{path} is of another model: {name} is {there} there and {here} here")
    return found


def form(tensor: Tensor | None, any_float: bool = False) -> str:
    """Shape and dtype as text."""
    if tensor is None:
        return "absent"
    dtype = "float" if any_float and tensor.is_floating_point() else str(tensor.dtype).removeprefix("torch.")
    return f"{tuple(tensor.shape)} {dtype}"
