"""Optimizers: AdamW, Muon for the matrices of blocks; weight averaging (EMA)."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim.optimizer import ParamsT

from course_lib.training.config import TrainConfig
from course_lib.utils.device import multiplies_bf16
from course_lib.utils.ranges import check_numbers


def make_optimizer(objective: nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    """The optimizer that `config` names, for all trainable weights; biases and norms do not decay.

    Raises ValueError for "muon" if the model has no blocks with matrices.
    Source: Loshchilov and Hutter 2019 (AdamW); the betas are those of Vaswani et al. 2017, section 5.3.

    >>> from torch import nn
    >>> optimizer = make_optimizer(nn.Linear(4, 2), TrainConfig(steps=10, weight_decay=0.1))
    >>> [group["weight_decay"] for group in optimizer.param_groups]  # of the matrix, of the bias
    [0.1, 0.0]
    """
    trained = [p for p in objective.parameters() if p.requires_grad]
    hidden = hidden_matrices(objective) if config.optimizer == "muon" else set()
    matrices = [p for p in trained if p.ndim >= 2 and p not in hidden]
    vectors = [p for p in trained if p.ndim < 2]
    groups: list[dict] = [{"params": matrices, "weight_decay": config.weight_decay}, {"params": vectors}]
    adamw = torch.optim.AdamW(groups, lr=config.lr, betas=(0.9, 0.98), weight_decay=0.0, fused=True)
    if config.optimizer == "adamw":
        return adamw
    if not hidden:
        raise ValueError("optimizer='muon' is for the matrices of blocks, and this model has none")
    return CombinedOptimizer(Muon([p for p in trained if p in hidden], config.lr, config.weight_decay), adamw)


def hidden_matrices(model: nn.Module) -> set[Tensor]:
    """The hidden matrices, for which Muon is meant: those of the linear layers inside stacked blocks.

    Not the embeddings and the output layer: their rows belong to single tokens, patches or classes.
    """
    stacks = [module for module in model.modules() if isinstance(module, nn.ModuleList)]
    return {m.weight for stack in stacks for m in stack.modules() if isinstance(m, nn.Linear)}


class CombinedOptimizer(torch.optim.Optimizer):
    """Several optimizers, each for its own weights, used as one.

    Source: Jordan et al. 2024, who use Muon and AdamW side by side.
    """

    def __init__(self, *optimizers: torch.optim.Optimizer):
        self.optimizers = optimizers
        super().__init__([group for optimizer in optimizers for group in optimizer.param_groups], {})

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "optimizers": self.optimizers}

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Used at the start only: later it would be unknown which of the optimizers gets the group."""
        if len(self.param_groups) == sum(len(optimizer.param_groups) for optimizer in self.optimizers):
            raise ValueError("a CombinedOptimizer takes no new group: add it to one of its optimizers first")
        super().add_param_group(param_group)

    def step(self, closure: Any = None) -> Any:
        loss = called(closure)
        groups = iter(self.param_groups)
        for optimizer in self.optimizers:  # each with its part of the groups, and the common state
            optimizer.param_groups = [next(groups) for _ in optimizer.param_groups]
            optimizer.state = self.state
            optimizer.step()
        return loss


def called(closure: Callable[[], Any] | None) -> Any:
    """What a closure returns that computes the loss and its gradients; None without one."""
    with torch.enable_grad():
        return None if closure is None else closure()


class WeightEMA:
    """Weight averaging (EMA): the plain mean of the weights at first, then their exponential moving average.

    decay: of the moving average, which covers about the last 1 / (1 - decay) steps; 0 means no averaging, and
    no copy of the weights. The means are in fp32 or better, even of weights in half precision.
    Unlike `torch.optim.swa_utils.AveragedModel` it copies the weights alone, not the module, and counts the
    steps in Python, not in a tensor that would have to be read from the device in every step.
    As there, buffers stay the model's own: BatchNorm's running statistics are those of the latest weights.
    They fit the average only where the weights hardly move. A small ViT with a convolutional stem (CIFAR-10,
    decay 0.99) lost less than 1 point of accuracy at the end of a cosine schedule, but 2 to 13 points before,
    compared with statistics measured again, as `torch.optim.swa_utils.update_bn` does.
    Source: Polyak and Juditsky 1992; Izmailov et al. 2018.

    >>> from torch import nn
    >>> model = nn.Linear(1, 1, bias=False)
    >>> average = WeightEMA(model, decay=0.9)
    >>> for step, value in enumerate([1.0, 3.0], start=1):
    ...     _ = nn.init.constant_(model.weight, value)
    ...     average.update(step)
    >>> average.means[model.weight]
    tensor([[2.]])
    """

    def __init__(self, model: nn.Module, decay: float):
        self.decay = decay
        check_numbers(self, "[0, 1)", "decay")
        self.means = {weight: full(weight.detach()).clone() for weight in model.parameters()} if decay else {}
        self.aside: dict[Tensor, Tensor] = {}  # the model's own weights, while it has their average

    def update(self, step: int) -> None:
        """Add the weights after step 1, 2, …"""
        if self.means:  # one operation for all, not one for each weight
            weights = [full(weight.detach()) for weight in self.means]
            torch._foreach_lerp_(list(self.means.values()), weights, max(1 / step, 1 - self.decay))

    def exchange(self) -> None:
        """Swap the model's weights and their average."""
        for weight, mean in self.means.items():
            if weight in self.aside:
                weight.data = self.aside.pop(weight)
            else:
                self.aside[weight], weight.data = weight.data, mean.to(weight.dtype)


