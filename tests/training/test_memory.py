"""Freed memory is kept: the same tensor made again costs no new pages."""

import ctypes
import subprocess
import sys

import pytest

from course_lib.training import memory

FAULTS = """
import resource, torch
from course_lib.training.memory import keep_freed_memory
{first}
for _ in range(20):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(10_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(first: str) -> int:
    """Pages fetched for the last of twenty tensors of 40 MB, in a process of its own."""
    out = subprocess.run(
        [sys.executable, "-c", FAULTS.format(first=first)], capture_output=True, text=True, check=True
    )
    return int(out.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only glibc is asked")
def test_a_tensor_made_again_costs_no_new_pages():
    if not hasattr(ctypes.CDLL(None), "mallopt"):
        pytest.skip("the C library has no mallopt")
    pages = 10_000_000 * 4 // 4096
    assert faults("") > pages / 2  # the default: a third of training's time went there
    assert faults("assert keep_freed_memory()") < pages / 20


def test_elsewhere_nothing_is_asked(monkeypatch):
    monkeypatch.setattr(memory.sys, "platform", "darwin")
    assert memory.keep_freed_memory() is False


def test_a_c_library_without_mallopt_is_left_alone(monkeypatch):
    monkeypatch.setattr(memory.sys, "platform", "linux")
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: object())
    assert memory.keep_freed_memory() is False
