"""One translator trained many ways, with one thing changed in each, all at equal cost (chapter 6).

    python -m course_lib.experiments.translation_tries costs
    python -m course_lib.experiments.translation_tries train base muon few --seed 0

costs: the cost of a training step of each variant, as a multiple of the preset's; all take turns, in
processor time.
train: the named variants, each for as many steps as cost the same as the preset's; scored on the
validation sentences, so that choosing among them leaves the test sentences untouched.
Everything runs on one thread, in bf16, and needs the data set spa-eng. A run replaces the stored one with the
same name and seed in results/translation_tries.json; `stored()` reads them.
"""

import argparse
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.datasets import TranslationData
from course_lib.datasets.batching import Batches, BucketBatchSampler
from course_lib.experiments import storage
from course_lib.experiments.recipes import prepare_translation, recipe
from course_lib.experiments.vocabularies import held_out_loss
from course_lib.tasks.translation import TranslationDataset, TranslationLoss, collate_pairs, translate
from course_lib.text.bleu import held_out_scores
from course_lib.text.tokenizers import PAD, Tokenizer
from course_lib.training.trainer import FLUSH_EVERY, Trainer

STORED = Path(__file__).parent / "results" / "translation_tries.json"
STEPS, FEW_STEPS, FEW = 2000, 1500, 10_000  # steps on all pairs, steps on few of them, how many these are


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One way to train the preset PRESET for STEPS steps, or on the first FEW pairs for FEW_STEPS.

    about: what is changed. settings: those that differ from the preset. schedule: after the warm-up.
    bpe_dropout: probability of skipping a merge of byte-pair encoding.
    r_drop: weight of the divergence between two passes with dropout.
    works_like: the variant whose steps cost as much; the more a step costs, the fewer steps.
    """

    about: str
    settings: dict[str, int | float | str] = field(default_factory=dict)
    few: bool = False
    schedule: str = "linear"
    bpe_dropout: float = 0.0
    r_drop: float = 0.0
    works_like: str = "base"


VARIANTS = {
    "base": Variant(about="as in the preset"),
    "adamw-fast": Variant(about="AdamW, twice the learning rate", settings={"lr": 0.004}),
    "muon": Variant(
        about="Muon, learning rate 0.004", settings={"optimizer": "muon", "lr": 0.004}, works_like="muon"
    ),
    "muon-fast": Variant(
        about="Muon, learning rate 0.008", settings={"optimizer": "muon", "lr": 0.008}, works_like="muon"
    ),
    "unsmoothed": Variant(about="no label smoothing", settings={"label_smoothing": 0.0}),
    "constant": Variant(about="constant learning rate", schedule="constant"),
    "few": Variant(about="as in the preset", few=True),
    "few-dropout": Variant(
        about="dropout 0.1", settings={"dropout": 0.1}, few=True, works_like="few-dropout"
    ),
    "few-bpe-dropout": Variant(
        about="BPE dropout 0.1", bpe_dropout=0.1, few=True, works_like="few-bpe-dropout"
    ),
    "few-r-drop": Variant(
        about="dropout 0.1, R-Drop", settings={"dropout": 0.1}, r_drop=5.0, few=True, works_like="few-r-drop"
    ),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Run:
    """One training run and its results.

    name: of the variant. cost: of a step, as a multiple of the preset's. seconds: processor time.
    bleu, chrf: sacrebleu's on the validation sentences, greedy decoding. loss: on them, in nats per token.
    averaged: BLEU of the same model with its weights averaged over about the last 100 steps.
    """

    name: str
    seed: int
    pairs: int
    steps: int
    batch: int
    cost: float
    seconds: float
    loss: float
    bleu: float
    chrf: float
    averaged: float

    @property
    def about(self) -> str:
        """What is changed, and the seed if it is not 0."""
        return VARIANTS[self.name].about + (f", seed {self.seed}" if self.seed else "")

    @property
    def few(self) -> bool:
        """Whether it was trained on few pairs."""
        return VARIANTS[self.name].few

    @property
    def passes(self) -> float:
        """The number of epochs."""
        return self.steps * self.batch / self.pairs


@cache
def stored() -> list[Run]:
    """The stored runs, ordered as VARIANTS and by seed; there may be none."""
    parts = json.loads(STORED.read_text(encoding="utf-8"))["runs"] if STORED.exists() else {}
    runs = parts.get("tries", [])
    order = list(VARIANTS)
    return sorted((Run(**run) for run in runs), key=lambda run: (order.index(run.name), run.seed))


PRESET, WARMUP, AVERAGE = "spa-eng-8-original", 0.1, 0.99  # warm-up: fraction of the steps
TURN, TURNS = 5, 8  # steps; of each variant, when costs are measured


class RDrop(TranslationLoss):
    """R-Drop: cross-entropy of two passes with dropout, plus the divergence between their predictions.

    weight: of the divergence, the mean of the Kullback-Leibler divergences in both directions.
    Source: Wu et al. 2021, equation (4).
    """

    def __init__(self, model: torch.nn.Module, label_smoothing: float, weight: float):
        super().__init__(model, label_smoothing)
        self.weight = weight

    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
        real = target[:, 1:] != PAD  # (batch, tokens)
        labels = target[:, 1:][real]
        both = self.model(source.repeat(2, 1), target[:, :-1].repeat(2, 1)).chunk(2)
        logits = torch.stack([half[real] for half in both])  # (2, labels, vocab)
        smoothing = self.label_smoothing
        loss = F.cross_entropy(
            logits.flatten(0, 1), labels.repeat(2), reduction="sum", label_smoothing=smoothing
        )
        return loss + self.weight * distance(*logits), 2 * real.sum()


def distance(a: Float[Tensor, "tokens vocab"], b: Float[Tensor, "tokens vocab"]) -> Float[Tensor, ""]:
    """The mean of KL(a‖b) and KL(b‖a) of the predictions with these logits, summed over the tokens."""
    log_p, log_q = a.log_softmax(-1), b.log_softmax(-1)
    return ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum() / 2


class RedividingSampler(BucketBatchSampler):
    """BPE-dropout: pairs that are tokenized again in each epoch, skipping merges with this probability.

    The tokenizers library has no seed for it, so such a training run cannot be repeated exactly.
    Source: Provilkov et al. 2020, section 3 (BPE-dropout).
    """

    def __init__(self, dataset: TranslationDataset, dropout: float, batch: int, seed: int = 0):
        super().__init__(dataset.lengths, batch, seed)
        self.dataset, self.dropout = dataset, dropout

    def batches(self, epoch: int) -> list[list[int]]:
        model = self.dataset.tokenizer.tokenizer.model
        model.dropout = self.dropout
        self.dataset.encode()
        model.dropout = None
        self.lengths = self.dataset.lengths
        return super().batches(epoch)


def prepared(
    name: str, seed: int, steps: int, pairs: int | None = None
) -> tuple[TranslationData, Tokenizer, Trainer]:
    """The data, the tokenizer, and a Trainer for this variant that has taken no step yet."""
    variant = VARIANTS[name]
    data, tokens, objective, batches, config = prepare_translation(settled(variant, seed))
    if variant.r_drop:
        objective = RDrop(objective.model, objective.label_smoothing, variant.r_drop)
    some = data.train[: pairs or (FEW if variant.few else None)]
    if variant.bpe_dropout or len(some) < len(data.train):
        dataset = TranslationDataset(some, tokens, objective.model.config.max_tokens)
        order = batches.batch_sampler.batch, seed
        if variant.bpe_dropout:
            sampler = RedividingSampler(dataset, variant.bpe_dropout, *order)
        else:
            sampler = BucketBatchSampler(dataset.lengths, *order)
        batches = Batches(dataset, sampler, collate_pairs)
    plan = {"steps": steps, "warmup": round(WARMUP * steps), "schedule": variant.schedule}
    config = replace(config, **plan, average=AVERAGE, checkpoint_every=0)
    return data, tokens, Trainer(objective, batches, config, "cpu")


def settled(variant: Variant, seed: int) -> SimpleNamespace:
    """The settings of the preset "spa-eng-8-original" with a variant's changes."""
    return recipe("translation", preset=PRESET, precision="bf16", seed=seed, **variant.settings)


