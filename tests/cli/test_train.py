"""`train`: flags, presets, and what is said when a training run fails."""

import argparse
import re

import pytest
from helpers.small_training import PAIRS, in_processes

from course_lib import __main__ as command_line
from course_lib import datasets
from course_lib.cli import train
from course_lib.datasets import TranslationData
from course_lib.experiments import recipes
from course_lib.tasks.translation import load_translator, mean_loss, translate


@pytest.fixture(autouse=True)
def small_data(monkeypatch):
    """Whatever set is asked for: the small pairs."""

    def load(name, *, max_words=None):
        halves = {"train": PAIRS, "validation": PAIRS[:3], "test": PAIRS[3:8], "left_out": []}
        return TranslationData(name=name, source="English", target="Spanish", max_words=max_words, **halves)

    monkeypatch.setattr(datasets, "load_translation", load)


def parsed(*arguments):
    parser = argparse.ArgumentParser()
    train.add_arguments(parser)
    args = parser.parse_args(["translation", *map(str, arguments)])
    train.settle(args)
    return args


@pytest.mark.parametrize("order", [1, -1])
def test_given_flags_go_before_the_preset_wherever_they_stand(order):
    flags = [("--preset", "multi30k"), ("--dropout", 0.0), ("--steps", 7), ("--heads", 3), ("--average", 0.5)]
    args = parsed(*(part for flag in flags[::order] for part in flag))
    assert (args.dropout, args.heads, args.layers) == (0.0, 3, 3)
    config = recipes.prepare_translation(args)[-1]
    assert (config.steps, config.minutes, config.average) == (7, None, 0.5)


def run(*arguments):
    return command_line.main(["train", "translation", *map(str, arguments)])


def test_a_whole_training_says_what_came_out(tmp_path, capsys):
    sizes = ("--d-model", 32, "--layers", 1, "--vocab", 80, "--batch", 8, "--warmup", 20)
    how = ("--steps", 150, "--lr", 1e-2, "--average", 0.9, "--optimizer", "muon", "--label-smoothing", 0)
    assert run(*sizes, *how, "--device", "cpu", "--precision", "fp32", "--out", tmp_path) == 0
    said = capsys.readouterr().out
    assert "spa-eng: 42 pairs to train on, 5 held out for testing" in said
    assert re.search(r"150 steps in [\d.]+ minutes, [\d,]+ target tokens per second; last losses 0\.", said)
    assert re.search(r"held-out, greedy: BLEU [\d.]+, chrF [\d.]+ on 5 sentences", said)
    assert re.search(r"held-out, beam of 4: BLEU [\d.]+", said)
    model, tokens = load_translator(tmp_path / "model")
    assert translate(model, tokens, ["one and two."]) == ["uno y dos."]


def test_all_checkpoints_are_kept_and_scored(tmp_path, capsys):
    sizes = ("--d-model", 32, "--layers", 1, "--decoder-layers", 2, "--form", "modern", "--vocab", 80)
    how = ("--batch", 8, "--warmup", 20, "--steps", 60, "--checkpoint-every", 20, "--lr", 4e-3)
    whole = (*sizes, *how, "--device", "cpu", "--precision", "fp32", "--out", tmp_path)
    assert run(*whole, "--keep", "all") == 0
    capsys.readouterr()
    assert run(*whole, "--evaluate", "all") == 0
    said = re.findall(r"step (\d+): loss ([\d.]+), BLEU ([\d.]+), chrF [\d.]+", capsys.readouterr().out)
    assert [int(step) for step, *_ in said] == [20, 40, 60]
    table = [line.split(",") for line in (tmp_path / "scores.csv").read_text().splitlines()]
    assert [row[0] for row in table] == ["step", "20", "40", "60"]
    assert table[0][1:] == ["loss", "bleu", "chrf"]
    assert [f"{float(row[1]):.3f}" for row in table[1:]] == [loss for _, loss, _ in said]
    assert (tmp_path / "scores.png").read_bytes().startswith(b"\x89PNG")
    model, tokens = load_translator(tmp_path / "model")  # the last checkpoint is the finished model
    assert (len(model.encoder), len(model.decoder)) == (1, 2) and model.config.qk_norm
    assert f"{mean_loss(model, tokens, PAIRS[:3]):.3f}" == said[-1][1]

    assert run(*whole, "--evaluate", 40) == 0
    assert capsys.readouterr().out.startswith(f"step 40: loss {said[1][1]}")
    assert run(*whole, "--evaluate", 30) == 1
    assert "no checkpoint of step 30" in capsys.readouterr().err
    assert run(*whole, "--evaluate", "all", "--lr", 5e-3) == 1
    assert "lr=0.004 there and 0.005 here" in capsys.readouterr().err


def test_a_divergence_is_said_with_what_to_try(tmp_path, capsys):
    sizes = ("--d-model", 32, "--layers", 1, "--vocab", 80, "--batch", 8)
    how = ("--steps", 60, "--lr", 1e30, "--warmup", 0, "--precision", "fp32", "--device", "cpu")
    assert run(*sizes, *how, "--out", tmp_path) == 1
    assert re.search(r"train: the \w+ became (nan|inf) at step \d+ .*try a lower lr", capsys.readouterr().err)


def test_two_processes_train_one_model_and_one_of_them_speaks(tmp_path):
    script = tmp_path / "share.py"
    script.write_text(
        "import argparse, sys, torch; torch.set_num_threads(1)\n"
        "from course_lib import datasets; from course_lib.cli import train\n"
        "from helpers.small_training import PAIRS as pairs\n"
        "halves = dict(train=pairs, validation=[], test=pairs[:4], left_out=[])\n"
        "about = dict(name='small', source='English', target='Spanish', max_words=8)\n"
        "datasets.load_translation = lambda name, max_words: datasets.TranslationData(**about, **halves)\n"
        "parser = argparse.ArgumentParser(); train.add_arguments(parser)\n"
        "code = train.run(parser.parse_args(['translation', *sys.argv[1:]]))\n"
        "print('this process ends'); sys.exit(code)\n"
    )
    sizes = ["--d-model", 32, "--layers", 1, "--vocab", 80, "--batch", 8, "--steps", 5]
    printed = in_processes(2, script, *sizes, "--out", tmp_path / "run")
    for said in ("42 pairs to train on", "5 steps in", "held-out, greedy", "The model is in"):
        assert printed.count(said) == 1, printed
    assert printed.count("this process ends") == 2
    assert load_translator(tmp_path / "run" / "model")[0].config.d_model == 32
