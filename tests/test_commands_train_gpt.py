"""`train gpt`: from the command line to a saved model, on a text of a few lines."""

import argparse
import re

import pytest

from course_lib import datasets
from course_lib.commands import train, train_settings
from course_lib.datasets import TextData
from course_lib.language_model import continue_text, load_language_model, mean_loss

LINES = "the cat sat on the mat.\nthe dog sat on the log.\n"
TEXT = TextData(name="grammar", train=LINES * 12, validation=LINES, test=LINES[24:])
SMALL = "--context 16 --d-model 16 --heads 2 --layers 1 --batch 4 --warmup 5".split()


@pytest.fixture(autouse=True)
def small_text(monkeypatch):
    def load_text(name):
        return TEXT if name == "grammar" else datasets.texts.load_text(name)

    monkeypatch.setattr(datasets, "load_text", load_text)


def command(*arguments):
    parser = argparse.ArgumentParser()
    train.add_arguments(parser)
    return train.run(
        parser.parse_args(["gpt", "--device", "cpu", "--precision", "fp32", *map(str, arguments)])
    )


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
        found = re.search(rf"{part}, windows .*: loss ([\d.]+), perplexity [\d.]+, [\d.]+ bits", out)
        assert part == "test" or float(found[1]) == pytest.approx(loss, abs=1e-3)
    assert f"form={form!r}" or model.config.positions == {"gpt-2": "learned", "modern": "rotary"}[form]
    prompt = vocabulary.decode(vocabulary.encode(TEXT.validation)[:8])
    assert f"After {prompt!r}:\n{continue_text(model, vocabulary, prompt, 400, top_p=0.95)}" in out


def test_it_learns_and_goes_on_from_a_checkpoint(tmp_path, capsys):
    for _ in range(2):
        assert command(*SMALL, "--steps", 150, "--evaluate-every", 60, "--out", tmp_path) == 0
    out = capsys.readouterr().out
    losses = re.findall(r"validation, windows of 16 side by side: loss ([\d.]+)", out)
    assert losses[0] == losses[1] and float(losses[0]) < 1.5
    kept = re.findall(r"kept: the weights with a loss of ([\d.]+|inf)", out)
    assert kept[0] == kept[1] and float(kept[0]) <= float(losses[0]) + 1e-4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "spa-eng"], "'spa-eng' is a set of sentence pairs"),
        (["--form", "gpt-9"], "form='gpt-9'"),
        (["--tokens", "letters"], "tokens='letters'"),
        (["--preset", "shakespeare"], "no preset 'shakespeare' .*shakespeare-cpu"),
        (["--heads", "3"], "heads=3 does not divide d_model=16|d_head=5 is odd"),
        (["--batch", "500"], "500 windows of 16"),
    ],
)
def test_what_cannot_be_trained_is_said(tmp_path, capsys, arguments, message):
    assert command(*SMALL, "--steps", 3, "--out", tmp_path / "run", *arguments) == 1
    assert re.search(f"Not trained: .*{message}", capsys.readouterr().out)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", train_settings.presets("gpt"))
def test_every_preset_is_complete(name):
    parser = argparse.ArgumentParser()
    train.add_arguments(parser)
    args = parser.parse_args(["gpt", "--preset", name])
    train_settings.settle(args)
    assert all(
        getattr(args, key) is not None for key in train_settings.presets("gpt")["grammar"] if key != "minutes"
    )
    assert (args.steps is None) != (args.minutes is None)
    train_settings.train_config(args)
    args = parser.parse_args(["gpt", "--preset", name, "--minutes", "3"])
    train_settings.settle(args)
    assert args.minutes == 3 and args.steps is None


def test_nanogpt_s_setting():
    preset = train_settings.presets("gpt")["nanogpt-cpu"]
    assert (preset["steps"], preset["batch"], preset["lr"], preset["form"]) == (2000, 12, 0.001, "gpt-2")
