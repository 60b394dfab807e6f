"""Sentiment classification on SST-2: a bag of words against encoders trained from scratch (chapter 9).

    python -m course_lib.experiments.sst2 --pretrained

writes results/sst2.json in about seven minutes of one thread; without --pretrained, in two minutes, it
leaves out the encoder that is first pretrained to fill in masked tokens. `stored()` reads the results.
"""

import argparse
import copy
import json
import time
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from course_lib.datasets import LabelledData, load_labelled
from course_lib.experiments import storage
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
from course_lib.training.trainer import train
from course_lib.utils import machine

STORED = Path(__file__).parent / "results" / "sst2.json"
MAX_TOKENS = 200  # two sentences in pretraining
PIECES, WORDS = "word pieces", "whole words"
VOCAB = {PIECES: 5000, WORDS: 10_000}
SIZES = {
    PIECES: {"d_model": 96, "heads": 4, "layers": 2, "dropout": 0.3},
    WORDS: {"d_model": 96, "heads": 4, "layers": 1, "dropout": 0.5},  # of ten settings, best in validation
}
SEEDS = (0, 1, 2)
PRETRAINING, FINE_TUNING, EVERY = 900, 350, 50  # steps


def bag_of_words(data: LabelledData) -> list[dict[str, Any]]:
    """Logistic regression on bags of words, without and with bigrams, regularized by validation."""
    found = []
    for name, longest in (("words", 1), ("words and bigrams", 2)):
        counts = CountVectorizer(ngram_range=(1, longest), token_pattern=r"\S+", binary=True)
        train_counts = counts.fit_transform(data.train.sentences)
        validation, test = (counts.transform(part.sentences) for part in (data.validation, data.test))
        models = [
            LogisticRegression(C=c, max_iter=1000).fit(train_counts, data.train.labels)
            for c in (0.03, 0.1, 0.3, 1.0)
        ]
        best = max(models, key=lambda model: model.score(validation, data.validation.labels))
        scores = {
            part: round(100 * best.score(x, getattr(data, part).labels), 2)
            for part, x in (("validation", validation), ("test", test))
        }
        found.append({"counts": name, **scores})
    return found


def encoder_run(
    data: LabelledData, kind: str = PIECES, pretrained: bool = False, seed: int = 0
) -> dict[str, Any]:
    """One training run; the checkpoint with the best validation accuracy is tested.

    kind: of tokens, "word pieces" or "whole words".
    """
    start = time.process_time()
    made = "bpe" if kind == PIECES else "words"
    tokens = Tokenizer.train(data.train.sentences, vocab=VOCAB[kind], kind=made)
    parts = (data.train, data.validation, data.test)
    ids = [tokens.encode_batch(part.sentences) for part in parts]
    torch.manual_seed(seed)
    encoder = TextEncoder(EncoderConfig(vocab=len(tokens) + 1, max_tokens=MAX_TOKENS, **SIZES[kind]))
    form = {"optimizer": "muon", "precision": "fp32", "seed": seed, "average": 0.98}
    if pretrained:
        texts = PretrainingBatches(data.train.sentences, tokens, 32, "masked token", seed)
        plan = TrainConfig(steps=PRETRAINING, lr=5e-3, warmup=50, **form)
        train(PrefixLMLoss(encoder, causal=False), texts, plan, device="cpu", progress=False)
    model = TextClassifier(encoder, classes=2, pooling="mean")
    best: tuple[float, dict] = (0.0, {})

    def evaluate() -> dict[str, float]:
        nonlocal best
        score = accuracy(model, ids[1], data.validation.labels)
        if score > best[0]:
            best = score, copy.deepcopy(model.state_dict())
        return {"accuracy": score}

    plan = TrainConfig(steps=FINE_TUNING, lr=2e-3, warmup=50, evaluate_every=EVERY, **form)
    batches = LabelledBatches(ids[0], data.train.labels, classes=2, batch=64, seed=seed)
    train(TextClassificationLoss(model), batches, plan, evaluate=evaluate, device="cpu", progress=False)
    model.load_state_dict(best[1])
    test = accuracy(model, ids[2], data.test.labels)
    scores = {"validation": round(100 * best[0], 2), "test": round(100 * test, 2)}
    parameters = sum(p.numel() for p in model.parameters())
    return {
        "tokens": kind, "pretrained": pretrained, "seed": seed, **scores, "parameters": parameters,
        "seconds": round(time.process_time() - start, 1),
    }  # fmt: skip


@cache
def stored() -> dict[str, Any]:
    """The stored runs, "bag of words" and "encoder", with sentence counts, machine and command."""
    return json.loads(STORED.read_text(encoding="utf-8"))


def main() -> None:
    """Make the runs and store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pretrained", action="store_true")
    more = parser.parse_args().pretrained
    torch.set_num_threads(1)
    data = load_labelled("sst2")
    content: dict[str, Any] = {
        "command": "python -m course_lib.experiments.sst2" + " --pretrained" * more,
        "machine": machine.describe("cpu"),
        "sentences": {part: len(getattr(data, part)) for part in ("train", "validation", "test")},
        "runs": {"bag of words": bag_of_words(data), "encoder": []},
    }
    kinds = [(PIECES, False), (WORDS, False), *([(PIECES, True)] if more else [])]
    for (kind, pretrained), seed in product(kinds, SEEDS):
        content["runs"]["encoder"].append(encoder_run(data, kind, pretrained, seed))
        print(json.dumps(content["runs"]["encoder"][-1]), flush=True)
    storage.write_runs(STORED, content)


if __name__ == "__main__":
    main()
