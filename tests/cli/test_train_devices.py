"""`train` on each device, from the command line to a saved model that is read on the CPU."""

import re
from dataclasses import replace

import pytest

from course_lib import __main__ as command_line
from course_lib import datasets
from course_lib.cli import arguments
from course_lib.datasets import TextData
from course_lib.utils import device as devices

LINES = "the cat sat on the mat.\nthe dog sat on the log.\n"
TEXT = TextData(name="grammar", train=LINES * 12, validation=LINES, test=LINES)
SMALL = "--d-model 16 --heads 2 --layers 1 --warmup 2 --steps 3 --optimizer muon --precision fp32".split()
KINDS = {"gpt": ["--context", "16", "--batch", "4"], "vision": ["--batch", "16", "--augment", "crop+mixup"]}


@pytest.mark.parametrize("kind", KINDS)
def test_it_trains_evaluates_and_saves(kind, device, tmp_path, monkeypatch, capsys):
    digits = datasets.load_images("digits")
    parts = {"train": digits.train[:40], "validation": digits.validation[:20], "test": digits.test[:20]}
    few = replace(digits, **parts)
    monkeypatch.setattr(datasets, "load_images", lambda name: few)
    monkeypatch.setattr(datasets, "load_text", lambda name: TEXT)
    monkeypatch.setattr(arguments, "device", str)  # the second device is none that a user may choose
    monkeypatch.setattr(devices, "NAME", re.compile(".*"))
    monkeypatch.setattr(devices, "devices_here", lambda: ["cpu", device])
    flags = [*KINDS[kind], *SMALL, "--device", device, "--out", str(tmp_path)]
    assert command_line.main(["train", kind, *flags]) == 0, capsys.readouterr()
    assert "3 steps in" in capsys.readouterr().out and (tmp_path / "model").is_dir()
