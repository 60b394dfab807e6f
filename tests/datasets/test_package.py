"""The package: importing it is cheap, and patching one of its names reaches the functions that import it."""

import subprocess
import sys

from course_lib import datasets


def loaded_by(code: str) -> set[str]:
    """The modules of course_lib.datasets that a new process has loaded after running some code."""
    code += "\nimport sys; print(*(name for name in sys.modules if name.startswith('course_lib.datasets.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.removeprefix("course_lib.datasets.") for name in done.stdout.split()}


def test_importing_the_package_loads_none_of_its_modules():
    assert loaded_by("import course_lib.datasets") == set()


def test_label_checks_load_nothing_else():
    assert loaded_by("from course_lib.datasets import check_labels, check_number") == {"labels"}


def test_classification_tasks_load_no_loader():
    loaded = loaded_by("import course_lib.tasks.image_classification, course_lib.tasks.text_classification")
    assert loaded == {"batching", "image_data", "labels"}


def test_a_patched_name_is_what_functions_import(monkeypatch):
    monkeypatch.setattr(datasets, "load_text", patched := object())
    from course_lib.datasets import load_text

    assert load_text is patched
    monkeypatch.undo()
    from course_lib.datasets import load_text

    assert load_text is datasets.texts.load_text
