"""Muon: an optimizer whose steps on a matrix are orthogonal matrices, many matrices at once."""

from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor, nn

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of the iteration; they bring small singular values up fastest


class Muon(torch.optim.Optimizer):
    """The steps of `torch.optim.Muon`, taken for all matrices of one shape together: much sooner done.

    lr: a step has the size of one that AdamW takes at this rate. momentum: share of the steps before.
    Source: Jordan et al. 2024; Liu et al. 2025, section 2.2 (the size of the steps).
    """

    def __init__(
        self,
        weights: Iterable[nn.Parameter],
        lr: float,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
    ):
        super().__init__(weights, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        for group in self.param_groups:
            alike: dict[torch.Size, list[nn.Parameter]] = {}
            for weight in group["params"]:
                if weight.grad is not None:
                    alike.setdefault(weight.shape, []).append(weight)
            for weights in alike.values():
                self.move(weights, group["lr"], group["weight_decay"], group["momentum"])

    def move(self, weights: list[nn.Parameter], lr: float, decay: float, momentum: float) -> None:
        """One step of weights that have the same shape."""
        directions = []
        for weight in weights:
            state = self.state[weight]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = torch.zeros_like(weight)
            state["momentum_buffer"].lerp_(weight.grad, 1 - momentum)
            directions.append(weight.grad.lerp(state["momentum_buffer"], momentum))
        size = 0.2 * max(weights[0].shape) ** 0.5  # as long as a step of AdamW
        for weight, step in zip(weights, orthogonal(torch.stack(directions)), strict=True):
            weight.mul_(1 - lr * decay).add_(step.to(weight), alpha=-lr * size)


def orthogonal(
    matrices: Float[Tensor, "number rows columns"], rounds: int = 5
) -> Float[Tensor, "number rows columns"]:
    """Near the closest matrices with orthogonal rows or columns: singular values between about 0.7 and 1.2.

    Source: Jordan et al. 2024, the Newton-Schulz iteration.
    """
    a, b, c = COEFFICIENTS
    wide = matrices.shape[-2] <= matrices.shape[-1]
    x = (matrices if wide else matrices.mT).bfloat16()  # few digits are enough
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    for _ in range(rounds):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x if wide else x.mT
