"""The package: importing it is cheap, and patching one of its names reaches the functions that import it."""

import subprocess
import sys

import pytest

from course_lib import datasets


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import course_lib.datasets", set()),
        ("from course_lib.datasets import check_labels, check_number", {"labels"}),
        (
            "import course_lib.tasks.image_classification, course_lib.tasks.text_classification",
            {"batching", "image_data", "labels"},
        ),
    ],
)
def test_only_the_modules_that_are_needed_are_loaded(code, expected):
    code += "\nimport sys; print(*(name for name in sys.modules if name.startswith('course_lib.datasets.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {name.removeprefix("course_lib.datasets.") for name in done.stdout.split()} == expected


def test_a_patched_name_is_what_functions_import(monkeypatch):
    monkeypatch.setattr(datasets, "load_text", patched := object())
    from course_lib.datasets import load_text

    assert load_text is patched
    monkeypatch.undo()
    from course_lib.datasets import load_text

    assert load_text is datasets.texts.load_text
