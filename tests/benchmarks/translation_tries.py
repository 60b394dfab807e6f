"""The stored tries of chapter 6: the preset "spa-eng-8", shortened, with one thing changed in each.

cd tests && python -m benchmarks.translation_tries costs
cd tests && python -m benchmarks.translation_tries train base muon few --seed 0

costs: what a step of a variant costs, as a multiple of the preset's; all take turns, in processor time.
train: the variants of these names, each with as many steps as the preset's own take time for; scored on the
validation sentences, so that a choice among them leaves the test sentences alone.
Everything runs on one thread, in bf16. Results go into course_lib/widgets/translation_tries.json, in place of
those with the same name and seed. The set spa-eng is needed.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from benchmarks import report
from course_lib.bleu import held_out_scores
from course_lib.commands import train, train_settings, train_translation
from course_lib.datasets import Pair, TranslationData
from course_lib.masks import real_tokens
from course_lib.tokens import PAD, Tokens
from course_lib.training import FLUSH_EVERY, Run
from course_lib.translation import TranslationBatches, TranslationObjective, translate
from course_lib.widgets.translation_runs import held_out_loss
from course_lib.widgets.translation_tries import FEW, FEW_STEPS, STEPS, STORED, VARIANTS, Variant

PRESET, WARMUP, AVERAGE = "spa-eng-8", 0.1, 0.99  # warm-up: share of the steps
TURN, TURNS = 5, 8  # steps; of each variant, when costs are measured


class RDrop(TranslationObjective):
    """Cross-entropy of two passes with dropout, and how far apart the two predictions are.

    weight: of the distance, the mean of the Kullback-Leibler divergences both ways.
    Source: Wu et al. 2021, equation (4).
    """

    def __init__(self, model: torch.nn.Module, label_smoothing: float, weight: float):
        super().__init__(model, label_smoothing)
        self.weight = weight

    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
        real = real_tokens(target[:, 1:], PAD)  # the padding among them comes last
        labels = target[:, 1:].flatten()[real]
        count = (labels != PAD).sum()
        source, target = source.repeat(2, 1), target.repeat(2, 1)
        halves = self.model.decode(target[:, :-1], self.model.encode(source)).chunk(2)
        logits = self.model.unembed(torch.stack([half.flatten(0, 1)[real] for half in halves]))
        smoothing = {"label_smoothing": self.label_smoothing, "ignore_index": PAD}
        loss = F.cross_entropy(logits.flatten(0, 1), labels.repeat(2), reduction="sum", **smoothing)
        return loss + self.weight * distance(*logits[:, :count]), 2 * count


def distance(a: Float[Tensor, "tokens vocab"], b: Float[Tensor, "tokens vocab"]) -> Float[Tensor, ""]:
    """The mean of KL(a‖b) and KL(b‖a) of the predictions with these logits, summed over the tokens."""
    log_p, log_q = a.log_softmax(-1), b.log_softmax(-1)
    return ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum() / 2


class Redivided(TranslationBatches):
    """Pairs whose words are divided anew in each epoch: a merge is left out with this probability.

    The tokenizers library draws without a seed, so that such a training cannot be repeated exactly.
    Source: Provilkov et al. 2020, section 3 (BPE-dropout).
    """

    def __init__(self, pairs: Sequence[Pair], tokens: Tokens, dropout: float, **settings: int):
        super().__init__(pairs, tokens, **settings)
        self.pairs, self.tokens, self.dropout, self.settings = pairs, tokens, dropout, settings

    def epoch(self, number: int) -> list[list[int]]:
        model = self.tokens.tokenizer.model
        model.dropout = self.dropout
        anew = TranslationBatches(self.pairs, self.tokens, **self.settings)
        model.dropout = None
        self.ids, self.lengths = anew.ids, anew.lengths
        return super().epoch(number)


def prepared(
    name: str, seed: int, steps: int, pairs: int | None = None
) -> tuple[TranslationData, Tokens, Run]:
    """The data, the vocabulary and the beginning of a training of this variant."""
    variant = VARIANTS[name]
    data, tokens, objective, batches, config = train_translation.prepare(settled(variant, seed))
    if variant.r_drop:
        objective = RDrop(objective.model, objective.label_smoothing, variant.r_drop)
    some = data.train[: pairs or (FEW if variant.few else None)]
    settings = {"batch": batches.batch, "max_tokens": objective.model.config.max_tokens, "seed": seed}
    if variant.bpe_dropout:
        batches = Redivided(some, tokens, variant.bpe_dropout, **settings)
    elif len(some) < len(data.train):
        batches = TranslationBatches(some, tokens, **settings)
    plan = {"steps": steps, "warmup": round(WARMUP * steps), "schedule": variant.schedule}
    config = replace(config, **plan, average=AVERAGE, checkpoint_every=0)
    return data, tokens, Run(objective, batches, config, None, "cpu")


def settled(variant: Variant, seed: int) -> argparse.Namespace:
    """The arguments of `train translation --preset spa-eng-8` with the flags of a variant."""
    parser = argparse.ArgumentParser()
    train.add_arguments(parser)
    flags = [text for flag, value in variant.flags.items() for text in (f"--{flag}", str(value))]
    args = parser.parse_args(
        ["translation", "--preset", PRESET, "--precision", "bf16", "--seed", str(seed), *flags]
    )
    train_settings.settle(args)
    return args


def learn(name: str, seed: int) -> dict[str, Any]:
    """Train one variant for its share of steps; score it, with its own weights and with their average."""
    variant, cost = VARIANTS[name], known_cost(VARIANTS[name].works_like)
    steps = round((FEW_STEPS if variant.few else STEPS) / cost)
    data, tokens, run = prepared(name, seed, steps)
    begin = time.process_time()
    for numbers in run.remaining():
        run.take_step(numbers)
        if run.due(FLUSH_EVERY):
            run.flush()
    seconds = round(time.process_time() - begin, 1)
    about = {"name": name, "seed": seed, "pairs": len(run.batches.ids), "steps": run.step}
    about |= {"batch": run.batches.batch, "cost": cost, "seconds": seconds}
    run.model.eval()
    found = scores(run.model, tokens, data)
    run.exchange_average()
    return {**about, **found, "averaged": scores(run.model, tokens, data)["bleu"]}


def scores(model: torch.nn.Module, tokens: Tokens, data: TranslationData) -> dict[str, float]:
    """The loss, BLEU and chrF on the validation sentences."""
    sources, references = map(list, zip(*data.validation, strict=True))
    found = held_out_scores(translate(model, tokens, sources, precision="fp32"), references)
    loss = held_out_loss(model, tokens, data.validation)
    return {"loss": loss, "bleu": round(found.bleu, 2), "chrf": round(found.chrf, 2)}


def measure_costs() -> list[dict[str, Any]]:
    """The work of a step of each kind, by turns on the same pairs, as a multiple of the base's."""
    names = list(dict.fromkeys(variant.works_like for variant in VARIANTS.values()))
    steps = TURN * TURNS
    runs = {name: prepared(name, 0, steps + 1, steps * 64)[2] for name in names}  # one epoch and a step each
    for run in runs.values():
        run.take_step(range(4))  # the first one is dearer, and not counted
    going = {name: run.remaining() for name, run in runs.items()}
    seconds = dict.fromkeys(names, 0.0)
    for _ in range(TURNS):
        for name in names:
            begin = time.process_time()
            for _ in range(TURN):
                runs[name].take_step(next(going[name]))
            runs[name].flush()
            seconds[name] += time.process_time() - begin
        names = [*names[1:], names[0]]  # the first one meets shapes for which no code is ready yet
    return [{"name": name, "cost": round(own / seconds["base"], 3)} for name, own in seconds.items()]


def known_cost(name: str) -> float:
    """The stored cost of a variant's step. Raises ValueError where there is none yet."""
    known = {"base": 1.0} | {one["name"]: one["cost"] for one in read()["runs"].get("costs", [])}
    if name not in known:
        raise ValueError(f"what a step of {name!r} costs is not known yet: call with `costs` first")
    return known[name]


def add(part: str, runs: list[dict[str, Any]]) -> None:
    """Store some runs, in place of those with the same name and seed."""
    content = read()
    new = {(run["name"], run.get("seed")) for run in runs}
    others = [run for run in content["runs"].get(part, []) if (run["name"], run.get("seed")) not in new]
    content["runs"][part] = [*others, *runs]
    report.write_runs(STORED, content)
    print(*(json.dumps(run) for run in runs), sep="\n", flush=True)


def read() -> dict[str, Any]:
    return report.read_runs(STORED, "benchmarks.translation_tries")


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
