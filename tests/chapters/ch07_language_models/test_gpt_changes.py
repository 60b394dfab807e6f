"""nanoGPT rebuilt, and the stored runs that compare with it."""

import math
from argparse import Namespace

import pytest
import torch
from helpers.norms import norms

from course_lib.benchmarks.language import in_nanogpt_form
from course_lib.chapters.ch07_language_models import gpt_changes as stored_runs
from course_lib.experiments import storage
from course_lib.experiments.nanogpt import NanoGPT, Setting, Training
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.pretrained.gpt2 import SINCE_GPT2
from course_lib.text.tokenizers import CharTokenizer

SMALL = Setting(vocab=11, layers=2, heads=2, width=12, context=9, batch=3, steps=40, warmup=4)


def copied() -> tuple[GPT, NanoGPT]:
    """Our model in the form of the rebuild, and the rebuild, with the same weights."""
    torch.manual_seed(0)
    theirs = NanoGPT(SMALL)
    ours = in_nanogpt_form(GPT(GPTConfig(vocab=11, d_model=12, heads=2, layers=2, max_tokens=9)))
    with torch.no_grad():
        for p in theirs.parameters():
            p += 0.2 * torch.randn_like(p)
        ours.embedding.weight.copy_(theirs.tokens.weight)
        ours.positions.table.copy_(theirs.places.weight)
        ours.norm.weight.copy_(theirs.norm.weight)
        for mine, his in zip(ours.blocks, theirs.blocks, strict=True):
            for ours_norm, norm in zip(norms(mine), his.norms, strict=True):
                ours_norm.weight.copy_(norm.weight)
            mine.attention.w_q.weight.copy_(his.project.weight[:12])
            mine.attention.w_kv.weight.copy_(his.project.weight[12:])
            mine.attention.w_o.weight.copy_(his.attention_out.weight)
            mine.feed_forward.w_in.weight.copy_(his.hidden.weight)
            mine.feed_forward.w_out.weight.copy_(his.hidden_out.weight)
    return ours, theirs


def test_the_rebuild_computes_what_ours_computes():
    ours, theirs = copied()
    ids = torch.randint(11, (2, 7))
    assert torch.allclose(ours(ids), theirs(ids), atol=1e-4)
    sizes = [sum(p.numel() for p in model.parameters()) for model in (ours, theirs)]
    assert sizes[0] == sizes[1]  # and nothing more


def test_its_published_size():
    theirs = sum(p.numel() for p in NanoGPT(Setting()).parameters())
    assert theirs == 804_096 and theirs - 64 * 128 == 795_904  # 0.80 million, as it counts them
    modern = sum(p.numel() for p in GPT(GPTConfig(vocab=70, **SINCE_GPT2)).parameters())
    assert modern == 802_304 < theirs
    gpt2 = sum(p.numel() for p in GPT(GPTConfig(vocab=70)).parameters())
    assert gpt2 / theirs == pytest.approx(1, abs=0.01)


def test_its_learning_rate():
    training = Training(NanoGPT(Setting()), torch.arange(11).repeat(20))
    rates = []
    for training.number in (0, 99, 100, 1050, 2000):
        rates.append(training.rate())
    assert rates == pytest.approx([1e-3 / 101, 100e-3 / 101, 1e-3, 0.55e-3, 1e-4])


@pytest.mark.slow
def test_it_learns():
    torch.manual_seed(0)
    training = Training(NanoGPT(SMALL), torch.arange(11).repeat(20))
    training.model.setting = Setting(**{**vars(SMALL), "lr": 0.01, "last_lr": 0.01})
    assert sum(training.step() for _ in range(40)) == 40 * 27
    ids = torch.arange(8)[None]
    assert (training.model(ids).argmax(-1) == ids + 1)[0, 2:].all()


def test_their_loss_is_measured_as_ours():
    ours, theirs = copied()
    ids = torch.randint(11, (40,))
    by_ours = stored_runs.mean_loss(ours, ids)
    assert stored_runs.mean_loss(stored_runs.AsOurs(theirs, 5), ids + 5, 9) == pytest.approx(
        by_ours, rel=1e-4
    )


@pytest.fixture
def small_runs(monkeypatch, tmp_path):
    """The runs on a text of a few lines, stored elsewhere."""
    text = "to be or not to be, that is the question.\n" * 60
    tokens = CharTokenizer.train([text])
    ids = torch.tensor(tokens.encode(text))
    monkeypatch.setattr(stored_runs, "material", lambda: (tokens, ids, ids[:200]))
    monkeypatch.setattr(storage, "results_of", lambda module: tmp_path)
    monkeypatch.setattr(stored_runs, "CONTEXT", 16)
    return tokens


@pytest.fixture
def clock(monkeypatch) -> None:
    """A clock that only steps advance: one of nanoGPT's takes 1 s, one of ours 2 s."""
    now = [0.0]

    def advancing(step, seconds: float):
        def timed(*arguments):
            step(*arguments)
            now[0] += seconds

        return timed

    for owner, seconds in ((stored_runs.Training, 1.0), (stored_runs.Ours, 2.0)):
        monkeypatch.setattr(owner, "step", advancing(owner.step, seconds))
    monkeypatch.setattr(stored_runs, "time", Namespace(perf_counter=lambda: now[0]))


@pytest.mark.slow
def test_ours_gets_the_time_that_theirs_takes(small_runs, clock):
    sizes = {"vocab": len(small_runs) - 5, "layers": 1, "width": 32, "context": 16}
    ours = stored_runs.beside(7, 0, Setting(**sizes, steps=25, batch=4))
    (theirs,) = stored_runs.EXPERIMENT.part("nanogpt")
    assert (theirs["steps"], theirs["seconds"]) == (25, 25.0)
    assert (ours["steps"], ours["seconds"]) == (13, 26.0)  # within a step
    assert (theirs["recipe"], ours["recipe"]) == ({"seed": 0}, {"changes": 7, "seed": 0})
    assert theirs["parameters"] < ours["parameters"] == 802_304 - (70 - len(small_runs)) * 128


def test_stored_runs_are_whole():
    runs = stored_runs.EXPERIMENT.stored()
    assert len(runs["beside"]) == 3 and all(math.isfinite(run["loss"]) for run in runs["beside"])
    for theirs, ours in zip(runs["nanogpt"], runs["beside"], strict=True):
        assert theirs["recipe"]["seed"] == ours["recipe"]["seed"]
        assert ours["loss"] <= 1.60 < theirs["loss"] and ours["parameters"] <= theirs["parameters"]
        assert ours["seconds"] / theirs["seconds"] < 1.02
