"""What makes a translator better for its training time: chapter 7's changes, one at a time and together.

    python -m course_lib.experiments translation_recipe costs
    python -m course_lib.experiments translation_recipe tries original modern --seeds 0

costs: the cost of a training step of each variant, as a multiple of the original's; the variants take
turns, in processor time.
tries: the named variants, or all, each for as many steps as cost the same as 1,000 of the original's;
scored with greedy decoding on the validation sentences, so that choosing among them leaves the test
sentences untouched.
Everything runs on one thread, in bf16, and needs the data set spa-eng. --again makes runs again that are
already stored in results/translation_recipe.json; `stored()` reads them.
"""

from dataclasses import dataclass, field, replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.chapters.ch06_translation import equal_cost
from course_lib.datasets import TranslationData
from course_lib.experiments.recipes import prepare_translation, recipe
from course_lib.experiments.runner import Experiment
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.pretrained.gpt2 import SINCE_GPT2
from course_lib.tasks.translation import TranslationLoss
from course_lib.text.tokenizers import Tokenizer
from course_lib.training.trainer import Trainer

PRESET, STEPS, WARMUP = "spa-eng-8-original", 1000, 300  # steps of the original; of the warm-up, at most
SEEDS = (0, 1)
MUON = {"optimizer": "muon", "lr": 0.01, "weight_decay": 0.1}


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One way to train the preset "spa-eng-8-original".

    about: what is changed. parts: of the model, by their names in SINCE_GPT2. settings: of the recipe.
    untied: the output layer has its own matrix.
    """

    about: str
    parts: tuple[str, ...] = ()
    settings: dict[str, int | float | str] = field(default_factory=dict)
    untied: bool = False


def from_modern(
    about: str, *, without: str = "", untied: bool = False, **settings: int | float | str
) -> Variant:
    """The modern variant with one thing changed."""
    parts = tuple(part for part in SINCE_GPT2 if part != without)
    return Variant(about=about, parts=parts, settings={**MUON, **settings}, untied=untied)


VARIANTS = {
    "original": Variant(about="the original model, AdamW"),
    "rotary": Variant(about="original + rotary positions", parts=("positions",)),
    "qk-norm": Variant(about="original + QK-norm", parts=("qk_norm",)),
    "squared-relu": Variant(about="original + squared ReLU", parts=("activation",)),
    "zero-outputs": Variant(about="original + outputs that start at zero", parts=("zero_outputs",)),
    "muon": Variant(about="original + Muon", settings=MUON),
    "modern": from_modern("all five: the modern model, Muon"),
    "no-qk-norm": from_modern("modern − QK-norm", without="qk_norm"),
    "deep-3-1": from_modern("modern, 3 encoder blocks and 1 decoder block", layers=3, decoder_layers=1),
    "deep-4-1": from_modern("modern, 4 encoder blocks and 1 decoder block", layers=4, decoder_layers=1),
    "one-each": from_modern("modern, 1 encoder block and 1 decoder block", layers=1),
    "wide": from_modern("modern, d_model 256", d_model=256),
    "batch-32": from_modern("modern, batches of 32, learning rate 0.007", batch=32, lr=0.007),
    "batch-128": from_modern("modern, batches of 128, learning rate 0.014", batch=128, lr=0.014),
    "slower": from_modern("modern, learning rate 0.005", lr=0.005),
    "faster": from_modern("modern, learning rate 0.02", lr=0.02),
    "vocab-4000": from_modern("modern, vocabulary of 4,000", vocab=4000),
    "vocab-9000": from_modern("modern, vocabulary of 9,000", vocab=9000),
    "untied": from_modern("modern, untied output layer", untied=True),
    "dropout": from_modern("modern, dropout 0.1", dropout=0.1),
    "smoothing": from_modern("modern, label smoothing 0.05", label_smoothing=0.05),
    "decay": from_modern("modern, weight decay 0.3", weight_decay=0.3),
    "deep-3-2": from_modern("modern, 3 encoder blocks and 2 decoder blocks", layers=3, decoder_layers=2),
}


class UntiedSeq2Seq(Seq2Seq):
    """A `Seq2Seq` whose output layer has its own matrix, which starts as a copy of the embedding."""

    def __init__(self, config: Seq2SeqConfig):
        super().__init__(config)
        self.output_weight = nn.Parameter(self.embedding.weight.detach().clone())

    def output_logits(self, hidden_states: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
        return nn.functional.linear(hidden_states, self.output_weight)


@dataclass(frozen=True, kw_only=True)
class Run:
    """One training run and its scores.

    cost: of a step, as a multiple of the original's. seconds: processor time. loss: in nats per token.
    bleu, chrf: as sacreBLEU computes them. The scores and the loss are those on the validation sentences.
    """

    name: str
    seed: int
    steps: int
    cost: float
    parameters: int
    seconds: float
    loss: float
    bleu: float
    chrf: float


def settings_of(variant: Variant, seed: int) -> SimpleNamespace:
    """The settings of the preset with the variant's changes."""
    return recipe("translation", preset=PRESET, precision="bf16", seed=seed, **variant.settings)


def prepare(name: str, seed: int, steps: int) -> tuple[TranslationData, Tokenizer, Trainer]:
    """The data, the tokenizer, and a Trainer for this variant that has taken no step yet."""
    variant = VARIANTS[name]
    data, tokenizer, loss, batches, config = prepare_translation(settings_of(variant, seed))
    options = {part: SINCE_GPT2[part] for part in variant.parts}
    torch.manual_seed(seed)
    build = UntiedSeq2Seq if variant.untied else Seq2Seq
    loss = TranslationLoss(build(replace(loss.model.config, **options)), loss.label_smoothing)
    plan = {"steps": steps, "warmup": min(WARMUP, steps // 10), "schedule": "linear", "checkpoint_every": 0}
    return data, tokenizer, Trainer(loss, batches, replace(config, **plan), "cpu")


def make(name: str, seed: int) -> Run:
    """Train one variant for as many steps as cost the same as STEPS of the original, and score it."""
    cost = equal_cost.known_cost(EXPERIMENT, name)
    data, tokenizer, run = prepare(name, seed, round(STEPS / cost))
    seconds, parameters = equal_cost.spend(run), sum(p.numel() for p in run.model.parameters())
    about = {"name": name, "seed": seed, "steps": run.step, "cost": cost, "parameters": parameters}
    return Run(**about, seconds=seconds, **equal_cost.scores(run.model, tokenizer, data))


def measure_costs(**recipe: str) -> list[dict[str, Any]]:
    """The costs of a step of all variants together, as multiples of the original's, which is the first."""
    return equal_cost.costs({name: prepare(name, 0, equal_cost.STEPS + 1)[2] for name in VARIANTS})


def planned() -> list[dict[str, Any]]:
    """Every variant with every seed."""
    return [{"name": name, "seed": seed} for seed, name in product(SEEDS, VARIANTS)]


EXPERIMENT = Experiment(
    __file__,
    {"costs": lambda: [{"name": name} for name in VARIANTS], "tries": planned},
    {"costs": measure_costs, "tries": make},
    dict,
    keys=("name", "seed"),
)


def stored() -> list[Run]:
    """The stored runs, in the order of VARIANTS and by steps and seed."""
    runs, order = [Run(**run) for run in EXPERIMENT.part("tries")], list(VARIANTS)
    return sorted(runs, key=lambda run: (order.index(run.name), run.steps, run.seed))


if __name__ == "__main__":
    EXPERIMENT.main(__doc__)
