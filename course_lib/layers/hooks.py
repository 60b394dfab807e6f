"""Recording attention weights while a model runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from jaxtyping import Float
from torch import Tensor, nn

from course_lib.layers.attention import attention
from course_lib.layers.masks import Mask

Maps = dict[str, list[Float[Tensor, "batch heads queries keys"]]]
Attend = Callable[..., Tensor]


@contextmanager
def record_attention(model: nn.Module) -> Iterator[Maps]:
    """Record the attention weights of every attention layer inside `model`, within a `with` block.

    Yields a dictionary from the name of a layer to its weights, one entry per call. The fused kernel does not
    return its weights, so they are computed with `attention`, without dropout. Blocks that normally skip
    tokens nobody reads compute all of them. Everything is undone when the block ends.
    """
    maps: Maps = {}

    def recorder(name: str, attend: Attend) -> Attend:
        def record(
            q: Tensor, k: Tensor, v: Tensor, attn_mask: Mask | None = None, dropout_p: float = 0.0
        ) -> Tensor:
            maps.setdefault(name, []).append(attention(q, k, v, attn_mask)[1].detach())
            return attend(q, k, v, attn_mask=attn_mask, dropout_p=dropout_p)

        return record

    replaced = []  # (module, attribute, its own former value, if it had one)
    for name, module in model.named_modules():
        for attribute, value in (("attend", None), ("compute_all", True)):
            if hasattr(module, attribute):
                replaced.append((module, attribute, vars(module).get(attribute)))
                setattr(module, attribute, value or recorder(name, module.attend))
    try:
        yield maps
    finally:
        for module, attribute, former in replaced:
            delattr(module, attribute)
            if former is not None:
                setattr(module, attribute, former)
