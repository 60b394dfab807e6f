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
    def load_text(name):
        return TEXT if name == "grammar" else datasets.texts.load_text(name)

    monkeypatch.setattr(datasets, "load_text", load_text)


def command(*arguments):
    return command_line.main(["train", "gpt", "--device", "cpu", "--precision", "fp32", *map(str, arguments)])


@pytest.mark.slow
@pytest.mark.parametrize("form", ["gpt-2", "modern"])
@pytest.mark.parametrize("tokens", ["characters", "words", "bpe"])
def test_from_text_to_a_saved_model(tmp_path, capsys, form, tokens):
    choice = ("--tokens", tokens, "--vocab", 40, "--form", form, "--optimizer", "adamw")
    sizes = SMALL if tokens == "characters" else [*SMALL, "--context", 8]
    assert command(*sizes, *choice, "--steps", 8, "--out", tmp_path) == 0
    out = capsys.readouterr().out
    assert re.search(r"8 steps in [\d.]+ minutes, [\d,]+ tokens per second; last losses \d", out)
    model, vocabulary = load_language_model(tmp_path / "model")
    loss = mean_loss(model, vocabulary.encode(TEXT.validation))
    for part in ("validation", "test"):
        found = re.search(
            rf"{part}, non-overlapping windows .*: loss ([\d.]+), perplexity [\d.]+, [\d.]+ bits", out
        )
        assert part == "test" or float(found[1]) == pytest.approx(loss, abs=1e-3)
    assert f"form={form!r}" or model.config.positions == {"gpt-2": "learned", "modern": "rotary"}[form]
    prompt = vocabulary.decode(vocabulary.encode(TEXT.validation)[:8])
    assert f"After {prompt!r}:\n{continue_text(model, vocabulary, prompt, 400, top_p=0.95)}" in out


def test_it_learns_and_goes_on_from_a_checkpoint(tmp_path, capsys):
    for _ in range(2):
        assert command(*SMALL, "--steps", 150, "--evaluate-every", 60, "--out", tmp_path) == 0
    out = capsys.readouterr().out
    losses = re.findall(r"validation, non-overlapping windows of 16: loss ([\d.]+)", out)
    assert losses[0] == losses[1] and float(losses[0]) < 1.5
    kept = re.findall(r"kept: the weights with a loss of ([\d.]+|inf)", out)
    assert kept[0] == kept[1] and float(kept[0]) <= float(losses[0]) + 1e-4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "spa-eng"], "'spa-eng' is a set of sentence pairs"),
        (["--heads", "3"], "heads=3 does not divide d_model=16|d_head=5 is odd"),
        (["--batch", "500"], "500 windows of 16"),
    ],
)
def test_what_cannot_be_trained_is_said(tmp_path, capsys, arguments, message):
    assert command(*SMALL, "--steps", 3, "--out", tmp_path / "run", *arguments) == 1
    assert re.search(f"^train: .*{message}", capsys.readouterr().err, re.MULTILINE)
    assert not (tmp_path / "run").exists()


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


def test_a_finished_run_shows_its_stored_result(tmp_path, capsys):
    for _ in range(2):
        assert command(*SMALL, "--steps", 3, "--out", tmp_path) == 0
    trained, shown = capsys.readouterr().out.split("finished on ")
    assert re.match(rf"\d{{4}}-\d\d-\d\d .* in {re.escape(str(tmp_path))}; stored result:\n", shown)
    result = shown.split("stored result:\n")[1].strip()
    assert result.startswith("3 steps in") and result in trained


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


def test_starting_over_keeps_the_old_run(tmp_path, capsys):
    assert command(*SMALL, "--steps", 3, "--out", tmp_path) == 0
    assert command(*SMALL, "--steps", 4, "--out", tmp_path, "--fresh") == 0
    assert f"The earlier run is now in {tmp_path / 'old-1'}." in capsys.readouterr().out
    assert load_language_model(tmp_path / "old-1" / "model") and load_language_model(tmp_path / "model")
