"""`train vision`: from the command line to a saved model, on a few of the digits."""

import csv
import re
import shutil
from dataclasses import replace

import pytest
import torch

from course_lib import __main__ as command_line
from course_lib import datasets
from course_lib.datasets import ImageSplit, load_images
from course_lib.tasks.image_classification import accuracy, confusion_matrix, load_classifier, predict

DIGITS = load_images()
FEW = replace(DIGITS, train=DIGITS.train[:96], validation=DIGITS.validation[:20], test=DIGITS.test[:50])
SMALL = "--d-model 16 --heads 2 --layers 1 --batch 32 --warmup 5".split()


@pytest.fixture(autouse=True)
def few_images(monkeypatch):
    monkeypatch.setattr(datasets, "load_images", lambda name: FEW)


def command(*arguments):
    flags = ["vision", "--device", "cpu", "--precision", "fp32", *map(str, arguments)]
    return command_line.main(["train", *flags])


def test_from_images_to_a_saved_model(tmp_path, capsys):
    choice = "--tokenizer convolutions --augment crop+mixup --optimizer adamw --label-smoothing 0.1".split()
    assert command(*SMALL, *choice, "--epochs", 2, "--out", tmp_path) == 0
    out = capsys.readouterr().out
    assert "digits: 96 images to train on, 50 for testing" in out
    assert re.search(r"6 steps in [\d.]+ minutes, [\d,]+ images per second; last losses \d", out)
    assert re.findall(r"after ([\d.]+) epochs: validation accuracy [\d.]+%", out) == ["1.0", "2.0"]
    model, classes = load_classifier(tmp_path / "model")
    assert tuple(classes) == DIGITS.classes and model.config.tokenizer == "convolutions"
    said = float(re.search(r"test accuracy: ([\d.]+)% of 50 images", out)[1])
    assert said == pytest.approx(100 * accuracy(model, FEW.test), abs=0.01)
    of_classes = [float(number) for number in re.findall(r"^  \d +([\d.]+)%", out, re.MULTILINE)]
    counts = FEW.test.labels.bincount(minlength=10)
    assert len(of_classes) == 10
    assert sum(torch.tensor(of_classes) * counts).item() / 50 == pytest.approx(said, abs=0.1)


def test_the_confusion_matrix_is_printed_and_saved(tmp_path, capsys):
    assert command(*SMALL, "--steps", 3, "--out", tmp_path) == 0
    out = capsys.readouterr().out
    with (tmp_path / "confusion.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["true class", *DIGITS.classes] and [row[0] for row in rows] == list(DIGITS.classes)
    model = load_classifier(tmp_path / "model")[0]
    wanted = confusion_matrix(FEW.test.labels, predict(model, FEW.test.pixels).argmax(-1), 10)
    assert [[int(count) for count in row[1:]] for row in rows] == wanted.tolist()
    printed = re.search(r"confusion matrix.*\n.*\n((?: +\d(?: +\d+){10}\n){10})", out)
    assert [line.split()[1:] for line in printed[1].splitlines()] == [row[1:] for row in rows]
    assert command(*SMALL, "--steps", 3, "--evaluate", 3, "--out", tmp_path) == 0
    assert printed[1] in capsys.readouterr().out
    assert command(*SMALL, "--steps", 2, "--fresh", "--out", tmp_path) == 0
    assert (tmp_path / "old-1" / "confusion.csv").exists() and (tmp_path / "confusion.csv").exists()


def test_a_run_that_was_cut_short_ends_like_one_that_was_not(tmp_path, capsys):
    """The augmentations, too, go on where they were."""
    flags = [*SMALL, "--augment", "crop+mixup", "--checkpoint-epochs", 1, "--epochs", 3, "--out", tmp_path]
    assert command(*flags) == 0
    whole = load_classifier(tmp_path / "model")[0]
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == [
        "step-000006",
        "step-000009",
    ]
    shutil.rmtree(tmp_path / "checkpoints" / "step-000009")
    shutil.rmtree(tmp_path / "model")
    assert command(*flags) == 0
    assert "resumed at step 6 of 9" in capsys.readouterr().out
    again = load_classifier(tmp_path / "model")[0]
    for a, b in zip(whole.parameters(), again.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-6)
    assert command(*SMALL, "--steps", 9, "--evaluate", 7, "--out", tmp_path) == 1
    assert "step-000007" in capsys.readouterr().err


def test_images_that_are_not_square_are_refused(monkeypatch, capsys, tmp_path):
    wide = ImageSplit(torch.zeros(40, 1, 8, 12, dtype=torch.uint8), torch.zeros(40, dtype=torch.long))
    data = replace(DIGITS, train=wide, validation=wide, test=wide)
    monkeypatch.setattr(datasets, "load_images", lambda name: data)
    assert command(*SMALL, "--steps", 3, "--out", tmp_path / "run") == 1
    assert "height=8 and width=12: the model reads square ones" in capsys.readouterr().err
