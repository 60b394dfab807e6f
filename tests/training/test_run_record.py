"""The record of a run: resumed with the same settings, refused with others, never destroyed."""

import json

import pytest
import torch

from course_lib.training import run_record
from course_lib.training.run_record import OtherRun, begin, checksum

SETTINGS = {"data": "a", "heads": 2, "lr": 0.1, "augment": ""}


@pytest.fixture
def run(tmp_path):
    """A run with one checkpoint."""
    begin(tmp_path, SETTINGS)
    (tmp_path / "checkpoints" / "step-000001").mkdir(parents=True)
    return tmp_path


def test_the_same_settings_resume(run):
    started = begin(run, SETTINGS)["started"]
    run_record.finish(run, "loss 1")
    record = begin(run, SETTINGS)
    assert record["started"] == started and record["result"] == "loss 1" and record["finished"] >= started


def test_each_different_setting_is_named_with_both_values(run):
    with pytest.raises(OtherRun, match="heads=2 there and 4 here; lr=0.1 there and 0.2 here$"):
        begin(run, {**SETTINGS, "heads": 4, "lr": 0.2})
    with pytest.raises(OtherRun, match="label_smoothing='absent' there and 0.1 here$"):
        begin(run, {**SETTINGS, "label_smoothing": 0.1})
    with pytest.raises(OtherRun, match="augment='' there and 'absent' here$"):
        begin(run, {key: value for key, value in SETTINGS.items() if key != "augment"})


def test_a_run_that_left_nothing_is_no_obstacle(tmp_path):
    begin(tmp_path, SETTINGS)
    assert begin(tmp_path, {**SETTINGS, "heads": 4})["settings"]["heads"] == 4


def test_starting_over_keeps_the_old_runs_and_other_files(run, capsys):
    (run / "notes.txt").write_text("mine")
    begin(run, {**SETTINGS, "heads": 4}, fresh=True)
    assert "The earlier run is now in" in capsys.readouterr().out
    assert not (run / "checkpoints").exists() and (run / "notes.txt").read_text() == "mine"
    assert run_record.read(run / "old-1")["settings"] == SETTINGS
    assert (run / "old-1" / "checkpoints" / "step-000001").is_dir()
    begin(run, SETTINGS, fresh=True)
    assert run_record.read(run / "old-2")["settings"]["heads"] == 4


def test_a_run_of_an_earlier_version_is_refused(run):
    (run / "run.json").unlink()
    with pytest.raises(OtherRun, match="without run.json, by an earlier version"):
        begin(run, SETTINGS)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", json.dumps({"format": 2, "settings": {}})])
def test_a_record_that_is_none_is_refused_in_one_line(run, content):
    (run / "run.json").write_text(content)
    with pytest.raises(OtherRun, match=r"run.json is (damaged|not a record in format 3)") as caught:
        begin(run, SETTINGS)
    assert "\n" not in str(caught.value)


def test_checksums_tell_data_apart():
    texts, images = ["a", "b"], torch.arange(6).view(2, 3)
    found = {checksum(texts), checksum(["a", "c"]), checksum([images]), checksum([images + 1])}
    assert len(found) == 4 and checksum([images.T.contiguous().T]) == checksum([images])
