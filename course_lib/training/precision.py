"""Mixed precision: autocast, half-precision inference, and the choice of the format."""

import copy
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, TypeVar

import torch
from torch import nn

from course_lib.datasets.batching import Batches
from course_lib.layers.attention import cpu_bf16_attention

Model = TypeVar("Model", bound=nn.Module)
Step = Callable[[str], object]  # one step of the work in the format with this name

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
WORTH_IT = 1.1  # how much faster bf16 must be than fp32, which is more exact
_fastest: dict[Hashable, str] = {}  # what has been measured in this process


def autocast(device: torch.device, precision: str) -> AbstractContextManager:
    """Mixed precision within the `with` block: matrix products in this format, weights in fp32."""
    dtype = DTYPES.get(precision, torch.bfloat16)
    return torch.autocast(device.type, dtype, enabled=precision in DTYPES)


def for_inference(model: Model, precision: str) -> Model:
    """The model itself for "fp32"; for "bf16" and "fp16", a copy with weights in that format.

    `autocast` would convert the weights again in every step.
    """
    if precision not in DTYPES:
        return model
    return with_cpu_bf16_attention(copy.deepcopy(model).to(DTYPES[precision]))


def with_cpu_bf16_attention(model: Model) -> Model:
    """Make the model's attention layers use `cpu_bf16_attention`; return the model."""
    modules: Iterator[Any] = model.modules()
    for module in modules:
        if hasattr(module, "attend"):
            module.attend = cpu_bf16_attention
    return model


def choose_precision(
    precision: str, device: torch.device, step: Step | None = None, key: Hashable = None
) -> str:
    """Resolve "auto" to the fastest format that the device supports without emulation.

    CUDA: bf16, or fp16 on older GPUs; they also need less memory than fp32. CPU: bf16 if matrix products are
    measurably faster in it, and so is `step`, which is measured once for each `key`. Others: fp32.
    Raises ValueError for an unknown name, and for fp16 on a CPU, where it is slower than fp32.
    """
    if precision not in ("auto", "fp32", *DTYPES):
        raise ValueError(f"precision={precision!r} is none of auto, fp32, bf16, fp16")
    if precision == "fp16" and device.type == "cpu":
        raise ValueError("precision='fp16' is for GPUs, but the device is a cpu: use auto, bf16 or fp32")
    if precision != "auto":
        return precision
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp16"
    if device.type != "cpu" or bf16_gain() < 1.5:
        return "fp32"
    return "bf16" if step is None else fastest(step, key)


def precision_of_training(
    precision: str, objective: nn.Module, batches: Batches, device: torch.device
) -> str:
    """Like `choose_precision`; "auto" on a CPU measures training steps of `objective` on its first batch.

    The steps are taken on a copy: the weights, their gradients and the random generators stay as they are.
    A step of the optimizer is the same in every format, and is left out.
    """
    trained: Any = cache(lambda: with_cpu_bf16_attention(copy.deepcopy(objective)))
    batch = cache(lambda: batches.batch_of(batches.batch_sampler.batches(0)[0]))

    def step(name: str) -> None:
        with autocast(device, name):
            loss, _ = trained()(*batch())
        loss.backward()

    shapes = [p.shape for p in objective.parameters()]
    return choose_precision(precision, device, step, ("training", type(objective), *shapes))


def fastest(step: Step, key: Hashable, repeats: int = 3) -> str:
    """Whether `step` is faster in "fp32" or in "bf16" on this CPU, by its best times, in turns."""
    if key not in _fastest:
        with torch.random.fork_rng([]):
            times = [(seconds(step, "fp32"), seconds(step, "bf16")) for _ in range(1 + repeats)]
        exact, rounded = (min(column) for column in zip(*times[1:], strict=True))  # the first ones prepare
        _fastest[key] = "bf16" if exact > WORTH_IT * rounded else "fp32"
    return _fastest[key]


def seconds(step: Step, precision: str) -> float:
    """The time of one step."""
    begin = time.perf_counter()
    step(precision)
    return time.perf_counter() - begin


@cache
def bf16_gain(size: int = 512, repeats: int = 7) -> float:
    """Speedup of matrix products in bf16 over fp32 on this CPU (best of `repeats` tries)."""
    wide = torch.randn(size, size, generator=torch.Generator())  # not the global one
    factors = {"fp32": wide, "bf16": wide.bfloat16()}

    def product(precision: str) -> None:
        factors[precision] @ factors[precision]

    times = [(seconds(product, "fp32"), seconds(product, "bf16")) for _ in range(repeats)]
    return min(w for w, _ in times) / min(n for _, n in times)