def learn(name: str, seed: int) -> dict[str, Any]:
    """Train one variant for its number of steps; score it with its final weights and with averaged ones."""
    variant, cost = VARIANTS[name], known_cost(VARIANTS[name].works_like)
    steps = round((FEW_STEPS if variant.few else STEPS) / cost)
    data, tokens, run = prepared(name, seed, steps)
    begin = time.process_time()
    for batch in run.remaining():
        run.training_step(batch)
        if run.due(FLUSH_EVERY):
            run.flush()
    seconds = round(time.process_time() - begin, 1)
    about = {"name": name, "seed": seed, "pairs": len(run.batches.dataset), "steps": run.step}
    about |= {"batch": run.batches.batch_sampler.batch, "cost": cost, "seconds": seconds}
    run.model.eval()
    found = scores(run.model, tokens, data)
    run.average.exchange()
    return {**about, **found, "averaged": scores(run.model, tokens, data)["bleu"]}


def scores(model: torch.nn.Module, tokens: Tokenizer, data: TranslationData) -> dict[str, float]:
    """The loss, BLEU and chrF on the validation sentences."""
    sources, references = map(list, zip(*data.validation, strict=True))
    found = held_out_scores(translate(model, tokens, sources, precision="fp32"), references)
    loss = held_out_loss(model, tokens, data.validation)
    return {"loss": loss, "bleu": round(found.bleu, 2), "chrf": round(found.chrf, 2)}


