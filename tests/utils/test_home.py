"""Settings of Jupyter and matplotlib where the home folder cannot be written."""

import os
from pathlib import Path

import pytest

from course_lib.utils import home


@pytest.mark.parametrize("locked", [".", ".local/share"])
def test_a_home_that_cannot_be_written_is_replaced_for_settings(locked, monkeypatch, tmp_path):
    place = tmp_path / "home"
    (place / ".local" / "share").mkdir(parents=True)
    monkeypatch.setattr(Path, "home", lambda: place)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in home.PLACES:
        monkeypatch.setenv(name, "")  # so that it is restored afterwards
        monkeypatch.delenv(name)
    assert home.spare_home() == "" and not os.environ.get("MPLCONFIGDIR")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != place / locked)
    said = home.spare_home()
    assert said.startswith(f"{place / locked} cannot be written")
    assert all(Path(os.environ[name]).is_dir() for name in home.PLACES)
    assert home.spare_home() == ""  # a kernel of that server keeps them
