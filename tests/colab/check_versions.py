"""Runs in the twin alone (`python -m course_lib colab-test`): it holds the versions it is meant to hold."""

import importlib.metadata
import sys
from importlib.util import find_spec

import ipywidgets
import pytest
import torch
from helpers.colab_packages import twins

from course_lib.cli import colab_test


def test_these_tests_run_in_the_twin():
    assert sys.prefix == str(colab_test.FOLDER)


@pytest.mark.parametrize("name", ["ipywidgets", "ipython", "ipykernel", "numpy", "matplotlib", "traitlets"])
def test_the_version_is_the_pinned_one(name):
    assert importlib.metadata.version(name) == twins()[name]


def test_torch_is_the_chosen_one_in_any_build():
    chosen = (colab_test.FOLDER / "constraints.txt").read_text(encoding="utf-8")
    assert f"torch=={torch.__version__.partition('+')[0]}" in chosen.splitlines()


def test_widgets_are_of_the_old_kind_and_d2l_is_missing():
    assert ipywidgets.version_info[0] == 7 and find_spec("d2l") is None
