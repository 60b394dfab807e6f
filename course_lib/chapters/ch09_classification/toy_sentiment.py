"""Small sentiment classifiers for the course's own reviews, one per kind of pooling, trained and stored."""

from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import torch

from course_lib.datasets import LabelledData, load_labelled
from course_lib.models.text_encoder import EncoderConfig, TextEncoder
from course_lib.tasks.text_classification import LabelledBatches, TextClassificationLoss, TextClassifier
from course_lib.text.tokenizers import Tokenizer
from course_lib.training.config import TrainConfig
from course_lib.training.trainer import train
from course_lib.widgets import stored

SIZES = {"d_model": 32, "heads": 4, "layers": 2, "max_tokens": 24}
HEADS = ("class token", "mean", "max")
TRAINING = TrainConfig(steps=600, optimizer="muon", lr=1e-2, warmup=30, precision="fp32")
SENTENCES = (
    "The soup was cold, but the waiter was polite.",
    "The soup was cold, although the waiter was polite.",
    "The film was not boring.",
    "Everybody said that the room was clean, but that was wrong.",
    "I was sorry when the concert was over.",
)


@cache
def material() -> tuple[LabelledData, Tokenizer]:
    """The reviews, and a word tokenizer trained on the training reviews."""
    data = load_labelled("reviews")
    return data, Tokenizer.train(data.train.sentences, vocab=1000, kind="words")


def file_of(pooling: str) -> Path:
    """The stored file of the classifier with this pooling."""
    return Path(__file__).parent / "models" / f"sentiment_{pooling.replace(' ', '_')}.safetensors"


def new_critic(pooling: str) -> TextClassifier:
    """The untrained classifier with this kind of pooling."""
    return TextClassifier(TextEncoder(EncoderConfig(vocab=len(material()[1]), **SIZES)), 2, pooling)


def train_critic(pooling: str, steps: int | None = None, seed: int = 0) -> TextClassifier:
    """Train a classifier with this kind of pooling. steps: overrides the usual number."""
    data, tokens = material()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = new_critic(pooling)
        ids = tokens.encode_batch(data.train.sentences)
        batches = LabelledBatches(ids, data.train.labels, classes=2, batch=64)
        plan = replace(TRAINING, steps=TRAINING.steps if steps is None else steps)
        train(TextClassificationLoss(model), batches, plan, device="cpu", progress=False)
    return model.eval().requires_grad_(False)


@cache
def small_critic(pooling: str) -> TextClassifier:
    """The stored classifier with this kind of pooling; cached."""
    return stored.load(partial(new_critic, pooling), file_of(pooling))
