"""A project: data with its baselines, model, loss and score, through the same functions for every kind."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from course_lib.datasets.batching import Batches
from course_lib.layers.lora import add_lora
from course_lib.training.config import TrainConfig
from course_lib.training.trainer import train

D_HEAD, MOST_ANSWERS = 16, 20_000
MATRICES = ("w_q", "w_kv", "w_o", "w_in", "w_out")  # that LoRA adapts
RANK, ALPHA = 16, 64


@dataclass(frozen=True)
class Trained:
    """A trained model. tokens: seen in training, repeated ones included. seconds: of training."""

    model: Any
    tokens: int
    seconds: float


class Project(ABC):
    """Your data, with everything that the steps of a project need.

    kind: "text", "pairs" or "images". unit: of the score. higher: whether a higher score is better.
    unique: tokens of the training set. per_example: tokens of a training example. option: the tokenization
    that `choose` has set.
    """

    kind: str
    unit: str
    higher = True
    data: Any
    batch = 32
    lr = 1e-2  # of Muon, for every width
    option: Any = None
    usual: Any  # the option that is right for most data

    @abstractmethod
    def examples(self, part: str) -> list[str]:
        """The examples of "train", "validation" or "test", as strings that can be compared."""

    @abstractmethod
    def answers(self, part: str) -> list[int]:
        """What the model must predict: ids of tokens, or labels; at most 20,000."""

    @abstractmethod
    def look(self) -> Iterator[str]:
        """Lines that describe the data."""

    @abstractmethod
    def options(self) -> Mapping[Any, str]:
        """The tokenizations to choose from, each with what it does to the validation data."""

    @abstractmethod
    def choose(self, option: Any = None) -> None:
        """Set the tokenization; None for the usual one. Raises ValueError if it is none of the options."""

    @abstractmethod
    def baselines(self) -> dict[str, float]:
        """Test scores of methods that train no network."""

    @abstractmethod
    def new_model(self, d_model: int) -> nn.Module:
        """An untrained model."""

    @abstractmethod
    def objective(self, model: nn.Module) -> nn.Module:
        """The training loss."""

    @abstractmethod
    def batches(self, seed: int) -> Batches:
        """The training set."""

    @abstractmethod
    def validation_loss(self, model: nn.Module) -> float:
        """Mean loss on the validation set, in nats."""

    @abstractmethod
    def score(self, model: nn.Module) -> float:
        """The test score, in `unit`."""

    @abstractmethod
    def errors(self, model: nn.Module, most: int = 6) -> Iterator[str]:
        """The worst predictions on the validation set, one line each."""

    @abstractmethod
    def save(self, folder: Path, model: nn.Module) -> None:
        """Write a folder that `load_run` reads."""

    @abstractmethod
    def fewer(self, part: int) -> "Project":
        """The project with one in `part` training examples, and the same held-out sets and tokenization."""

    @abstractmethod
    def related(self) -> "Project":
        """A project to pretrain on: what there is more of, for a model of the same shape."""

    @property
    def training_examples(self) -> int:
        """Number of training examples; of a text, the windows that make up one pass."""
        return max(1, round(self.unique / self.per_example))

    def tokens_per_step(self, batches: Batches) -> float:
        """Mean number of tokens in a batch, padding excluded."""
        return float(min(self.batch, len(batches.dataset)) * self.per_example)  # type: ignore[arg-type]

    per_example: float | int
    unique: int

    def config(self, steps: int, seed: int) -> TrainConfig:
        """How every model of the project is trained."""
        schedule: dict[str, Any] = {"warmup": steps // 10, "schedule": "cosine", "optimizer": "muon"}
        return TrainConfig(steps=steps, lr=self.lr, seed=seed, precision="fp32", **schedule)

    def train(self, d_model: int, steps: int, seed: int = 0, device: Any = "cpu") -> Trained:
        """Train a model from random weights; it is returned on the CPU, in evaluation mode."""
        torch.manual_seed(seed)
        return self.continue_training(self.new_model(d_model), self.config(steps, seed), device)

    def continue_training(self, model: nn.Module, config: TrainConfig, device: Any) -> Trained:
        """Train a model further."""
        batches = self.batches(config.seed)
        history = train(self.objective(model), batches, config, device=device, progress=False)
        tokens = round(config.steps * self.tokens_per_step(batches))
        return Trained(model.to("cpu").eval(), tokens, history.seconds)

    def adapt(self, larger: nn.Module, steps: int, seed: int = 0, device: Any = "cpu") -> Trained:
        """Train LoRA matrices beside the frozen weights of a copy of a pretrained model."""
        torch.manual_seed(seed)
        model = add_lora(self.receive(copy.deepcopy(larger)), RANK, ALPHA, names=MATRICES)
        for part in self.unfrozen(model):
            part.requires_grad_(True)
        config = TrainConfig(steps=steps, lr=8e-3, warmup=steps // 10, seed=seed, precision="fp32")
        return self.continue_training(model, config, device)

    def receive(self, model: nn.Module) -> nn.Module:
        """A pretrained model, made fit for this project's answers."""
        return model

    def unfrozen(self, model: nn.Module) -> list[nn.Module]:
        """Layers that are trained as a whole, because they are new."""
        return []

    def option_error(self, option: Any) -> ValueError:
        return ValueError(f"option={option!r} is none of {', '.join(map(repr, self.options()))}")


def heads(d_model: int) -> int:
    """Heads of 16 features each. Raises ValueError unless d_model is a multiple of 16."""
    if d_model < D_HEAD or d_model % D_HEAD:
        raise ValueError(f"d_model={d_model} is not a multiple of {D_HEAD}")
    return d_model // D_HEAD


def non_embedding(model: nn.Module) -> int:
    """Number of parameters without embedding matrices, as in chapter 7c."""
    inner = {p for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()}
    return sum(p.numel() for p in model.parameters() if p not in inner)


def part_of(items: Any, part: int) -> Any:
    """The first of so many equal parts, at least three items."""
    if part < 1:
        raise ValueError(f"part={part} must be at least 1")
    return items[: max(3, len(items) // part)]
