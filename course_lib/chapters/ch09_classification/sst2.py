"""Sentiment classification on SST-2: a bag of words against encoders trained from scratch (chapter 9).

    python -m course_lib.experiments sst2 --pretrained

makes the missing runs of results/sst2.json, in about seven minutes of one thread; without --pretrained, in
two minutes, it leaves out the encoder that is first pretrained to fill in masked tokens. `stored()` reads
them.
"""

import time
from functools import cache
from typing import Any

import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from course_lib.datasets import LabelledData, load_labelled
from course_lib.experiments.runner import Experiment, every, learn
from course_lib.models.text_encoder import EncoderConfig, TextEncoder
from course_lib.tasks.prefix_lm import PrefixLMLoss
from course_lib.tasks.pretraining import PretrainingBatches
from course_lib.tasks.text_classification import (
    LabelledBatches,
    TextClassificationLoss,
    TextClassifier,
    accuracy,
)
from course_lib.text.tokenizers import Tokenizer
from course_lib.training.config import TrainConfig
from course_lib.training.early_stopping import KeepBest

MAX_TOKENS = 200  # two sentences in pretraining
GRAMS = {"words": 1, "words and bigrams": 2}  # the longest that are counted
PIECES, WORDS = "word pieces", "whole words"
VOCAB = {PIECES: 5000, WORDS: 10_000}
SIZES = {
    PIECES: {"d_model": 96, "heads": 4, "layers": 2, "dropout": 0.3},
    WORDS: {"d_model": 96, "heads": 4, "layers": 1, "dropout": 0.5},  # of ten settings, best in validation
}
SEEDS = (0, 1, 2)
PRETRAINING, FINE_TUNING, EVERY = 900, 350, 50  # steps


@cache
def material() -> LabelledData:
    """The sentences of SST-2."""
    return load_labelled("sst2")


def bag_of_words(counts: str) -> dict[str, Any]:
    """Logistic regression on bags of words, without or with bigrams, regularized by validation."""
    data = material()
    vectors = CountVectorizer(ngram_range=(1, GRAMS[counts]), token_pattern=r"\S+", binary=True)
    train = vectors.fit_transform(data.train.sentences)
    models = [
        LogisticRegression(C=c, max_iter=1000).fit(train, data.train.labels) for c in (0.03, 0.1, 0.3, 1.0)
    ]

    def score(model: LogisticRegression, part: str) -> float:
        split = getattr(data, part)
        return round(100 * model.score(vectors.transform(split.sentences), split.labels), 2)

    best = max(models, key=lambda model: score(model, "validation"))
    return {"counts": counts, "validation": score(best, "validation"), "test": score(best, "test")}


def encoder(tokens: str, pretrained: bool, seed: int) -> dict[str, Any]:
    """One training run; the checkpoint with the best validation accuracy is tested.

    tokens: "word pieces" or "whole words".
    """
    start, data = time.process_time(), material()
    made = "bpe" if tokens == PIECES else "words"
    tokenizer = Tokenizer.train(data.train.sentences, vocab=VOCAB[tokens], kind=made)
    ids = [tokenizer.encode_batch(part.sentences) for part in (data.train, data.validation, data.test)]
    torch.manual_seed(seed)
    config = EncoderConfig(vocab=len(tokenizer) + 1, max_tokens=MAX_TOKENS, **SIZES[tokens])
    encoder = TextEncoder(config)
    form = {"optimizer": "muon", "precision": "fp32", "seed": seed, "average": 0.98}
    if pretrained:
        texts = PretrainingBatches(data.train.sentences, tokenizer, 32, "masked token", seed)
        plan = TrainConfig(steps=PRETRAINING, lr=5e-3, warmup=50, **form)
        learn(PrefixLMLoss(encoder, causal=False), texts, plan)
    model = TextClassifier(encoder, classes=2, pooling="mean")
    best = KeepBest(model, loss=lambda: -accuracy(model, ids[1], data.validation.labels))
    plan = TrainConfig(steps=FINE_TUNING, lr=2e-3, warmup=50, evaluate_every=EVERY, **form)
    batches = LabelledBatches(ids[0], data.train.labels, classes=2, batch=64, seed=seed)
    learn(TextClassificationLoss(model), batches, plan, best)
    validation = -best.restore()
    test = accuracy(model, ids[2], data.test.labels)
    scores = {"validation": round(100 * validation, 2), "test": round(100 * test, 2)}
    parameters = sum(p.numel() for p in model.parameters())
    return {
        "tokens": tokens, "pretrained": pretrained, "seed": seed, **scores, "parameters": parameters,
        "seconds": round(time.process_time() - start, 1),
    }  # fmt: skip


def encoders() -> list[dict[str, Any]]:
    """The encoders, three seeds each."""
    scratch = every(tokens=(PIECES, WORDS), pretrained=[False], seed=SEEDS)()
    return scratch + every(tokens=[PIECES], pretrained=[True], seed=SEEDS)()


EXPERIMENT = Experiment(
    __file__,
    {"bag of words": every(counts=GRAMS), "encoder": encoders},
    {"bag of words": bag_of_words, "encoder": encoder},
    dict,
    keys=("counts", "tokens", "pretrained", "seed"),
    settings=lambda: {"sentences": {p: len(getattr(material(), p)) for p in ("train", "validation", "test")}},
    flags={"pretrained": lambda recipe, given: given or not recipe.get("pretrained")},
)


def stored() -> dict[str, Any]:
    """The stored runs, "bag of words" and "encoder", with sentence counts, machine and command."""
    return EXPERIMENT.read()


if __name__ == "__main__":
    EXPERIMENT.main(__doc__)
