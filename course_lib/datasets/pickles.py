"""Pickles of NumPy arrays, read without running anything else that a pickle may name."""

import io
import pickle
from typing import Any

import numpy as np

from course_lib.datasets.archives import BrokenArchive

RECONSTRUCT = np.empty(0).__reduce__()[0]  # what a pickled array calls; its module's name changed in NumPy 2
ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"): RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): RECONSTRUCT,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
}


class ArrayUnpickler(pickle.Unpickler):
    """Knows plain values and arrays; whatever else a pickle names is refused before it is looked for."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise BrokenArchive(f"the pickle asks for {module}.{name}, and only arrays are read")
        return ALLOWED[module, name]


def load_arrays(content: bytes) -> dict[bytes, Any]:
    """The dictionary in a pickle of Python 2, its keys as bytes.

    Raises BrokenArchive where it is damaged, holds something else, or names anything but arrays.
    """
    try:
        found = ArrayUnpickler(io.BytesIO(content), encoding="bytes").load()
    except BrokenArchive:
        raise
    except Exception as error:  # damaged bytes may do anything that the few allowed names can
        raise BrokenArchive(f"the pickle is damaged or cut short ({error!r})") from error
    if not isinstance(found, dict):
        raise BrokenArchive(f"the pickle holds a {type(found).__name__}, and no dictionary")
    return found
