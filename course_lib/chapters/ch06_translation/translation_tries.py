"""One translator trained many ways, with one thing changed in each, all at equal cost (chapter 6).

    python -m course_lib.experiments translation_tries costs
    python -m course_lib.experiments translation_tries tries base muon few

costs: the cost of a training step of each variant, as a multiple of the preset's; all take turns, in
processor time.
tries: the named variants, or all, each for as many steps as cost the same as the preset's; scored on the
validation sentences, so that choosing among them leaves the test sentences untouched.
Everything runs on one thread, in bf16, and needs the data set spa-eng. --again makes runs again that are
already stored in results/translation_tries.json; `stored()` reads them.
"""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.chapters.ch06_translation import equal_cost
from course_lib.datasets import TranslationData
from course_lib.datasets.batching import Batches, BucketBatchSampler
from course_lib.experiments.recipes import prepare_translation, recipe
from course_lib.experiments.runner import Experiment
from course_lib.tasks.translation import TranslationDataset, TranslationLoss, collate_pairs
from course_lib.text.tokenizers import PAD, Tokenizer
from course_lib.training.trainer import Trainer

STEPS, FEW_STEPS, FEW = 2000, 1500, 10_000  # steps on all pairs, steps on few of them, how many these are


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One way to train the preset PRESET for STEPS steps, or on the first FEW pairs for FEW_STEPS.

    about: what is changed. settings: those that differ from the preset.
    bpe_dropout: probability of skipping a merge of byte-pair encoding.
    r_drop: weight of the divergence between two passes with dropout.
    works_like: the variant whose steps cost as much; the more a step costs, the fewer steps.
    """

    about: str
    settings: dict[str, int | float | str] = field(default_factory=dict)
    few: bool = False
    bpe_dropout: float = 0.0
    r_drop: float = 0.0
    works_like: str = "base"


VARIANTS = {
    "base": Variant(about="as in the preset"),
    "muon": Variant(
        about="Muon, learning rate 0.004", settings={"optimizer": "muon", "lr": 0.004}, works_like="muon"
    ),
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


PRESET, WARMUP, AVERAGE = "spa-eng-8-original", 0.1, 0.99  # warm-up: fraction of the steps


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
    plan = {"steps": steps, "warmup": round(WARMUP * steps), "schedule": "linear"}
    config = replace(config, **plan, average=AVERAGE, checkpoint_every=0)
    return data, tokens, Trainer(objective, batches, config, "cpu")


def settled(variant: Variant, seed: int) -> SimpleNamespace:
    """The settings of the preset "spa-eng-8-original" with a variant's changes."""
    return recipe("translation", preset=PRESET, precision="bf16", seed=seed, **variant.settings)


def make(name: str, seed: int) -> Run:
    """Train one variant for its number of steps; score it with its final weights and with averaged ones."""
    variant, cost = VARIANTS[name], equal_cost.known_cost(EXPERIMENT, VARIANTS[name].works_like)
    steps = round((FEW_STEPS if variant.few else STEPS) / cost)
    data, tokens, run = prepared(name, seed, steps)
    seconds, found = equal_cost.spend(run), equal_cost.scores(run.model, tokens, data)
    run.average.exchange()
    return Run(
        name=name,
        seed=seed,
        pairs=len(run.batches.dataset),
        steps=run.step,
        batch=run.batches.batch_sampler.batch,
        cost=cost,
        seconds=seconds,
        **found,
        averaged=equal_cost.scores(run.model, tokens, data)["bleu"],
    )


def kinds() -> list[dict[str, str]]:
    """The variants whose costs are measured."""
    return [{"name": name} for name in dict.fromkeys(one.works_like for one in VARIANTS.values())]


def measure_costs(**recipe: str) -> list[dict[str, Any]]:
    """The costs of all of them together; all take turns on the same pairs, one epoch and a step each."""
    steps = equal_cost.STEPS
    names = [kind["name"] for kind in kinds()]
    return equal_cost.costs({name: prepared(name, 0, steps + 1, steps * 64)[2] for name in names})


EXPERIMENT = Experiment(
    __file__,
    {"costs": kinds, "tries": lambda: [{"name": name, "seed": 0} for name in VARIANTS]},
    {"costs": measure_costs, "tries": make},
    dict,
    keys=("name", "seed"),
)


def stored() -> list[Run]:
    """The stored runs, ordered as VARIANTS and by seed; there may be none."""
    runs, order = [Run(**run) for run in EXPERIMENT.part("tries")], list(VARIANTS)
    return sorted(runs, key=lambda run: (order.index(run.name), run.seed))


if __name__ == "__main__":
    EXPERIMENT.main(__doc__)
