"""Training speed of each system, in target tokens per second without padding."""

from collections.abc import Iterator

import torch
from torch import nn

from course_lib.benchmarks import d2l_rival, workload
from course_lib.benchmarks.rivals import PaddedLoss, TorchTransformer
from course_lib.benchmarks.timing import Comparison, Plan, Trainer, measure
from course_lib.benchmarks.workload import SIZES, TINY, Batch, Sizes
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.tasks.translation import TranslationLoss
from course_lib.training.precision import choose_precision

UNIT = "target positions/s"
OURS, TORCH, TORCH_LIGHT, D2L = "ours", "nn.Transformer", "nn.Transformer, our dropout", "d2l"
LABEL_SMOOTHING = 0.1


def sizes_of(plan: Plan) -> Sizes:
    return TINY if plan.tiny else SIZES


def config(sizes: Sizes, dropout: float) -> Seq2SeqConfig:
    """The Seq2SeqConfig with these sizes."""
    return Seq2SeqConfig(
        vocab=sizes.vocab,
        d_model=sizes.d_model,
        heads=sizes.heads,
        d_ff=sizes.d_ff,
        encoder_layers=sizes.layers,
        decoder_layers=sizes.layers,
        max_tokens=sizes.max_tokens,
        dropout=dropout,
    )


def ours(sizes: Sizes, dropout: float) -> nn.Module:
    torch.manual_seed(0)
    return TranslationLoss(Seq2Seq(config(sizes, dropout)), LABEL_SMOOTHING)


def measures(sizes: Sizes) -> tuple[int, ...]:
    """The sizes, in the order in which the other systems take them."""
    return (sizes.vocab, sizes.d_model, sizes.heads, sizes.d_ff, sizes.layers, sizes.max_tokens)


def systems(sizes: Sizes, dropout: float) -> dict[str, nn.Module]:
    """Every system with its loss; d2l if it is installed."""
    found = {
        OURS: ours(sizes, dropout),
        TORCH: PaddedLoss(TorchTransformer(*measures(sizes), dropout), LABEL_SMOOTHING),
    }
    if dropout:
        light = TorchTransformer(*measures(sizes), dropout, inner_dropout=False)
        found[TORCH_LIGHT] = PaddedLoss(light, LABEL_SMOOTHING)
    if not d2l_rival.absent():
        model = d2l_rival.D2LTransformer(*measures(sizes), dropout)
        found[D2L] = PaddedLoss(model, LABEL_SMOOTHING)
    return found


def training(plan: Plan) -> Iterator[Comparison]:
    """Ours against `nn.Transformer` and d2l, with the same sizes, batches, loss, optimizer and precision."""
    sizes = sizes_of(plan)
    pairs = workload.sentences(sizes.batch * 32, sizes.vocab)
    for dropout, bucketed in ((0.1, False), (0.0, False), (0.1, True)):
        batches = workload.batches(pairs, sizes.batch, plan.device, bucketed)
        order = "batches of similar length" if bucketed else "batches as they come"
        found = systems(sizes, dropout)
        rivals = tuple(name for name in found if name != OURS)
        comparison = Comparison(
            "training", f"dropout {dropout}, {order}, fp32", UNIT, OURS, None if bucketed else 1.2, rivals
        )
        comparison.notes = [f"padding is {padding(batches):.0%} of the target positions", *without_d2l()]
        turns = {name: Trainer(objective, batches, plan).turn for name, objective in found.items()}
        yield measure(comparison, turns, plan.lasting(0.7 if bucketed else 1.0))


def padding(batches: list[Batch]) -> float:
    """The fraction of target positions that are padding."""
    positions = sum(target[:, 1:].numel() for _, target in batches)
    return 1 - sum(map(workload.real_positions, batches)) / positions


def without_d2l() -> list[str]:
    return [f"d2l is left out: {d2l_rival.absent()}"] if d2l_rival.absent() else []


def precision(plan: Plan) -> Iterator[Comparison]:
    """Our model in bf16 against fp32."""
    if not plan.tiny and choose_precision("auto", torch.device(plan.device)) != "bf16":
        return
    sizes = sizes_of(plan)
    pairs = workload.sentences(sizes.batch * 32, sizes.vocab)
    batches = workload.batches(pairs, sizes.batch, plan.device)
    turns = {name: Trainer(ours(sizes, 0.1), batches, plan, name).turn for name in ("bf16", "fp32")}
    comparison = Comparison(
        "precision", "training our model, dropout 0.1, batches as they come", UNIT, "bf16"
    )
    yield measure(comparison, turns, plan.lasting(0.5))


def bucketing(plan: Plan) -> Iterator[Comparison]:
    """Our model with length bucketing and without it, on the same sentences."""
    sizes = sizes_of(plan)
    pairs = workload.sentences(sizes.batch * (2 if plan.tiny else 16), sizes.vocab)
    turns = {}
    for name in ("similar length", "as they come"):
        batches = workload.batches(pairs, sizes.batch, plan.device, bucketed=name == "similar length")
        turns[name] = Trainer(ours(sizes, 0.1), batches, plan, whole=True).turn
    comparison = Comparison("bucketing", "our model, dropout 0.1, fp32", UNIT, "similar length")
    yield measure(comparison, turns, plan.few(0.8))
