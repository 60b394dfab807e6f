"""What makes a translator better for its training time: chapter 7's changes, one at a time and together.

    python -m course_lib.experiments.translation_recipe costs
    python -m course_lib.experiments.translation_recipe train original modern --seed 0

costs: the cost of a training step of each variant, as a multiple of the original's; the variants take turns,
in processor time.
train: the named variants, or all, each for as many steps as cost the same as `--steps` of the original's;
scored with greedy decoding on the validation sentences, so that choosing among them leaves the test sentences
untouched.
Everything runs on one thread, in bf16, and needs the data set spa-eng. A run replaces the stored one with the
same name, seed and number of steps in results/translation_recipe.json; `stored()` reads them.
"""

import argparse
import time
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.datasets import TranslationData
from course_lib.experiments import storage
from course_lib.experiments.recipes import prepare_translation, recipe
from course_lib.experiments.translation_tries import scores, seconds_in_turns
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.pretrained.gpt2 import SINCE_GPT2
from course_lib.tasks.translation import TranslationLoss
from course_lib.text.tokenizers import Tokenizer
from course_lib.training.trainer import FLUSH_EVERY, Trainer

RESULTS = Path(__file__).parent / "results" / "translation_recipe.json"
PRESET, STEPS, WARMUP = "spa-eng-8-original", 1000, 300  # steps of the original; of the warm-up, at most
KEY = ("name", "seed", "steps")  # identifies a stored run
TURN, TURNS = 5, 8  # to measure costs: steps per turn, and turns of each variant
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


@cache
def stored() -> list[Run]:
    """The stored runs, in the order of VARIANTS and by steps and seed."""
    order = list(VARIANTS)
    runs = [Run(**run) for run in read()["runs"].get("tries", [])]
    return sorted(runs, key=lambda run: (order.index(run.name), run.steps, run.seed))


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


def train(name: str, seed: int, steps: int) -> dict[str, Any]:
    """Train one variant for as many steps as cost the same as `steps` of the original, and score it."""
    cost = known_cost(name)
    data, tokenizer, run = prepare(name, seed, round(steps / cost))
    begin = time.process_time()
    for batch in run.remaining():
        run.training_step(batch)
        if run.due(FLUSH_EVERY):
            run.flush()
    seconds = round(time.process_time() - begin, 1)
    parameters = sum(p.numel() for p in run.model.parameters())
    about = {"name": name, "seed": seed, "steps": run.step, "cost": cost, "parameters": parameters}
    return {**about, "seconds": seconds, **scores(run.model.eval(), tokenizer, data)}


def measure_costs(names: Iterable[str]) -> list[dict[str, Any]]:
    """The cost of a step of each of these variants, as a multiple of the original's."""
    steps = TURN * TURNS + 1
    names = list(dict.fromkeys(["original", *names]))
    runs = {name: prepare(name, 0, steps)[2] for name in names}
    remaining = {name: run.remaining() for name, run in runs.items()}
    for name, run in runs.items():
        run.training_step(deepcopy(next(remaining[name])))  # the first step is slower, and not counted
    seconds = seconds_in_turns(runs, remaining, TURN, TURNS)
    return [{"name": name, "cost": round(own / seconds["original"], 3)} for name, own in seconds.items()]


def known_cost(name: str) -> float:
    """The stored cost of a variant's step. Raises ValueError if there is none yet."""
    known = {one["name"]: one["cost"] for one in read()["runs"].get("costs", [])}
    if name not in known:
        raise ValueError(f"the cost of a step of {name!r} is not known yet: run the command `costs` first")
    return known[name]


def add(part: str, rows: Iterable[dict[str, Any]]) -> None:
    """Store some rows, replacing those with the same name, seed and number of steps."""
    storage.add_runs(RESULTS, read(), part, rows, *KEY)


def read() -> dict[str, Any]:
    return storage.read_runs(RESULTS, "course_lib.experiments.translation_recipe")


def main() -> None:
    """Measure the costs, or train the named variants, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("part", choices=["costs", "train"])
    parser.add_argument("names", nargs="*", help=", ".join(VARIANTS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=STEPS, help="of the original")
    arguments = parser.parse_args()
    names = arguments.names or list(VARIANTS)
    torch.set_num_threads(1)
    if arguments.part == "costs":
        add("costs", measure_costs(names))
    else:
        for name in names:
            add("tries", [train(name, arguments.seed, arguments.steps)])


if __name__ == "__main__":
    main()
