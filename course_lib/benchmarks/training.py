"""Training speed of each system, in target tokens per second without padding."""

import os
from collections.abc import Iterator

import torch
from torch import nn

from course_lib.benchmarks import d2l_rival, workload
from course_lib.benchmarks.rivals import PaddedLoss, TorchTransformer
from course_lib.benchmarks.timing import Comparison, Plan, measure
from course_lib.benchmarks.workload import SIZES, TINY, Batch, Ids, Sizes
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.tasks.translation import TranslationLoss
from course_lib.text.tokenizers import BOS, EOS, Tokenizer
from course_lib.training.precision import autocast, choose_precision

UNIT = "target positions/s"
OURS, TORCH, TORCH_LIGHT, D2L = "ours", "nn.Transformer", "nn.Transformer, our dropout", "d2l"
LABEL_SMOOTHING = 0.1


def sizes_of(plan: Plan) -> Sizes:
    return TINY if plan.tiny else SIZES


def config(sizes: Sizes, dropout: float, vocab: int | None = None) -> Seq2SeqConfig:
    """The Seq2SeqConfig with these sizes."""
    return Seq2SeqConfig(
        vocab=vocab or sizes.vocab,
        d_model=sizes.d_model,
        heads=sizes.heads,
        d_ff=sizes.d_ff,
        encoder_layers=sizes.layers,
        decoder_layers=sizes.layers,
        max_tokens=sizes.max_tokens,
        dropout=dropout,
    )


def ours(sizes: Sizes, dropout: float, vocab: int | None = None) -> nn.Module:
    torch.manual_seed(0)
    return TranslationLoss(Seq2Seq(config(sizes, dropout, vocab)), LABEL_SMOOTHING)


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


class Trainer:
    """Trains one system on given batches; a turn is one batch, or with `whole` all of them."""

    def __init__(
        self,
        objective: nn.Module,
        batches: list[Batch],
        plan: Plan,
        precision: str = "fp32",
        whole: bool = False,
    ):
        self.device, self.precision = torch.device(plan.device), precision
        self.objective = objective.to(self.device).train()
        self.optimizer = torch.optim.AdamW(objective.parameters(), lr=1e-4, betas=(0.9, 0.98), fused=True)
        self.batches = batches
        self.counts = [workload.real_positions(batch) for batch in batches]
        self.whole = whole

    def step(self, batch: Batch) -> torch.Tensor:
        """One training step, as in `course_lib.training.trainer`; returns the mean loss."""
        with autocast(self.device, self.precision):
            loss, count = self.objective(*batch)
        mean = loss / count
        mean.backward()
        nn.utils.clip_grad_norm_(self.objective.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return mean.detach()

    def turn(self, number: int) -> int:
        chosen = range(len(self.batches)) if self.whole else [number % len(self.batches)]
        for i in chosen:
            self.step(self.batches[i])
        return sum(self.counts[i] for i in chosen)

    def turn_in_sentences(self, number: int) -> int:
        self.turn(number)
        return sum(len(source) for source, _ in self.batches)


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


def vocabulary(plan: Plan) -> Iterator[Comparison]:
    """Our model with subwords against whole words, in sentences per second on the same sentences."""
    sizes = sizes_of(plan)
    turns, notes = {}, []
    for name, (pairs, vocab) in two_vocabularies(sizes, 2 if plan.tiny else 8).items():
        batches = workload.batches(pairs, sizes.batch, plan.device)
        side = f"{vocab:,} {name}"
        turns[side] = Trainer(ours(sizes, 0.1, vocab), batches, plan, whole=True).turn_in_sentences
        mean = sum(map(workload.real_positions, batches)) / len(pairs)
        notes.append(f"{side}: {mean:.1f} target positions a sentence")
    case = f"our model, dropout 0.1, fp32, {'spa-eng' if real_text() else 'generated'} sentences"
    comparison = Comparison("vocabulary", case, "sentences/s", next(iter(turns)), notes=notes)
    yield measure(comparison, turns, plan.few(0.8))


def real_text() -> bool:
    return bool(os.environ.get("COURSE_DATA"))


def two_vocabularies(sizes: Sizes, number: int) -> dict[str, tuple[list[Ids], int]]:
    """`number` batches of the same sentences as subwords and as words, and the size of each vocabulary."""
    if not real_text():
        words = workload.sentences(sizes.batch * number, sizes.words)
        cut = workload.as_subwords(words, sizes.vocab)
        return {"subwords": (cut, sizes.vocab), "words": (words, sizes.words)}
    from course_lib.datasets import load_translation

    data = load_translation("spa-eng", max_words=8)
    texts = [text for pair in data.train for text in pair]
    result = {}
    for name, kind, vocab in (("subwords", "bpe", sizes.vocab), ("words", "words", sizes.words)):
        tokens = Tokenizer.train(texts, vocab, kind)
        step = len(data.train) // (sizes.batch * number)
        chosen = data.train[::step][: sizes.batch * number]
        source, target = (tokens.encode_batch([pair[side] for pair in chosen]) for side in (0, 1))
        pairs = [([*s, EOS], [BOS, *t, EOS]) for s, t in zip(source, target, strict=True)]
        result[name] = (pairs, len(tokens))
    return result
