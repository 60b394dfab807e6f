"""Safe reading of CIFAR-10's pickled batches, without unpickling.

Even an unpickler that is restricted to arrays can be made to crash the process. So we build no objects:
`pickletools` lists the operations with their arguments, and the list must be exactly what Python 2 and NumPy
wrote for a dictionary with the list `labels` and the array `data`.
"""

import pickletools
from collections.abc import Iterator
from typing import Any

import numpy as np

from course_lib.datasets.archives import BrokenArchive, refusing_damage

PIXELS = 3 * 32 * 32  # in an image


def read_batch(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """The pixels (images × 3072) and the labels of a batch, both uint8; BrokenArchive for anything else."""
    with refusing_damage("pickle"):
        values = list(arguments(content))
        missing = [key for key in ("labels", "data") if key not in values]
        if missing:
            raise BrokenArchive(f"the pickle has no {missing[0]!r}")
        key = values.index("data")
        labels = bytes(values[values.index("labels") + 1 : key])  # raises if any is not in 0 … 255
        wanted = array_header(len(labels))
        found = values[key + 1 :][: len(wanted)]
        if found != wanted:
            pairs = zip([*found, "nothing"], wanted, strict=False)
            have, want = next(pair for pair in pairs if pair[0] != pair[1])
            raise BrokenArchive(
                f"the pickle's 'data' is not an array of {len(labels)} images: {have!r:.40} is not {want!r}"
            )
        pixels = np.frombuffer(values[key + 1 + len(wanted)].encode("latin-1"), np.uint8)
        return pixels.reshape(len(labels), PIXELS).copy(), np.frombuffer(labels, np.uint8).copy()


def arguments(content: bytes) -> Iterator[Any]:
    """The arguments of a pickle's operations in order, except memo indices."""
    for operation, argument, _ in pickletools.genops(content):
        if operation.name in ("NEWTRUE", "NEWFALSE"):
            yield operation.name == "NEWTRUE"
        elif argument is not None and "PUT" not in operation.name:
            yield argument


def array_header(images: int) -> list[int | str | bool]:
    """The arguments that NumPy writes before the bytes of a uint8 array (images × 3072) in C order."""
    return [
        *("numpy.core.multiarray _reconstruct", "numpy ndarray", 0, "b", 1, images, PIXELS),
        *("numpy dtype", "u1", 0, 1, 3, "|", -1, -1, 0, False),
    ]
