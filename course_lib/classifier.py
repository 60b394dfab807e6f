"""Text classification with an encoder: heads by name, training batches, scores."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.datasets import check_labels, check_number
from course_lib.text_encoder import TextEncoder
from course_lib.tokens import CLS, PAD, buckets, pad

States = Float[Tensor, "batch tokens d_model"]
Real = Bool[Tensor, "batch tokens"]
Features = Float[Tensor, "batch features"]


def first(states: States, real: Real) -> Features:
    """The state of the first token."""
    return states[:, 0]


def last(states: States, real: Real) -> Features:
    """The state of the last token that is not padding."""
    return states[torch.arange(len(states), device=states.device), (real.sum(dim=1) - 1).clamp(min=0)]


def mean(states: States, real: Real) -> Features:
    """The mean over the tokens that are not padding; zeros where there is none."""
    return (states * real[..., None]).sum(dim=1) / real.sum(dim=1, keepdim=True).clamp(min=1)


def largest(states: States, real: Real) -> Features:
    """Of each feature the largest value over the tokens that are not padding; zeros where there is none."""
    best = states.masked_fill(~real[..., None], -torch.inf).amax(dim=1)
    return best.masked_fill(~real.any(dim=1, keepdim=True), 0.0)


def flatten(states: States, real: Real) -> Features:
    """All states side by side, zeros in the place of padding."""
    return (states * real[..., None]).flatten(1)


POOLINGS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "class token": first,
    "mean": mean,
    "max": largest,
    "last token": last,
    "flatten": flatten,
}


class TextClassifier(nn.Module):
    """Says of which class a text is: an encoder, one vector made of its states, one linear layer.

    pooling: how the vector is made, "class token", "mean", "max", "last token" or "flatten". With the first,
    the token CLS is put before each text. With "flatten" the head has weights for each place, and takes texts
    of exactly max_tokens places.
    Raises ValueError for an unknown pooling.
    Source: C182-4, encoder classification.
    """

    def __init__(self, encoder: TextEncoder, classes: int, pooling: str = "class token"):
        super().__init__()
        if pooling not in POOLINGS:
            raise ValueError(f"pooling={pooling!r} is none of {sorted(POOLINGS)}")
        self.encoder, self.pooling = encoder, pooling
        places = encoder.config.max_tokens if pooling == "flatten" else 1
        self.head = nn.Linear(places * encoder.config.d_model, classes)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def features(self, ids: Int[Tensor, "batch tokens"]) -> Features:
        """The vector that the head reads of each text; padding has no part in it."""
        places = self.encoder.config.max_tokens
        if self.pooling == "flatten" and ids.shape[1] != places:
            raise ValueError(f"{ids.shape[1]} tokens: a head on flattened states of {places} takes {places}")
        if self.pooling == "class token":
            ids = F.pad(ids, (1, 0), value=CLS)
        return POOLINGS[self.pooling](self.encoder.states(ids), ids != PAD)

    def forward(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch classes"]:
        """How well each class fits each text: logits."""
        return self.head(self.features(ids))


class ClassificationObjective(nn.Module):
    """The loss of a classifier: −log of the probability of the right class.

    label_smoothing: the share of a label that is spread evenly over all classes (Szegedy et al. 2016).
    """

    def __init__(self, model: nn.Module, label_smoothing: float = 0.0):
        super().__init__()
        self.model, self.label_smoothing = model, label_smoothing

    def forward(
        self, ids: Int[Tensor, "batch tokens"], labels: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
        """Sum of the losses of the texts, and their number."""
        loss = F.cross_entropy(self.model(ids), labels, reduction="sum", label_smoothing=self.label_smoothing)
        return loss, labels.new_tensor(len(labels))


class LabelledBatches:
    """Texts with labels for `course_lib.training`, in batches of similar length.

    ids: of each text. labels: the number of its class, 0 … classes − 1. batch: texts in a batch.
    to: pads all to so many tokens, as a flattened head needs it. seed: of the order.
    Raises ValueError where there are no texts, not as many labels, or a label that is no class.
    """

    def __init__(
        self,
        ids: Sequence[Sequence[int]],
        labels: Sequence[int],
        classes: int,
        batch: int = 64,
        to: int | None = None,
        seed: int = 0,
    ):
        check_number("texts", len(ids), len(labels))
        check_labels(labels, classes)
        self.ids, self.labels = list(ids), list(labels)
        self.batch, self.to, self.seed = batch, to, seed

    def epoch(self, number: int) -> list[list[int]]:
        """The batches of an epoch, as numbers of texts; they depend on the seed and the epoch alone."""
        lengths = [(len(ids),) for ids in self.ids]
        return buckets(lengths, self.batch, seed=self.seed * 1_000_003 + number)

    def collate(self, numbers: Sequence[int]) -> tuple[Int[Tensor, "batch tokens"], Int[Tensor, " batch"]]:
        """Some texts, padded, and their labels."""
        return pad([self.ids[n] for n in numbers], self.to), torch.tensor([self.labels[n] for n in numbers])


@torch.inference_mode()
def predict(
    model: TextClassifier, ids: Sequence[Sequence[int]], batch: int = 256
) -> Float[Tensor, "texts classes"]:
    """The logits of each text, in their order, on the CPU; raises ValueError where there are no texts."""
    training, device = model.training, model.head.weight.device
    to = model.encoder.config.max_tokens if model.pooling == "flatten" else None
    model.eval()
    logits = [
        model(pad(ids[i : i + batch], to).to(device)).float().cpu() for i in range(0, max(len(ids), 1), batch)
    ]
    model.train(training)
    return torch.cat(logits)


def accuracy(model: TextClassifier, ids: Sequence[Sequence[int]], labels: Sequence[int]) -> float:
    """The share of texts whose most likely class is the right one."""
    return (predict(model, ids).argmax(dim=-1) == torch.tensor(labels)).float().mean().item()