def full(tensor: Tensor) -> Tensor:
    """The tensor in fp32, or in its own type if that is more precise."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


class Muon(torch.optim.Optimizer):
    """Muon: momentum SGD whose step for each matrix is replaced by the nearest orthogonal matrix.

    Takes the same steps as `torch.optim.Muon`, but for all matrices of one shape together, which is faster:
    for a GPT of the default size, torch's takes 1.30 times as long, and the whole training step 1.05 times;
    for that of chapter 7, 1.09 and 1.17 times (one thread of a busy machine with 2 CPU cores, torch 2.13).
    lr: steps are scaled to the size of AdamW's, so both share one learning rate.
    Raises ValueError for a weight that is no matrix, and for settings outside their range.
    Source: Jordan et al. 2024; Liu et al. 2025, section 2.2 (the scale).

    >>> from torch import nn
    >>> weight = nn.Parameter(torch.zeros(2, 2))
    >>> weight.grad = torch.tensor([[8.0, 0.0], [0.0, 1.0]])
    >>> Muon([weight], lr=0.1).step()
    >>> (weight[0, 0] / weight[1, 1]).item() < 2  # SGD would go 8 times as far in the first direction
    True
    """

    def __init__(self, weights: ParamsT, lr: float, weight_decay: float = 0.1, momentum: float = 0.95):
        settings = {"lr": lr, "weight_decay": weight_decay, "momentum": momentum}
        check_numbers(SimpleNamespace(**settings), "[0, inf)", "lr", "weight_decay")
        check_numbers(SimpleNamespace(**settings), "[0, 1)", "momentum")
        super().__init__(weights, settings)
        for weight in (weight for group in self.param_groups for weight in group["params"]):
            if weight.ndim != 2:
                raise ValueError(f"Muon is for matrices, and a weight has the shape {tuple(weight.shape)}")

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        loss = called(closure)
        for group in self.param_groups:
            moved = [weight for weight in group["params"] if weight.grad is not None]
            for shape in {weight.shape for weight in moved}:
                weights = [weight for weight in moved if weight.shape == shape]
                steps = orthogonal(torch.stack(self.directions(weights, group["momentum"])))
                rate, size = group["lr"], 0.2 * max(shape) ** 0.5  # the size of AdamW's steps
                torch._foreach_mul_(weights, 1 - rate * group["weight_decay"])
                torch._foreach_add_(weights, steps.to(weights[0]).unbind(), alpha=-rate * size)
        return loss

    def directions(self, weights: list[nn.Parameter], momentum: float) -> list[Tensor]:
        """The gradients with Nesterov momentum; one operation for all, not one for each weight."""
        for weight in weights:
            if not self.state[weight]:
                self.state[weight]["momentum_buffer"] = torch.zeros_like(weight)
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        buffers = [self.state[weight]["momentum_buffer"] for weight in weights]
        torch._foreach_lerp_(buffers, gradients, 1 - momentum)
        return list(torch._foreach_lerp(gradients, buffers, momentum))


def orthogonal(matrices: Float[Tensor, "number rows columns"]) -> Float[Tensor, "number rows columns"]:
    """Orthogonalize matrices by the Newton-Schulz iteration, approximately: singular values of 0.7 to 1.2.

    Source: Jordan et al. 2024, who chose the coefficients to raise small singular values fast.
    """
    wide = matrices.shape[-2] <= matrices.shape[-1]
    x = matrices if wide else matrices.mT
    if multiplies_bf16(x.device):
        x = x.bfloat16()  # precise enough
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    for _ in range(5):
        gram = x @ x.mT
        polynomial = torch.baddbmm(gram, gram, gram, beta=-4.7750, alpha=2.0315)
        x = torch.baddbmm(x, polynomial, x, beta=3.4445)
    return x if wide else x.mT
