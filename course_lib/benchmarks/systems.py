"""The lectures' systems against ours: training and greedy decoding, in one process.

No sentence has padding, so that a system that computes padding loses nothing; batches, optimizer and sizes
(see `lecture_systems`) are the same for all.
"""

from collections.abc import Iterator

import torch

from course_lib.benchmarks.decoding import Write, turn_of
from course_lib.benchmarks.lecture_systems import (
    OLD,
    SIZES,
    TINY,
    System,
    all_systems,
    full_batch,
    our_system,
)
from course_lib.benchmarks.timing import Comparison, Plan, measure
from course_lib.benchmarks.training import OURS, UNIT, Trainer, without_d2l
from course_lib.benchmarks.workload import Sizes
from course_lib.training.precision import choose_precision

AIM = 25.0
OURS_BF16 = "ours, bf16"  # what `train` chooses where it is measurably faster


def systems(plan: Plan) -> Iterator[Comparison]:
    """Training and greedy decoding: ours against every other system."""
    sizes = TINY if plan.tiny else SIZES
    found = all_systems(sizes, plan.device)
    yield training(found, sizes, plan)
    for batch in (1, sizes.batch):
        yield decoding(found, batch, sizes, plan)


def training(found: dict[str, System], sizes: Sizes, plan: Plan) -> Comparison:
    """One training step, in target positions per second; ours also in bf16 where that is fast."""
    batches = [full_batch(sizes.batch, sizes, seed, plan.device) for seed in range(4)]
    turns = {name: Trainer(one.objective, batches, plan).turn for name, one in found.items()}
    first = OURS
    if plan.tiny or choose_precision("auto", torch.device(plan.device)) == "bf16":
        first = OURS_BF16
        turns[first] = Trainer(our_system(sizes).objective, batches, plan, "bf16").turn
    case = f"training, {size_of(sizes)}, fp32 where nothing else is said"
    comparison = Comparison("systems", case, UNIT, first, AIM, (OLD,), notes_on(found))
    return measure(comparison, turns, plan.few(2.0))


def decoding(found: dict[str, System], batch: int, sizes: Sizes, plan: Plan) -> Comparison:
    """Greedy decoding of all tokens but the first of each sentence."""
    sources = [full_batch(batch, sizes, seed, plan.device)[0] for seed in range(4)]
    turns = {name: turn_of(write_in_evaluation(one), sources) for name, one in found.items()}
    case = f"greedy decoding, batch {batch}, {sizes.max_tokens - 1} tokens, fp32"
    comparison = Comparison("systems", case, "sentences/s", OURS, notes=without_d2l())
    return measure(comparison, turns, plan.few(1.0))


def write_in_evaluation(one: System) -> Write:
    one.model.eval()
    return torch.inference_mode()(one.write)


def size_of(sizes: Sizes) -> str:
    return (
        f"d_model {sizes.d_model}, {sizes.layers} + {sizes.layers} blocks, {sizes.heads} heads, "
        f"{sizes.vocab:,} words on both sides, batch {sizes.batch}, {sizes.max_tokens} tokens"
    )


def notes_on(found: dict[str, System]) -> list[str]:
    """The size of each system, and what is missing."""
    numbers = {name: sum(p.numel() for p in one.model.parameters()) for name, one in found.items()}
    return [*(f"{name}: {number:,} parameters" for name, number in numbers.items()), *without_d2l()]
