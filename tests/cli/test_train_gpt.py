"""`train gpt`: from the command line to a saved model, on a text of a few lines."""

import argparse
import re

import pytest

from course_lib import __main__ as command_line
from course_lib import datasets
from course_lib.cli import train
from course_lib.datasets import TextData
from course_lib.experiments import recipes
from course_lib.tasks.language_modeling import continue_text, load_language_model, mean_loss

LINES = "the cat sat on the mat.\nthe dog sat on the log.\n"
TEXT = TextData(name="grammar", train=LINES * 12, validation=LINES, test=LINES[24:])
SMALL = "--context 16 --d-model 16 --heads 2 --layers 1 --batch 4 --warmup 5".split()


@pytest.fixture(autouse=True)
def small_text(monkeypatch):
    monkeypatch.setattr(datasets, "load_text", lambda name: TEXT)


def command(*arguments):
    return command_line.main(["train", "gpt", "--device", "cpu", "--precision", "fp32", *map(str, arguments)])


@pytest.mark.slow
@pytest.mark.parametrize(("tokens", "form"), [("characters", "gpt-2"), ("words", "modern"), ("bpe", "gpt-2")])
def test_from_text_to_a_saved_model(tmp_path, capsys, form, tokens):
    choice = ("--tokens", tokens, "--vocab", 40, "--form", form, "--optimizer", "adamw")
    sizes = SMALL if tokens == "characters" else [*SMALL, "--context", 8]
    assert command(*sizes, *choice, "--steps", 8, "--out", tmp_path) == 0
    out = capsys.readouterr().out
    assert re.search(r"8 steps in [\d.]+ minutes, [\d,]+ tokens per second; last losses \d", out)
    model, vocabulary = load_language_model(tmp_path / "model")
    loss = mean_loss(model, vocabulary.encode(TEXT.validation))
    scores = r"(\w+), non-overlapping windows .*: loss ([\d.]+), perplexity [\d.]+, [\d.]+ bits"
    found = dict(re.findall(scores, out))
    assert found.keys() == {"validation", "test"}
    assert float(found["validation"]) == pytest.approx(loss, abs=1e-3)
    assert model.config.positions == {"gpt-2": "learned", "modern": "rotary"}[form]
    prompt = vocabulary.decode(vocabulary.encode(TEXT.validation)[:8])
    assert f"After {prompt!r}:\n{continue_text(model, vocabulary, prompt, 400, top_p=0.95)}" in out


def test_it_learns_and_once_finished_shows_its_stored_result(tmp_path, capsys):
    for _ in range(2):
        assert command(*SMALL, "--steps", 150, "--evaluate-every", 60, "--out", tmp_path) == 0
    trained, shown = capsys.readouterr().out.split("finished on ")
    assert re.match(rf"\d{{4}}-\d\d-\d\d .* in {re.escape(str(tmp_path))}; stored result:\n", shown)
    result = shown.split("stored result:\n")[1].strip()
    assert result.startswith("150 steps in") and result in trained
    loss = float(re.search(r"validation, non-overlapping windows of 16: loss ([\d.]+)", result)[1])
    kept = float(re.search(r"kept: the weights with a loss of ([\d.]+)", result)[1])
    assert kept <= loss + 1e-4 and loss < 1.5


def test_nanogpt_s_setting():
    preset = recipes.presets("gpt")["nanogpt-cpu"]
    assert (preset["steps"], preset["batch"], preset["lr"], preset["form"]) == (2000, 12, 0.001, "gpt-2")


DIFFERENT = {
    "--batch": (8, "batch=4 there and 8 here"),
    "--heads": (1, "heads=2 there and 1 here"),
    "--dropout": (0.5, "dropout=0.0 there and 0.5 here"),
    "--context": (8, "max_tokens=16 there and 8 here"),
    "--layers": (2, "layers=1 there and 2 here"),
    "--lr": (0.5, "lr=0.01 there and 0.5 here"),
    "--steps": (4, "steps=3 there and 4 here"),
    "--seed": (1, "seed=0 there and 1 here"),
    "--average": (0.9, "average=0.0 there and 0.9 here"),
    "--schedule": ("cosine", "schedule='linear' there and 'cosine' here"),
    "--tokens": ("words", "tokens='characters' there and 'words' here"),
    "--form": ("gpt-2", "positions='rotary' there and 'learned' here"),
    "--optimizer": ("adamw", "optimizer='muon' there and 'adamw' here"),
    "--evaluate-every": (2, "evaluate_every=0 there and 2 here"),
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run of three steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "load_text", lambda name: TEXT)
        out = tmp_path_factory.mktemp("finished")
        assert command(*SMALL, "--steps", 3, "--out", out) == 0
    return out


@pytest.mark.parametrize("flag", DIFFERENT)
def test_a_changed_flag_is_refused_by_name_and_gets_a_folder_of_its_own(finished, capsys, flag):
    value, message = DIFFERENT[flag]
    before = {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()}
    assert command(*SMALL, "--steps", 3, "--out", finished, flag, value) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"train: {finished} holds a run with other settings: ") and message in said
    assert said.count("\n") == 1 and "--fresh" in said
    assert {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()} == before
    assert folder_of("--steps", 3) != folder_of("--steps", 3, flag, value)


def test_other_texts_are_refused_also_under_the_same_name(finished, capsys, monkeypatch):
    other = TextData(name="grammar", train=LINES * 13, validation=LINES, test=LINES)
    monkeypatch.setattr(datasets, "load_text", lambda name: other)
    assert command(*SMALL, "--steps", 3, "--out", finished) == 1
    assert re.search(r"other settings: texts='\w{16}' there and '\w{16}' here\.", capsys.readouterr().err)


def folder_of(*arguments):
    parser = argparse.ArgumentParser()
    train.add_arguments(parser)
    args = parser.parse_args(["gpt", *map(str, arguments)])
    train.settle(args)
    return train.folder(args)


def test_a_default_folder_is_named_by_what_differs_from_the_preset():
    name = folder_of("--data", "timemachine", "--batch", 16, "--heads", 8).name
    assert re.fullmatch(r"gpt-timemachine-batch16-heads8-[0-9a-f]{6}", name)
    assert re.fullmatch(r"gpt-nanogpt-cpu-[0-9a-f]{6}", folder_of("--preset", "nanogpt-cpu").name)
    assert folder_of("--device", "cpu", "--checkpoint-every", 7) == folder_of()
    assert re.fullmatch(r"gpt-grammar-[0-9a-f]{6}", folder_of().name)
    assert re.fullmatch(r"gpt-grammar-steps5-[0-9a-f]{6}", folder_of("--steps", 5).name)
