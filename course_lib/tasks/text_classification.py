"""Text classification with an encoder: pooling, batches, loss, accuracy, model files."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.datasets import check_labels, check_number
from course_lib.datasets.batching import Batches, BucketBatchSampler, ListDataset, pad
from course_lib.models.text_encoder import EncoderConfig, TextEncoder
from course_lib.text.tokenizers import CLS, PAD, Vocabulary
from course_lib.text.unicode_text import refuse_text
from course_lib.training.evaluation import evaluating
from course_lib.training.model_folder import load_model_folder, save_model_folder
from course_lib.utils.ranges import check_whole

States = Float[Tensor, "batch tokens d_model"]
NonPad = Bool[Tensor, "batch tokens"]
Features = Float[Tensor, "batch features"]


def _boolean(nonpad: Tensor) -> Tensor:
    """The mask itself. Raises ValueError if it is not Boolean."""
    if nonpad.dtype != torch.bool:
        raise ValueError(
            f"the mask has dtype {nonpad.dtype}, but must be Boolean (torch.bool): "
            "True for tokens, False for padding"
        )
    return nonpad


def first(hidden: States, nonpad: NonPad) -> Features:
    """Hidden state of the first token."""
    return hidden[:, 0]


def last(hidden: States, nonpad: NonPad) -> Features:
    """Hidden state of the last non-padding token."""
    ends = (_boolean(nonpad) * torch.arange(nonpad.shape[1], device=nonpad.device)).amax(dim=1)
    return hidden[torch.arange(hidden.shape[0], device=hidden.device), ends]


def mean(hidden: States, nonpad: NonPad) -> Features:
    """Mean pooling over the non-padding tokens; zeros if there are none."""
    return (hidden * _boolean(nonpad)[..., None]).sum(dim=1) / nonpad.sum(dim=1, keepdim=True).clamp(min=1)


def largest(hidden: States, nonpad: NonPad) -> Features:
    """Max pooling over the non-padding tokens; zeros if there are none."""
    best = hidden.masked_fill(~_boolean(nonpad)[..., None], -torch.inf).amax(dim=1)
    return best.masked_fill(~nonpad.any(dim=1, keepdim=True), 0.0)


def flatten(hidden: States, nonpad: NonPad) -> Features:
    """All hidden states, concatenated; zeros for padding."""
    return (hidden * _boolean(nonpad)[..., None]).flatten(1)


POOLINGS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "class token": first,
    "mean": mean,
    "max": largest,
    "last token": last,
    "flatten": flatten,
}


class TextClassifier(nn.Module):
    """Text classifier: an encoder, pooling of its hidden states into one vector, and a linear layer.

    pooling: "class token", "mean", "max", "last token" or "flatten". With "class token", CLS is prepended to
    each text. With "flatten", the head has weights for each position, and texts must be padded to max_tokens.
    Raises ValueError for an unknown pooling.
    Source: C182-4, encoder classification.

    >>> from course_lib.models import EncoderConfig, TextEncoder
    >>> model = TextClassifier(TextEncoder(EncoderConfig(vocab=100)), classes=2, pooling="mean")
    >>> model(torch.tensor([[5, 6, 7], [8, 9, 0]])).shape  # logits of two texts
    torch.Size([2, 2])
    """

    def __init__(self, encoder: TextEncoder, classes: int, pooling: str = "class token"):
        super().__init__()
        if pooling not in POOLINGS:
            raise ValueError(f"pooling={pooling!r} is none of {sorted(POOLINGS)}")
        self.encoder, self.pooling = encoder, pooling
        positions = encoder.config.max_tokens if pooling == "flatten" else 1
        self.head = nn.Linear(positions * encoder.config.d_model, classes)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def features(self, ids: Int[Tensor, "batch tokens"]) -> Features:
        """The pooled hidden states of each text, without padding."""
        positions = self.encoder.config.max_tokens
        if self.pooling == "flatten" and ids.shape[1] != positions:
            raise ValueError(f"{ids.shape[1]} tokens, but pooling='flatten' needs exactly {positions}")
        if self.pooling == "class token":
            ids = F.pad(ids, (1, 0), value=CLS)
        return POOLINGS[self.pooling](self.encoder.hidden_states(ids), ids != PAD)

    def forward(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch classes"]:
        """Logits of the classes."""
        return self.head(self.features(ids))


class TextClassificationLoss(nn.Module):
    """Cross-entropy of a text classifier: −log of the probability of the correct class.

    label_smoothing: the smoothing ε, the probability mass spread evenly over all classes.
    Source: Szegedy et al. 2016 (label smoothing).

    >>> from course_lib.models import EncoderConfig, TextEncoder
    >>> model = TextClassifier(TextEncoder(EncoderConfig(vocab=100)), classes=2)
    >>> loss, texts = TextClassificationLoss(model)(torch.tensor([[5, 6, 7]]), torch.tensor([1]))
    >>> texts
    tensor(1)
    """

    def __init__(self, model: nn.Module, label_smoothing: float = 0.0):
        super().__init__()
        self.model, self.label_smoothing = model, label_smoothing

    def forward(
        self, ids: Int[Tensor, "batch tokens"], labels: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
        """Sum of the losses over the texts, and the number of texts."""
        loss = F.cross_entropy(self.model(ids), labels, reduction="sum", label_smoothing=self.label_smoothing)
        return loss, torch.full((), labels.shape[0], device=labels.device)


class LabelledBatches(Batches):
    """Batches of labeled texts of similar length.

    ids: of each text. labels: class indices, 0 … classes − 1. batch: batch size.
    to: pad all texts to this length, for pooling="flatten". seed: of the order.
    Raises ValueError if there are no texts, not as many labels as texts, or unknown labels.

    >>> [[ids, labels]] = LabelledBatches([[5, 6, 7], [8, 9]], labels=[0, 1], classes=2, batch=2)
    >>> ids.shape, sorted(labels.tolist())
    (torch.Size([2, 3]), [0, 1])
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
        self.to = to
        order = BucketBatchSampler([(len(text),) for text in ids], batch, seed)
        super().__init__(ListDataset(list(zip(ids, labels, strict=True))), order, self.collate)

    def collate(
        self, examples: Sequence[tuple[Sequence[int], int]]
    ) -> tuple[Int[Tensor, "batch tokens"], Int[Tensor, " batch"]]:
        """Pad the texts."""
        ids, labels = zip(*examples, strict=True)
        return pad(ids, self.to), torch.tensor(labels)


