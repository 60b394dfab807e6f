"""One attention layer, forward and backward: the explicit formula, the fused kernel, whole layers."""

from collections.abc import Callable, Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.benchmarks.timing import Comparison, Plan, Turn, measure
from course_lib.layers.masks import causal_mask
from course_lib.layers.multi_head_attention import MultiHeadAttention, attention

SHAPE = (32, 8, 256, 64)  # batch, heads, tokens, d_head
TINY_SHAPE = (2, 2, 5, 4)


class ExplicitLayer(nn.Module):
    """Four linear layers around the formula: the usual first implementation of attention."""

    def __init__(self, d_model: int, heads: int):
        super().__init__()
        self.heads = heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            w(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for w in (self.w_q, self.w_k, self.w_v)
        )
        return self.w_o(attention(q, k, v)[0].transpose(1, 2).flatten(-2))


def kernels(tokens: int, causal: bool, device: str) -> dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]]:
    """The formula and the fused kernel."""
    mask = causal_mask(tokens, device=device) if causal else None
    return {
        "SDPA": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal),
        "explicit": lambda q, k, v: attention(q, k, v, mask)[0],
    }


class SelfAttention(nn.Module):
    """Self-attention: an attention layer whose queries, keys and values are one sequence."""

    def __init__(self, attend: nn.Module, call: Callable[[nn.Module, Tensor], Tensor]):
        super().__init__()
        self.attend, self.call = attend, call

    def forward(self, x: Tensor) -> Tensor:
        return self.call(self.attend, x)


def layers(d_model: int, heads: int, device: str) -> dict[str, nn.Module]:
    """Three implementations of self-attention with its projections."""
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(d_model, heads, batch_first=True)
    found = {
        "ours": SelfAttention(MultiHeadAttention(d_model, heads), lambda mha, x: mha(x, x)),
        "nn.MultiheadAttention": SelfAttention(theirs, lambda mha, x: mha(x, x, x, need_weights=False)[0]),
        "four Linear and explicit": ExplicitLayer(d_model, heads),
    }
    return {name: module.to(device) for name, module in found.items()}


def layer(plan: Plan) -> Iterator[Comparison]:
    """Forward and backward with batch 32, 8 heads, 256 tokens, d_head 64, fp32, no dropout."""
    batch, heads, tokens, d_head = TINY_SHAPE if plan.tiny else SHAPE
    size = f"batch {batch}, heads {heads}, tokens {tokens}, d_head {d_head}, forward and backward"
    inputs = [torch.randn(batch, heads, tokens, d_head, device=plan.device) for _ in range(3)]
    for causal in (False, True):
        case = f"{'causal, ' if causal else ''}without projections, {size}"
        found = kernels(tokens, causal, plan.device)
        turns = {name: turn_of(function, inputs) for name, function in found.items()}
        yield measure(Comparison("attention", case, "s", "SDPA"), turns, plan.lasting(0.3))
    x = torch.randn(batch, tokens, heads * d_head, device=plan.device)
    found = layers(heads * d_head, heads, plan.device)
    turns = {name: turn_of(module, [x], list(module.parameters())) for name, module in found.items()}
    yield measure(Comparison("attention", f"with projections, {size}", "s", "ours"), turns, plan.lasting(0.5))


def turn_of(function: Callable[..., Tensor], inputs: list[Tensor], weights: Sequence[Tensor] = ()) -> Turn:
    """One forward pass, and one backward pass to the inputs and the weights."""
    inputs = [x.detach().requires_grad_() for x in inputs]
    up = torch.randn_like(inputs[0])

    def turn(number: int) -> float:
        function(*inputs).backward(up)
        for x in (*inputs, *weights):
            x.grad = None
        return 1.0

    return turn
