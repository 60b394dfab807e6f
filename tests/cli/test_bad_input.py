"""Mistakes on the command line: one clear line each, before anything is started, and never a traceback."""

import argparse
import errno
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import torch
from helpers import bad_input
from helpers.bad_input import LOADED, PARSED, READ_ONLY
from helpers.bare_python import bare
from helpers.small_training import PAIRS

from course_lib import __main__ as command_line
from course_lib import datasets
from course_lib.cli import (
    arguments,
    colab,
    colab_test,
    doctor,
    environment,
    github,
    present,
    slides,
    train,
)
from course_lib.datasets import TextData, TranslationData
from course_lib.experiments import recipes
from course_lib.models import vit
from course_lib.training import diagnostics as divergence
from course_lib.training.config import TrainConfig
from course_lib.utils import files
from course_lib.utils.device import require_device

ROOT = Path(__file__).resolve().parents[2]
TEXT = "the cat sat on the mat.\nthe dog sat on the log.\n"


def title(case) -> str:
    """The words of a case, readable in every report."""
    return shlex.join(case[0]).encode("ascii", "backslashreplace").decode()[:60]


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> dict:
    """The answers to all of PARSED, from a Python without packages."""
    done = bare(bad_input.__file__, str(tmp_path_factory.mktemp("bad")), PYTHONPATH=str(ROOT))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_parser_answers_before_anything_is_installed(answers):
    for case, answer in zip(PARSED, answers["answers"], strict=True):
        assert answer["code"] in (1, 2), answer
        assert answer["out"] == "" and answer["err"].count("\n") == 1 and len(answer["err"]) < 700, answer
        assert bad_input.filled(case[1], answers["places"]) in answer["err"], title(case)


@pytest.fixture
def nothing_starts(tmp_path, monkeypatch) -> Path:
    """Small data, and a failure where something is started; the folder to work in."""

    def started(*command, **more):
        pytest.fail(f"started: {command}")

    text = TextData(name="grammar", train=TEXT * 12, validation=TEXT, test=TEXT)
    of_pairs = {"train": PAIRS, "validation": PAIRS[:3], "test": PAIRS[3:8], "left_out": []}
    about = {"source": "English", "target": "Spanish", "max_words": 8}
    pairs = TranslationData(name="spa-eng", **about, **of_pairs)
    load_text, load_translation = datasets.load_text, datasets.load_translation
    monkeypatch.setattr(datasets, "load_text", lambda name: text if name == "grammar" else load_text(name))
    monkeypatch.setattr(
        datasets,
        "load_translation",
        lambda name, max_words: pairs if name == "spa-eng" else load_translation(name, max_words=max_words),
    )
    monkeypatch.setattr(environment, "ensure", lambda *extras_and_needed: None)
    monkeypatch.setattr(environment, "become", started)
    monkeypatch.setattr(present, "command", started)
    monkeypatch.setattr(colab_test, "set_up", started)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


@pytest.mark.parametrize(("words", "expected"), LOADED, ids=[title(case) for case in LOADED])
def test_a_command_answers_in_one_line_and_writes_nothing(nothing_starts, words, expected):
    if "{read_only}" in " ".join(words) and not os.path.isdir(READ_ONLY):
        pytest.skip(f"this system has no {READ_ONLY}")
    places = bad_input.files(nothing_starts)
    before = sorted(nothing_starts.rglob("*"))
    answer = bad_input.answer([bad_input.filled(word, places) for word in words])
    assert answer["code"] in (1, 2), answer
    assert answer["err"].count("\n") == 1 and len(answer["err"]) < 1000, answer["err"]
    assert bad_input.filled(expected, places) in answer["err"]
    assert sorted(nothing_starts.rglob("*")) == before


