"""Recording attention weights while a model runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from jaxtyping import Float
from torch import Tensor, nn

from course_lib.layers.masks import Mask
from course_lib.layers.multi_head_attention import attention

Maps = dict[str, list[Float[Tensor, "batch heads queries keys"]]]
Attend = Callable[..., Tensor]


@contextmanager
def record_attention(model: nn.Module) -> Iterator[Maps]:
    """Record the attention weights of every attention layer inside `model`, within a `with` block.

    Yields a dictionary from the name of a layer to its weights, one entry per call. The fused kernel does not
    return its weights, so they are computed with `attention`, without dropout. Everything is undone when the
    block ends.

    >>> from course_lib.layers import MultiHeadAttention
    >>> mha = MultiHeadAttention(d_model=12, heads=3)
    >>> with record_attention(mha) as maps:
    ...     _ = mha(torch.randn(2, 5, 12))
    >>> maps[""][0].shape  # the layer's name within the model is empty: it is the model
    torch.Size([2, 3, 5, 5])
    """
    maps: Maps = {}

    def recorder(name: str, attend: Attend) -> Attend:
        def record(
            q: Tensor, k: Tensor, v: Tensor, attn_mask: Mask | None = None, dropout_p: float = 0.0
        ) -> Tensor:
            maps.setdefault(name, []).append(attention(q, k, v, attn_mask)[1].detach())
            return attend(q, k, v, attn_mask=attn_mask, dropout_p=dropout_p)

        return record

    layers = [(name, module) for name, module in model.named_modules() if hasattr(module, "attend")]
    before = [vars(layer).get("attend") for _, layer in layers]  # a layer's own function, if it has one
    for name, layer in layers:
        layer.attend = recorder(name, layer.attend)
    try:
        yield maps
    finally:
        for (_, layer), attend in zip(layers, before, strict=True):
            del layer.attend
            if attend is not None:
                layer.attend = attend
