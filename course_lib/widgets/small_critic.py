"""Small classifiers of the course's own opinions, one for each head, trained when first asked for."""

from functools import cache

import torch

from course_lib.classifier import ClassificationObjective, LabelledBatches, TextClassifier
from course_lib.datasets import LabelledData, load_labelled
from course_lib.schedules import TrainConfig
from course_lib.text_encoder import EncoderConfig, TextEncoder
from course_lib.tokens import Tokens
from course_lib.training import train

SIZES = {"d_model": 32, "heads": 4, "layers": 2, "max_tokens": 24}
HEADS = ("class token", "mean", "max")
TRAINING = TrainConfig(steps=300, optimizer="muon", lr=1e-2, warmup=30, precision="fp32")
SENTENCES = (
    "The soup was cold, but the waiter was polite.",
    "The soup was cold, although the waiter was polite.",
    "The film was not boring.",
    "Everybody said that the room was clean, but that was wrong.",
    "I was sorry when the concert was over.",
)


@cache
def material() -> tuple[LabelledData, Tokens]:
    """The opinions, and the words of those to train on."""
    data = load_labelled("reviews")
    return data, Tokens.train(data.train.sentences, vocab=1000, kind="words")


def train_critic(pooling: str, steps: int | None = None, seed: int = 0) -> TextClassifier:
    """Train a classifier with this head, for fewer steps where a number is given."""
    data, tokens = material()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = TextClassifier(TextEncoder(EncoderConfig(vocab=len(tokens), **SIZES)), 2, pooling)
        ids = tokens.encode_batch(data.train.sentences)
        batches = LabelledBatches(ids, data.train.labels, classes=2, batch=64)
        plan = TRAINING if steps is None else TrainConfig(steps=steps, lr=1e-2, warmup=30, precision="fp32")
        train(ClassificationObjective(model), batches, plan, device="cpu", progress=False)
    return model.eval().requires_grad_(False)


@cache
def small_critic(pooling: str) -> TextClassifier:
    """The trained classifier with this head; trained once."""
    return train_critic(pooling)
