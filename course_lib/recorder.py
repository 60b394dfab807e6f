"""Seeing attention weights: collected on request by hooks that are gone afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager

from jaxtyping import Float
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from course_lib.attention import FusedAttention, attention

Maps = dict[str, list[Float[Tensor, "batch heads queries keys"]]]


@contextmanager
def record_attention(model: nn.Module) -> Iterator[Maps]:
    """Within the block, every call of an attention layer inside `model` appends its weights.

    Yields a dictionary from the layer's name in `model` to its weights, one entry a call. They are
    what the fused kernel uses but does not return: computed again by `attention`, without dropout.
    """
    maps: Maps = {}

    def watch(name: str, attend: FusedAttention) -> RemovableHandle:
        def append(module: nn.Module, inputs: tuple, output: Tensor) -> None:
            layer = name.rpartition(".")[0]  # that `attend` belongs to
            maps.setdefault(layer, []).append(attention(*inputs)[1].detach())

        return attend.register_forward_hook(append)

    handles = [watch(name, m) for name, m in model.named_modules() if isinstance(m, FusedAttention)]
    try:
        yield maps
    finally:
        for handle in handles:
            handle.remove()
