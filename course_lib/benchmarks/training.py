"""Training speed of translators, in target tokens per second without padding.

The batches are random; their sentence lengths follow those of spa-eng (at most 8 words, 6,000 subwords).
"""

import random
from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor, nn

from course_lib.benchmarks import rivals
from course_lib.benchmarks.timing import Comparison, Plan, measure, trainer
from course_lib.datasets.batching import BucketBatchSampler, pad
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.tasks.translation import TranslationLoss
from course_lib.text.tokenizers import BOS, EOS, PAD

UNIT = "target positions/s"
OURS, TORCH, TORCH_LIGHT, D2L = "ours", "nn.Transformer", "nn.Transformer, our dropout", "d2l"
SIZES = Seq2SeqConfig(vocab=6000, d_model=256, heads=4, d_ff=1024)
TINY = Seq2SeqConfig(vocab=50, d_model=16, heads=2, d_ff=24, max_tokens=64)
# of 10,000 sentences, how many have 2, 3, 4, … subwords (measured on the training split)
SOURCE_LENGTHS = (2, 71, 529, 1213, 1755, 1877, 1715, 1331, 749, 383, 185, 89, 47, 26, 15, 7, 2, 2, 2)
# of 10,000 targets, how many are longer than their source by −4, −3, … subwords
DIFFERENCES = (95, 281, 848, 2020, 2782, 2113, 1112, 476, 181, 92)
FIRST_ID = 5  # after the special tokens

Ids = tuple[list[int], list[int]]
Batch = tuple[Tensor, Tensor]


def sizes_of(plan: Plan, dropout: float = 0.1) -> Seq2SeqConfig:
    return replace(TINY if plan.tiny else SIZES, dropout=dropout)


def batch_of(plan: Plan) -> int:
    """Sentences in a batch."""
    return 4 if plan.tiny else 64


def sentences(number: int, vocab: int, seed: int = 0) -> list[Ids]:
    """Pairs of source ids (… EOS) and target ids (BOS … EOS); the ids follow Zipf's law."""
    rng = random.Random(seed)
    lengths = rng.choices(range(2, 2 + len(SOURCE_LENGTHS)), SOURCE_LENGTHS, k=number)
    differences = rng.choices(range(-4, len(DIFFERENCES) - 4), DIFFERENCES, k=number)
    return [
        ([*zipf(n, vocab, rng), EOS], [BOS, *zipf(max(2, n + more), vocab, rng), EOS])
        for n, more in zip(lengths, differences, strict=True)
    ]


def zipf(number: int, vocab: int, rng: random.Random) -> list[int]:
    """Random ids; the n-th most frequent has a probability of roughly 1/n, up to a factor."""
    kinds = vocab - FIRST_ID
    return [FIRST_ID + min(kinds - 1, int((kinds + 1) ** rng.random()) - 1) for _ in range(number)]


def batches(plan: Plan, number: int, bucketed: bool = False) -> list[Batch]:
    """Padded batches of so many times as many sentence pairs, in order or bucketed by length."""
    size = batch_of(plan)
    pairs = sentences(size * number, sizes_of(plan).vocab)
    rows = [list(range(i, i + size)) for i in range(0, len(pairs), size)]
    if bucketed:
        rows = list(BucketBatchSampler([(len(t), len(s)) for s, t in pairs], size).batches(0))
    return [
        (pad([pairs[i][0] for i in some]).to(plan.device), pad([pairs[i][1] for i in some]).to(plan.device))
        for some in rows
    ]


def ours(config: Seq2SeqConfig) -> nn.Module:
    torch.manual_seed(0)
    return TranslationLoss(Seq2Seq(config), rivals.LABEL_SMOOTHING)


def systems(config: Seq2SeqConfig) -> dict[str, nn.Module]:
    """Every system with its loss; d2l if it is installed."""
    found = {OURS: ours(config), TORCH: rivals.PaddedLoss(rivals.TorchTransformer(config))}
    if config.dropout:
        found[TORCH_LIGHT] = rivals.PaddedLoss(rivals.TorchTransformer(config, inner_dropout=False))
    if not rivals.d2l_absent():
        found[D2L] = rivals.PaddedLoss(rivals.D2LTransformer(config))
    return found


def without_d2l() -> list[str]:
    return [f"d2l is left out: {rivals.d2l_absent()}"] if rivals.d2l_absent() else []


def training(plan: Plan) -> Iterator[Comparison]:
    """Ours against `nn.Transformer` and d2l, with the same sizes, batches, loss, optimizer and precision."""
    for dropout, bucketed in ((0.1, False), (0.0, False), (0.1, True)):
        some = batches(plan, 32, bucketed)
        found = systems(sizes_of(plan, dropout))
        order = "batches of similar length" if bucketed else "batches as they come"
        case, aim = f"dropout {dropout}, {order}, fp32", None if bucketed else 1.2
        comparison = Comparison(
            "training", case, UNIT, OURS, aim, tuple(name for name in found if name != OURS)
        )
        positions = [target[:, 1:] for _, target in some]
        padding = sum((ids == PAD).sum().item() for ids in positions) / sum(map(torch.numel, positions))
        comparison.notes = [f"padding is {padding:.0%} of the target positions", *without_d2l()]
        turns = {name: trainer(objective, some, plan) for name, objective in found.items()}
        yield measure(comparison, turns, plan.lasting(0.7 if bucketed else 1.0))


def bucketing(plan: Plan) -> Iterator[Comparison]:
    """Our model with length bucketing and without it, on the same sentences; a turn takes seconds."""
    turns = {}
    for name in ("similar length", "as they come"):
        some = batches(plan, 2 if plan.tiny else 16, bucketed=name == "similar length")
        turns[name] = trainer(ours(sizes_of(plan)), some, plan, whole=True)
    comparison = Comparison("bucketing", "our model, dropout 0.1, fp32", UNIT, "similar length")
    yield measure(comparison, turns, replace(plan.lasting(0.8), least=min(3, plan.least), warm_up=1))
