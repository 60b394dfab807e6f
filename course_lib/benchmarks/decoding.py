"""Greedy decoding in sentences per second, 30 tokens each; EOS does not end a sentence."""

from collections.abc import Iterator

import torch
from torch import Tensor

from course_lib.benchmarks import rivals
from course_lib.benchmarks.timing import Comparison, Plan, Turn, Write, measure, trainer, writing
from course_lib.benchmarks.training import (
    D2L,
    OURS,
    TORCH,
    UNIT,
    batch_of,
    batches,
    ours,
    sentences,
    sizes_of,
    without_d2l,
)
from course_lib.datasets.batching import pad
from course_lib.generation.decoding import greedy_decode
from course_lib.models.seq2seq import Seq2Seq
from course_lib.training.precision import choose_precision, for_inference

TOKENS, LONGER = 30, 64


def our_writer(plan: Plan, tokens: int, precision: str = "fp32", compiled: bool = False) -> Write:
    """Our model with its cache, as `translate` uses it in this precision."""
    torch.manual_seed(0)
    model = for_inference(Seq2Seq(sizes_of(plan, 0.0)).to(plan.device).eval(), precision)

    def write(source: Tensor) -> list[list[int]]:
        with torch.inference_mode():
            generator = model.generator(source, tokens, compiled)
            return greedy_decode(generator, rivals.first_tokens(source), None, tokens)

    return write


def writers(plan: Plan, tokens: int) -> dict[str, Write]:
    """Every system as a function from source ids to exactly `tokens` generated ids."""
    config = sizes_of(plan, 0.0)
    theirs = rivals.TorchTransformer(config).to(plan.device).eval()
    found: dict[str, Write] = {
        OURS: our_writer(plan, tokens),
        TORCH: lambda source: rivals.greedy_recomputing(theirs, source, tokens),
        f"{TORCH}, last token only": lambda source: rivals.greedy_last_token(theirs, source, tokens),
    }
    if not rivals.d2l_absent():
        d2l = rivals.D2LTransformer(config).to(plan.device).eval()
        found[D2L] = lambda source: rivals.greedy_d2l(d2l, source, tokens)
    return found


def turns_of(found: dict[str, Write], batch: int, plan: Plan) -> dict[str, Turn]:
    """The turns of these writers, on sixteen batches of source sentences."""
    pairs = (sentences(batch, sizes_of(plan).vocab, seed) for seed in range(16))
    sources = [pad([source for source, _ in some]).to(plan.device) for some in pairs]
    return {name: writing(write, sources) for name, write in found.items()}


def decoding(plan: Plan) -> Iterator[Comparison]:
    """Greedy decoding: ours with its KV cache, `nn.Transformer` in two ways, the others with their own.

    Ours also in half precision where that is the device's own (`precision="auto"`), eager and compiled.
    """
    tokens = 5 if plan.tiny else TOKENS
    found, faster = writers(plan, tokens), dict[str, Write]()
    against = tuple(name for name in found if name != OURS)
    half = choose_precision("auto", torch.device(plan.device))
    if half != "fp32" and not plan.tiny:
        faster[f"{OURS}, {half}"] = our_writer(plan, tokens, half)
        faster[f"{OURS}, {half}, compiled"] = our_writer(plan, tokens, half, compiled=True)
    for batch in (1, batch_of(plan)):
        sides = {**(faster if batch == 1 else dict(list(faster.items())[:1])), **found}
        case = f"batch {batch}, {tokens} tokens, fp32 unless said"
        comparison = Comparison("decoding", case, "sentences/s", next(iter(sides)), 2.0, against)
        comparison.notes = without_d2l()
        yield measure(comparison, turns_of(sides, batch, plan), plan.lasting(0.8))


def precision(plan: Plan) -> Iterator[Comparison]:
    """Training our model, then our greedy decoding, in bf16 against fp32."""
    if not plan.tiny and choose_precision("auto", torch.device(plan.device)) != "bf16":
        return
    batch, tokens, both = batch_of(plan), 5 if plan.tiny else TOKENS, ("bf16", "fp32")
    some = batches(plan, 32)
    turns = {name: trainer(ours(sizes_of(plan)), some, plan, name) for name in both}
    case = "training our model, dropout 0.1, batches as they come"
    yield measure(Comparison("precision", case, UNIT, "bf16"), turns, plan.lasting(0.5))
    turns = turns_of({name: our_writer(plan, tokens, name) for name in both}, batch, plan)
    case = f"our greedy decoding, batch {batch}, {tokens} tokens"
    yield measure(Comparison("precision", case, "sentences/s", "bf16"), turns, plan.lasting(0.3))


def recomputing(plan: Plan) -> Iterator[Comparison]:
    """The gain from the KV cache: our greedy decoding with it, and without it.

    Without it, either the whole model runs again for each token, as in a naive loop, or only the decoder,
    with the source encoded once and logits for the last token alone.
    """
    tokens, aim = 5 if plan.tiny else LONGER, (3.0, ("everything recomputed",))
    torch.manual_seed(0)
    model = Seq2Seq(sizes_of(plan, 0.0)).to(plan.device).eval()
    sides: dict[str, Write] = {
        "with the cache": our_writer(plan, tokens),
        "decoder recomputed": lambda source: decoder_recomputed(model, source, tokens),
        "everything recomputed": lambda source: everything_recomputed(model, source, tokens),
    }
    for batch in (1, batch_of(plan)):
        case = f"cache, batch {batch}, {tokens} tokens, fp32"
        comparison = Comparison("decoding", case, "sentences/s", "with the cache", *aim)
        yield measure(comparison, turns_of(sides, batch, plan), plan.lasting(0.4))


@torch.inference_mode()
def everything_recomputed(model: Seq2Seq, source: Tensor, tokens: int) -> Tensor:
    """Greedy decoding that runs the whole model for each token."""
    return rivals.extended(rivals.first_tokens(source), tokens, lambda ids: model(source, ids)[:, -1])


@torch.inference_mode()
def decoder_recomputed(model: Seq2Seq, source: Tensor, tokens: int) -> Tensor:
    """Greedy decoding that runs the decoder on the whole prefix for each token, and the encoder once."""
    memory, start = model.encode(source), rivals.first_tokens(source)
    return rivals.extended(start, tokens, lambda ids: model.output_logits(model.decode(ids, memory)[:, -1]))