@torch.inference_mode()
def predict(
    model: TextClassifier, ids: Sequence[Sequence[int]], batch: int = 256
) -> Float[Tensor, "texts classes"]:
    """Logits of each text, on the CPU. Raises ValueError if there are no texts."""
    check_whole(1, batch=batch)
    device = model.head.weight.device
    to = model.encoder.config.max_tokens if model.pooling == "flatten" else None
    with evaluating(model):
        parts = (pad(ids[i : i + batch], to) for i in range(0, max(len(ids), 1), batch))
        return torch.cat([model(part.to(device)).float().cpu() for part in parts])


def accuracy(model: TextClassifier, ids: Sequence[Sequence[int]], labels: Sequence[int]) -> float:
    """Accuracy: fraction of texts whose most likely class is correct."""
    return (predict(model, ids).argmax(dim=-1) == torch.tensor(labels)).float().mean().item()


def save_text_classifier(
    folder: str | Path, model: TextClassifier, tokenizer: Vocabulary, classes: Sequence[str]
) -> None:
    """Write a text classifier: configuration, tokenizer, class names, weights.

    Raises ValueError unless there is one name for each class of the model.
    """
    refuse_text(classes=classes)
    if len(classes) != model.head.out_features:
        raise ValueError(f"{len(classes)} class names, but the model has classes={model.head.out_features}")
    more = {"pooling": model.pooling, "classes": list(classes)}
    save_model_folder(folder, "text classifier", model, model.encoder.config, tokenizer, **more)


def load_text_classifier(
    folder: str | Path, device: torch.device | str = "cpu"
) -> tuple[TextClassifier, Vocabulary, list[str]]:
    """Read a folder by `save_text_classifier`: the model in evaluation mode, its tokenizer, its class names.

    Errors: as in `load_model_folder`.
    """

    def build(config: EncoderConfig, about: dict[str, Any]) -> TextClassifier:
        return TextClassifier(TextEncoder(config), len(about["classes"]), about["pooling"])

    kind = ("text classifier", EncoderConfig, build)
    model, tokenizer, about = load_model_folder(folder, *kind, device, ("tokenizer", "pooling", "classes"))
    return model, tokenizer, about["classes"]
