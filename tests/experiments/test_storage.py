"""The files of stored results: written by one function, and named by the module that makes them."""

import importlib.util
import json

import pytest

from course_lib.experiments import storage
from course_lib.utils.files import PACKAGE

OWN_FORMATS = ("real_words", "translation_quality")  # they have tests of their own
FILES = [
    path
    for path in sorted((PACKAGE / "experiments" / "results").glob("*.json"))
    if path.stem not in OWN_FORMATS
]
NAMES = [path.stem for path in FILES]


@pytest.mark.parametrize("stored", FILES, ids=NAMES)
def test_stored_runs_are_as_written(stored, tmp_path):
    """Byte for byte: nobody has edited them by hand."""
    storage.write_runs(tmp_path / "again.json", json.loads(stored.read_text(encoding="utf-8")))
    assert (tmp_path / "again.json").read_bytes() == stored.read_bytes()


@pytest.mark.parametrize("stored", FILES, ids=NAMES)
def test_the_command_names_a_module_that_stores_there(stored):
    python, flag, module = json.loads(stored.read_text(encoding="utf-8"))["command"].split()[:3]
    spec = importlib.util.find_spec(module)
    assert (python, flag) == ("python", "-m") and spec.name.startswith(
        f"course_lib.experiments.{stored.stem}"
    )


def test_a_new_file_begins_with_command_machine_and_settings(tmp_path):
    content = storage.read_runs(tmp_path / "new.json", "course_lib.experiments.norms", every=25)
    assert list(content) == ["command", "machine", "every", "runs"] and content["runs"] == {}
    storage.write_runs(tmp_path / "new.json", content | {"runs": {"grid": [{"seed": 1}, {"seed": 2}]}})
    again = storage.read_runs(tmp_path / "new.json", "another.module", every=50)
    assert again == content | {"runs": {"grid": [{"seed": 1}, {"seed": 2}]}}


def test_runs_are_made_until_the_time_is_up(monkeypatch):
    now = iter([1.0, 2.0, 3.0])
    monkeypatch.setattr(storage.time, "monotonic", lambda: next(now))
    assert list(storage.until(3.0, iter("abcd"), "some part")) == ["a", "b"]
