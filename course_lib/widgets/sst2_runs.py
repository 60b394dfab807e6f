"""SST-2 with an encoder from scratch: the run stored beside this file, and what it is compared with.

It is remade by `cd tests && python -m benchmarks.sst2_runs`.
"""

import copy
import json
import time
from functools import cache
from pathlib import Path
from typing import Any

import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from course_lib.classifier import ClassificationObjective, LabelledBatches, TextClassifier, accuracy
from course_lib.datasets import LabelledData
from course_lib.prefix_translation import LabelledObjective
from course_lib.pretraining import UnlabelledTexts
from course_lib.schedules import TrainConfig
from course_lib.text_encoder import EncoderConfig, TextEncoder
from course_lib.tokens import Tokens
from course_lib.training import train

STORED = Path(__file__).with_name("sst2_runs.json")
VOCAB, MAX_TOKENS = 5000, 200  # two sentences in pretraining
SIZES = {"d_model": 96, "heads": 4, "layers": 2, "dropout": 0.3}
PRETRAINING, FINE_TUNING, EVERY = 900, 350, 50  # steps


def bag_of_words(data: LabelledData) -> list[dict[str, Any]]:
    """Logistic regression on counts of words, and of words and pairs of words; its strength by validation."""
    found = []
    for name, longest in (("words", 1), ("words and pairs", 2)):
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


def encoder_run(data: LabelledData, pretrained: bool, seed: int = 0) -> dict[str, Any]:
    """One training; the state with the best validation accuracy is the one that is tested."""
    start = time.process_time()
    tokens = Tokens.train(data.train.sentences, vocab=VOCAB)
    parts = (data.train, data.validation, data.test)
    ids = [tokens.encode_batch(part.sentences) for part in parts]
    torch.manual_seed(seed)
    encoder = TextEncoder(EncoderConfig(vocab=len(tokens) + 1, max_tokens=MAX_TOKENS, **SIZES))
    form = {"optimizer": "muon", "precision": "fp32", "seed": seed, "average": 0.98}
    if pretrained:
        texts = UnlabelledTexts(data.train.sentences, tokens, 32, "masked token", seed)
        plan = TrainConfig(steps=PRETRAINING, lr=5e-3, warmup=50, **form)
        train(LabelledObjective(encoder, causal=False), texts, plan, device="cpu", progress=False)
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
    train(ClassificationObjective(model), batches, plan, evaluate=evaluate, device="cpu", progress=False)
    model.load_state_dict(best[1])
    test = accuracy(model, ids[2], data.test.labels)
    scores = {"validation": round(100 * best[0], 2), "test": round(100 * test, 2)}
    parameters = sum(p.numel() for p in model.parameters())
    return {
        "pretrained": pretrained, "seed": seed, **scores, "parameters": parameters,
        "seconds": round(time.process_time() - start, 1),
    }  # fmt: skip


@cache
def stored() -> dict[str, Any]:
    """The stored runs, "bag of words" and "encoder"; with the sentences, the machine and the command."""
    return json.loads(STORED.read_text(encoding="utf-8"))