def measure_costs() -> list[dict[str, Any]]:
    """The cost of a step of each kind, as a multiple of the base's; all take turns on the same pairs."""
    names = list(dict.fromkeys(variant.works_like for variant in VARIANTS.values()))
    steps = TURN * TURNS
    runs = {name: prepared(name, 0, steps + 1, steps * 64)[2] for name in names}  # one epoch and a step each
    for run in runs.values():
        run.training_step(run.batches.batch_of(range(4)))  # the first step is slower, and not counted
    batches = {name: run.remaining() for name, run in runs.items()}
    seconds = seconds_in_turns(runs, batches, TURN, TURNS)
    return [{"name": name, "cost": round(own / seconds["base"], 3)} for name, own in seconds.items()]


def seconds_in_turns(
    runs: Mapping[str, Trainer], batches: Mapping[str, Iterator[Any]], turn: int, turns: int
) -> dict[str, float]:
    """Processor time of each run for turn × turns steps, in seconds; the runs take turns of `turn` steps."""
    names, seconds = list(runs), dict.fromkeys(runs, 0.0)
    for _ in range(turns):
        for name in names:
            begin = time.process_time()
            for _ in range(turn):
                runs[name].training_step(next(batches[name]))
            runs[name].flush()
            seconds[name] += time.process_time() - begin
        names = [*names[1:], names[0]]  # the first one meets shapes that no kernel has been prepared for
    return seconds


def known_cost(name: str) -> float:
    """The stored cost of a variant's step. Raises ValueError if there is none yet."""
    known = {"base": 1.0} | {one["name"]: one["cost"] for one in read()["runs"].get("costs", [])}
    if name not in known:
        raise ValueError(f"the cost of a step of {name!r} is not known yet: run the command `costs` first")
    return known[name]


def add(part: str, runs: list[dict[str, Any]]) -> None:
    """Store some runs, replacing those with the same name and seed."""
    storage.add_runs(STORED, read(), part, runs, "name", "seed")


def read() -> dict[str, Any]:
    return storage.read_runs(STORED, "course_lib.experiments.translation_tries")


def main() -> None:
    """Measure the costs, or train the named variants, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("part", choices=["costs", "train"])
    parser.add_argument("names", nargs="*", help=", ".join(VARIANTS))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.part == "costs":
        add("costs", measure_costs())
    else:
        for name in arguments.names or VARIANTS:
            add("tries", [learn(name, arguments.seed)])


if __name__ == "__main__":
    main()
