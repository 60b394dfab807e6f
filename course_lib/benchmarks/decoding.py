"""Greedy decoding in sentences per second, 30 tokens each; EOS does not end a sentence."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from course_lib.benchmarks import d2l_rival, rivals, workload
from course_lib.benchmarks.timing import Comparison, Plan, Turn, measure
from course_lib.benchmarks.training import D2L, OURS, TORCH, config, measures, sizes_of, without_d2l
from course_lib.benchmarks.workload import Sizes
from course_lib.datasets.batching import pad
from course_lib.generation.decoding import greedy_decode
from course_lib.models.seq2seq import Seq2Seq
from course_lib.text.tokenizers import BOS
from course_lib.training.precision import choose_precision, for_inference

TOKENS = 30
LONGER = 64
Write = Callable[[Tensor], Tensor | list[list[int]]]


def our_writer(
    sizes: Sizes, device: str, tokens: int, precision: str = "fp32", compiled: bool = False
) -> Write:
    """Our model with its cache, as `translate` uses it in this precision."""
    torch.manual_seed(0)
    model = for_inference(Seq2Seq(config(sizes, 0.0)).to(device).eval(), precision)

    def write(source: Tensor) -> list[list[int]]:
        with torch.inference_mode():
            start = torch.full((len(source), 1), BOS, device=source.device)
            generator = model.generator(source, tokens, compiled)
            return greedy_decode(generator, start, None, tokens)

    return write


def writers(sizes: Sizes, device: str, tokens: int = TOKENS) -> dict[str, Write]:
    """Every system as a function from source ids to exactly `tokens` generated ids."""
    torch_model = rivals.TorchTransformer(*measures(sizes), 0.0).to(device).eval()
    found = {
        OURS: our_writer(sizes, device, tokens),
        TORCH: lambda source: rivals.greedy_recomputing(torch_model, source, tokens),
        f"{TORCH}, last token only": lambda source: rivals.greedy_last_token(torch_model, source, tokens),
    }
    if not d2l_rival.absent():
        d2l_model = d2l_rival.D2LTransformer(*measures(sizes), 0.0).to(device).eval()
        found[D2L] = lambda source: d2l_rival.greedy(d2l_model, source, tokens)
    return found


def decoding(plan: Plan) -> Iterator[Comparison]:
    """Greedy decoding: ours with its KV cache, `nn.Transformer` in two ways, the others with their own."""
    sizes = sizes_of(plan)
    tokens = 5 if plan.tiny else TOKENS
    found = writers(sizes, plan.device, tokens)
    against = tuple(name for name in found if name != OURS)
    faster = our_faster_writers(plan, sizes, tokens)
    for batch in (1, sizes.batch):
        sides = {**(faster if batch == 1 else dict(list(faster.items())[:1])), **found}
        first = next(iter(sides))
        case = f"batch {batch}, {tokens} tokens, fp32 unless said"
        comparison = Comparison("decoding", case, "sentences/s", first, 2.0, against)
        comparison.notes = without_d2l()
        sources = some_sources(batch, sizes, plan.device)
        turns = {name: turn_of(write, sources) for name, write in sides.items()}
        yield measure(comparison, turns, plan.lasting(0.8))


def our_faster_writers(plan: Plan, sizes: Sizes, tokens: int) -> dict[str, Write]:
    """Ours in half precision where that is the device's own (`precision="auto"`), eager and compiled."""
    precision = choose_precision("auto", torch.device(plan.device))
    if plan.tiny or precision == "fp32":
        return {}
    names = (f"{OURS}, {precision}", f"{OURS}, {precision}, compiled")
    return {
        name: our_writer(sizes, plan.device, tokens, precision, compiled)
        for name, compiled in zip(names, (False, True), strict=True)
    }


def precision(plan: Plan) -> Iterator[Comparison]:
    """Our greedy decoding in bf16 against fp32."""
    if not plan.tiny and choose_precision("auto", torch.device(plan.device)) != "bf16":
        return
    sizes = sizes_of(plan)
    tokens = 5 if plan.tiny else TOKENS
    sources = some_sources(sizes.batch, sizes, plan.device)
    turns = {
        name: turn_of(our_writer(sizes, plan.device, tokens, name), sources) for name in ("bf16", "fp32")
    }
    case = f"our greedy decoding, batch {sizes.batch}, {tokens} tokens"
    yield measure(Comparison("precision", case, "sentences/s", "bf16"), turns, plan.lasting(0.3))


def recomputing(plan: Plan) -> Iterator[Comparison]:
    """The gain from the KV cache: our greedy decoding with it, and without it.

    Without it, either the whole model runs again for each token, as in a naive loop, or only the decoder,
    with the source encoded once and logits for the last token alone.
    """
    sizes = sizes_of(plan)
    tokens = 5 if plan.tiny else LONGER
    torch.manual_seed(0)
    model = Seq2Seq(config(sizes, 0.0)).to(plan.device).eval()
    sides = {
        "with the cache": our_writer(sizes, plan.device, tokens),
        "decoder recomputed": lambda source: decoder_recomputed(model, source, tokens),
        "everything recomputed": lambda source: everything_recomputed(model, source, tokens),
    }
    for batch in (1, sizes.batch):
        sources = some_sources(batch, sizes, plan.device)
        turns = {name: turn_of(write, sources) for name, write in sides.items()}
        case = f"cache, batch {batch}, {tokens} tokens, fp32"
        yield measure(
            Comparison("decoding", case, "sentences/s", "with the cache", 3.0, ("everything recomputed",)),
            turns,
            plan.lasting(0.4),
        )


@torch.inference_mode()
def everything_recomputed(model: Seq2Seq, source: Tensor, tokens: int) -> Tensor:
    """Greedy decoding that runs the whole model for each token."""
    ids = torch.full((len(source), 1), BOS, device=source.device)
    for _ in range(tokens):
        ids = torch.cat([ids, model(source, ids)[:, -1:].argmax(dim=-1)], dim=1)
    return ids


@torch.inference_mode()
def decoder_recomputed(model: Seq2Seq, source: Tensor, tokens: int) -> Tensor:
    """Greedy decoding that runs the decoder on the whole prefix for each token, and the encoder once."""
    memory, ids = model.encode(source), torch.full((len(source), 1), BOS, device=source.device)
    for _ in range(tokens):
        logits = model.output_logits(model.decode(ids, memory)[:, -1])
        ids = torch.cat([ids, logits.argmax(dim=-1, keepdim=True)], dim=1)
    return ids


def some_sources(batch: int, sizes: Sizes, device: str) -> list[Tensor]:
    """Sixteen batches of source sentences."""
    pairs = (workload.sentences(batch, sizes.vocab, seed) for seed in range(16))
    return [pad([source for source, _ in some]).to(device) for some in pairs]


def turn_of(write: Write, sources: list[Tensor]) -> Turn:
    def turn(number: int) -> int:
        source = sources[number % len(sources)]
        write(source)
        return len(source)

    return turn