def test_what_pytest_lacks_it_says():
    command = [sys.executable, "-m", "course_lib", "test", "--fast", "--nope"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 4 and "--nope" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "problem",
    [
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        ValueError("vocab=3 leaves no room"),
        datasets.DataSetUnavailable("the data set is not on this machine"),
        datasets.BrokenArchive("the archive is damaged"),
        divergence.Diverged("the loss became nan", TrainConfig(steps=1), "fp32"),
        environment.SetUpError("no network"),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_what_went_wrong_is_said_in_one_line(monkeypatch, capsys, problem):
    def fail(args):
        raise problem

    monkeypatch.setattr(doctor, "run", fail)
    assert command_line.main(["doctor"]) == 1
    assert capsys.readouterr() == ("", f"doctor: {getattr(problem, 'strerror', problem)}\n")


def test_the_traceback_of_a_bug_is_shown_and_in_development_mode_every_traceback(monkeypatch):
    monkeypatch.setattr(doctor, "run", lambda args: {}["bug"])
    with pytest.raises(KeyError):
        command_line.main(["doctor"])
    monkeypatch.setattr(doctor, "run", lambda args: int("no number"))
    assert command_line.main(["doctor"]) == 1
    monkeypatch.setattr(sys, "flags", argparse.Namespace(dev_mode=True))
    with pytest.raises(ValueError):
        command_line.main(["doctor"])


def test_a_lack_of_memory_is_no_bug(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "run", lambda args: torch.empty(2**60))
    assert command_line.main(["doctor"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("doctor: not enough memory: lower the batch size") and said.count("\n") == 1


def test_a_clone_that_may_not_be_written_to(tmp_path, monkeypatch, capsys):
    def refuse(prefix, dir):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), f"{dir}/{prefix}")

    (tmp_path / "notebooks").mkdir()
    cells = [nbformat.v4.new_markdown_cell("# T"), nbformat.v4.new_code_cell(colab.setup_cell(None))]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "notebooks" / "01_title.ipynb")
    monkeypatch.setattr(colab, "ROOT", tmp_path)
    monkeypatch.setattr(files.tempfile, "mkdtemp", refuse)
    assert command_line.main(["colab", "--repo", "owner/name"]) == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    assert str(tmp_path / "notebooks") in said.err and os.strerror(errno.EROFS) in said.err


def test_what_is_possible_is_taken(tmp_path):
    assert arguments.integer(1, 5)("5") == 5 and arguments.number(0.0, 1.0)("0") == 0
    assert arguments.positive(2.0)("1e-9") == 1e-9 and arguments.probability("0.999") == 0.999
    assert [arguments.device(one) for one in ("cpu", "cuda", "cuda:1")] == ["cpu", "cuda", "cuda:1"]
    assert github.branch("release/1.0") == "release/1.0" and github.branch("v2.0") == "v2.0"
    new = tmp_path / "a" / "b"
    assert arguments.output_folder(str(new)) == new and arguments.output_file(str(new)) == new
    assert not list(tmp_path.iterdir())


def parsed(*words):
    parser = argparse.ArgumentParser()
    train.add_arguments(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize("kind", train.KINDS)
def test_every_value_of_a_preset_is_possible(kind):
    for preset in recipes.presets(kind).values():
        for key, value in preset.items():
            args = parsed(kind, f"--{key.replace('_', '-')}", str(value))
            assert getattr(args, key) == value


def test_the_names_that_are_possible_are_those_of_the_library():
    assert train.TOKENIZERS == tuple(vit.TOKENIZERS)
    assert train.POSITIONS == tuple(vit.GRIDS)
    assert train.POOLINGS == tuple(vit.POOLINGS)


def test_a_device_is_one_of_this_machine(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    require_device("cuda", "--device")
    require_device("cuda:1", "--device")
    with pytest.raises(ValueError, match="--device='cuda:2': this machine has cpu, cuda:0, cuda:1"):
        require_device("cuda:2", "--device")


def test_odd_notes_and_pictures_in_a_notebook_stop_no_slides():
    page = '<img alt="" width="9" src="data:image/png;base64,iVBO">'
    output = nbformat.v4.new_output("display_data", data={"text/html": page})
    cells = [nbformat.v4.new_code_cell("1", metadata={"slideshow": 5}, outputs=[output])]
    assert "base64,iVBO" in slides.html(nbformat.v4.new_notebook(cells=cells), "odd", {}, slides.Slides())
