"""The tries of chapter 6: what is changed does what it says, and the runs are kept and read."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from helpers.tiny_translation import DATA, PAIRS, SMALL

from course_lib.chapters.ch06_translation import equal_cost
from course_lib.chapters.ch06_translation import translation_tries as tries
from course_lib.experiments import storage
from course_lib.experiments.recipes import presets
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.tasks.translation import TranslationBatches, TranslationDataset, TranslationLoss
from course_lib.text.tokenizers import Tokenizer


def small_model(dropout: float = 0.0) -> Seq2Seq:
    torch.manual_seed(0)
    sizes = {"vocab": 31, "d_model": 16, "heads": 2, "d_ff": 24, "dropout": dropout}
    return Seq2Seq(Seq2SeqConfig(**sizes, encoder_layers=1, decoder_layers=1))


IDS = torch.tensor([[7, 8, 2, 0], [9, 10, 11, 2]]), torch.tensor([[1, 12, 2, 0, 0], [1, 13, 14, 15, 2]])


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """A few sentences, a small model, and results stored elsewhere."""
    variants = {
        "base": tries.Variant(about="as in the preset", settings=SMALL),
        "muon": tries.Variant(about="Muon", settings={**SMALL, "optimizer": "muon"}, works_like="muon"),
        "few-bpe-dropout": tries.Variant(about="BPE dropout", settings=SMALL, few=True, bpe_dropout=0.5),
        "few-r-drop": tries.Variant(about="R-Drop", settings={**SMALL, "dropout": 0.1}, few=True, r_drop=5.0),
    }
    monkeypatch.setattr("course_lib.datasets.load_translation", lambda name, max_words: DATA)
    monkeypatch.setattr(storage, "results_of", lambda module: tmp_path)
    monkeypatch.setattr(tries, "VARIANTS", variants)
    for name, value in {"STEPS": 6, "FEW_STEPS": 4, "FEW": 10}.items():
        monkeypatch.setattr(tries, name, value)
    for name, value in {"STEPS": 2, "TURN": 1, "TURNS": 2}.items():
        monkeypatch.setattr(equal_cost, name, value)


def test_the_distance_is_the_mean_of_both_divergences():
    a, b = torch.randn(2, 5, 7, generator=torch.Generator().manual_seed(0))
    one, other = (
        F.kl_div(q.log_softmax(-1), p.softmax(-1), reduction="sum") for p, q in ((a, b), (b, a))
    )  # fmt: skip
    assert tries.distance(a, b).item() == pytest.approx((one + other).item() / 2, rel=1e-5)
    assert tries.distance(a, a) == 0


def test_r_drop_without_dropout_is_the_loss_twice():
    plain, count = TranslationLoss(small_model())(*IDS)
    loss, twice = tries.RDrop(small_model(), 0.1, weight=5.0)(*IDS)
    assert loss.item() == pytest.approx(2 * plain.item(), rel=1e-5) and twice == 2 * count == 12


def test_r_drop_adds_what_two_passes_differ_by():
    losses = []
    for weight in (0.0, 1.0, 3.0):
        objective = tries.RDrop(small_model(dropout=0.3), 0.1, weight).train()
        torch.manual_seed(1)
        losses.append(objective(*IDS)[0].item())
    assert losses[1] > losses[0]
    assert losses[2] - losses[0] == pytest.approx(3 * (losses[1] - losses[0]), rel=1e-3)


def test_words_are_divided_anew_in_each_epoch_and_say_the_same():
    tokens = Tokenizer.train((text for pair in PAIRS for text in pair), 90)
    plain = TranslationBatches(PAIRS, tokens, batch=4)
    dataset = TranslationDataset(PAIRS, tokens)
    sampler = tries.RedividingSampler(dataset, dropout=0.5, batch=4)
    assert dataset.ids == plain.dataset.ids
    found = []
    for number in (0, 1):
        assert sorted(i for batch in sampler.batches(number) for i in batch) == list(range(len(PAIRS)))
        found.append(dataset.ids)
    assert found[0] != found[1] and sum(map(len, sampler.lengths)) == 2 * len(PAIRS)
    for ids in found:
        said = [(tokens.decode(source), tokens.decode(target)) for source, target in ids]
        assert said == PAIRS
        assert sum(len(source) for source, _ in ids) > sum(len(source) for source, _ in plain.dataset)
    assert (
        tokens.tokenizer.model.dropout is None and TranslationDataset(PAIRS, tokens).ids == plain.dataset.ids
    )


def test_tries_are_made_kept_and_read_back(tiny):
    assert tries.stored() == []
    with pytest.raises(ValueError, match="run the part `costs` first"):
        tries.EXPERIMENT.run("tries")
    tries.EXPERIMENT.run("costs")
    costs = tries.EXPERIMENT.part("costs")
    assert [one["name"] for one in costs] == ["base", "muon"]
    assert costs[0]["cost"] == 1 and costs[1]["cost"] > 0
    tries.EXPERIMENT.add("costs", {"name": "base", "cost": 1.0}, {"name": "muon", "cost": 1.5})
    tries.EXPERIMENT.run("tries")
    runs = tries.stored()
    assert [run.name for run in runs] == list(tries.VARIANTS)
    assert [run.steps for run in runs] == [6, 4, 4, 4]  # 6 / 1.5 for Muon
    assert [run.pairs for run in runs] == [18, 18, 10, 10]
    assert runs[0].about == "as in the preset"
    assert [run.few for run in runs] == [False, False, True, True]
    assert replace(runs[1], seed=2).about == "Muon, seed 2"
    assert all(math.isfinite(run.loss) and run.seconds >= 0 for run in runs)  # rounded to a tenth


def test_the_base_is_the_preset():
    args, preset = tries.settled(tries.VARIANTS["base"], seed=3), presets("translation")[tries.PRESET]
    assert args.seed == 3 and {key: getattr(args, key) for key in preset} == preset
    changed = vars(tries.settled(tries.VARIANTS["muon"], seed=3))
    same = {key for key, value in vars(args).items() if changed[key] == value}
    assert set(changed) - same == {"optimizer", "lr"}


def test_stored_tries_are_whole():
    costs = {one["name"]: one["cost"] for one in tries.EXPERIMENT.part("costs")}
    for run in tries.stored():
        variant = tries.VARIANTS[run.name]
        assert run.cost == costs[variant.works_like]
        assert run.steps == round((tries.FEW_STEPS if variant.few else tries.STEPS) / run.cost)
        assert 0 < run.bleu < run.chrf < 100 and math.isfinite(run.loss)
