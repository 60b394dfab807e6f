"""Freed memory that the process keeps for its next tensors."""

import ctypes
import sys

# options of malloc.h: above how much unused memory the top is cut, how much is kept beyond a request, and how
# many blocks are mapped one by one
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4
SETTINGS = {M_MMAP_MAX: 0, M_TRIM_THRESHOLD: 2**31 - 1, M_TOP_PAD: 2**28}


def keep_freed_memory() -> bool:
    """Ask the C library to keep large freed blocks; says whether it agreed.

    Otherwise it hands them back to the system, and the next training step waits while the same pages are
    fetched and zeroed again. Only Linux with glibc is asked: other allocators keep them, or cannot be told.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    return mallopt is not None and all(mallopt(option, value) for option, value in SETTINGS.items())
