"""Memory allocation: keep freed memory for the next tensors."""

import ctypes
import sys

# options in malloc.h: how much unused memory at the top of the heap is returned to the system, how much is
# requested in advance, and how many blocks are mapped separately
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4
SETTINGS = {M_MMAP_MAX: 0, M_TRIM_THRESHOLD: 2**31 - 1, M_TOP_PAD: 2**28}


def keep_freed_memory() -> bool:
    """Tell the C library to keep large freed blocks; returns whether it accepted.

    Otherwise it returns them to the system, and every training step waits until the same pages are mapped
    and zeroed again. For Linux with glibc only: other allocators keep freed blocks, or have no such option.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    return mallopt is not None and all(mallopt(option, value) for option, value in SETTINGS.items())
