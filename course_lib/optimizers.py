"""What turns gradients into steps: AdamW, or Muon for the matrices of blocks; and averages of the weights."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.muon import Muon
from course_lib.schedules import TrainConfig


def make_optimizer(objective: nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    """The optimizer that `config` names, for all weights that are trained.

    Raises ValueError for "muon" where the model has no matrices that it is made for.
    """
    trained = [p for p in objective.parameters() if p.requires_grad]
    if config.optimizer == "adamw":
        return make_adamw(trained, config)
    hidden = [p for p in hidden_matrices(objective) if p.requires_grad]
    if not hidden:
        raise ValueError("optimizer='muon' is for the matrices of blocks, and this model has none")
    ours = set(map(id, hidden))
    muon = Muon(hidden, config.lr, config.weight_decay)
    return Together(muon, make_adamw([p for p in trained if id(p) not in ours], config))


def make_adamw(weights: list[nn.Parameter], config: TrainConfig) -> torch.optim.AdamW:
    """AdamW that decays matrices, and not the biases and norms.

    Source: Loshchilov and Hutter 2019; the betas are those of Vaswani et al. 2017, section 5.3.
    """
    groups = [
        {"params": [p for p in weights if p.ndim >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in weights if p.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=config.lr, betas=(0.9, 0.98), fused=True)


def hidden_matrices(model: nn.Module) -> Iterator[nn.Parameter]:
    """The matrices between vectors and vectors: those of the Linear layers inside stacked blocks.

    Embeddings, what comes before the blocks and the output layer are not among them: their rows stand for
    words, patches or classes, one by one.
    """
    stacks = (module for module in model.modules() if isinstance(module, nn.ModuleList))
    layers = {m: None for stack in stacks for m in stack.modules() if isinstance(m, nn.Linear)}
    return (layer.weight for layer in layers)


class Together(torch.optim.Optimizer):
    """Several optimizers, each for its own weights, that take their steps as one.

    Source: Jordan et al. 2024 (Muon: each step's matrix is replaced by the nearest orthogonal one);
    Liu et al. 2025, section 2.2 (its size brought to that of AdamW's steps, so that both share one lr).
    """

    def __init__(self, *optimizers: torch.optim.Optimizer):
        self.optimizers = optimizers  # the base class keeps nothing: it would want groups of its own

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return [group for optimizer in self.optimizers for group in optimizer.param_groups]

    @property
    def state(self) -> dict[Tensor, Any]:
        return {weight: state for optimizer in self.optimizers for weight, state in optimizer.state.items()}

    @property
    def defaults(self) -> dict[str, Any]:
        return self.optimizers[0].defaults

    def step(self, closure: None = None) -> None:
        for optimizer in self.optimizers:
            optimizer.step()

    def zero_grad(self, set_to_none: bool = True) -> None:
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none)

    def state_dict(self) -> dict[str, Any]:
        return {"optimizers": [optimizer.state_dict() for optimizer in self.optimizers]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for optimizer, part in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(part)


class WeightAverage:
    """The average of a model's weights over the steps of its training: a mean at first, then exponential.

    decay: of the exponential average, which looks back over about 1 / (1 - decay) steps.
    Source: Polyak and Juditsky 1992; Izmailov et al. 2018.
    """

    def __init__(self, model: nn.Module, decay: float):
        self.model, self.decay = model, decay
        self.weights = [p.detach().clone() for p in model.parameters()]

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after step 1, 2, …"""
        share = max(1 / step, 1 - self.decay)
        for mean, weight in zip(self.weights, self.model.parameters(), strict=True):
            mean.lerp_(weight, share)

    def load(self, weights: list[Tensor]) -> None:
        """Go on with an average that was kept, on whatever device."""
        for mean, kept in zip(self.weights, weights, strict=True):
            mean.copy_(kept)

    @torch.no_grad()
    def exchange(self) -> None:
        """Put the average into the model, and the model's own weights here."""
        for mean, weight in zip(self.weights, self.model.parameters(), strict=True):
            own = weight.clone()
            weight.copy_(mean)
            mean.copy_(own)
