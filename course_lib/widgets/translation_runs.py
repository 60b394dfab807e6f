"""Trainings of one small translator on few and many pairs, with words and subwords: how each is made, and
those that are stored beside this file.

They are remade by `cd tests && python -m benchmarks.translation_runs`.
"""

import json
import re
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from course_lib.bleu import corpus_bleu
from course_lib.datasets import Pair, TranslationData, load_translation
from course_lib.schedules import TrainConfig
from course_lib.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.tokens import UNK, Tokens
from course_lib.training import History, train
from course_lib.translation import TranslationBatches, TranslationObjective, translate

STORED = Path(__file__).with_name("translation_runs.json")
SIZES = {"d_model": 128, "heads": 4, "d_ff": 512, "max_tokens": 48, "dropout": 0.1}
BATCH, EVERY, SCORED = 64, 200, 500  # pairs in a batch, steps between two evaluations, sentences scored


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One training.

    data: name of the set, "spa-eng" with at most 8 words. pairs: that are trained on, or None for all.
    kind, vocab: of the vocabulary, learnt from these pairs, "bpe" or "words". steps: of 64 pairs each.
    """

    data: str
    pairs: int | None
    kind: str = "bpe"
    vocab: int = 6000
    steps: int = 1000
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a recipe.

    pairs, vocab: really used. parameters: of the model. losses: on held-out pairs, each 200 steps.
    bleus: on held-out sentences, at the same steps; train_bleu: on as many training sentences at the end.
    unknown: share of the words of the held-out source and target sentences that the vocabulary cannot write.
    tokens_per_word: in these sentences. seconds: processor time of the training, evaluations left out.
    """

    recipe: Recipe
    pairs: int
    vocab: int
    parameters: int
    losses: tuple[float, ...]
    bleus: tuple[float, ...]
    train_bleu: float
    unknown: float
    tokens_per_word: float
    seconds: float

    @property
    def bleu(self) -> float:
        """On held-out sentences at the end."""
        return self.bleus[-1]


def make(recipe: Recipe) -> Outcome:
    """Train by the recipe, on one thread of the CPU, with a linear rise of 100 steps and a linear fall."""
    tokens, objective, batches = prepared(recipe)
    model, data, off_clock = objective.model, material(recipe.data), 0.0
    plan = {"steps": recipe.steps, "lr": 3e-3, "warmup": 100, "seed": recipe.seed}
    config = TrainConfig(**plan, evaluate_every=EVERY, precision="fp32")

    def evaluate() -> dict[str, float]:
        nonlocal off_clock
        begin = time.process_time()
        loss, score = (measure(model, tokens, data.validation) for measure in (held_out_loss, bleu))
        off_clock += time.process_time() - begin
        return {"loss": loss, "held_out": score}

    begin = time.process_time()
    history = train(objective, batches, config, evaluate=evaluate, device="cpu", progress=False)
    seconds = time.process_time() - begin - off_clock
    return outcome(recipe, model, tokens, history, seconds)


def prepared(recipe: Recipe) -> tuple[Tokens, TranslationObjective, TranslationBatches]:
    """Vocabulary, untrained model and batches of a recipe."""
    pairs = material(recipe.data).train[: recipe.pairs]
    tokens = Tokens.train((text for pair in pairs for text in pair), recipe.vocab, recipe.kind)
    torch.manual_seed(recipe.seed)
    model = Seq2Seq(Seq2SeqConfig(vocab=len(tokens), **SIZES))
    batches = TranslationBatches(pairs, tokens, BATCH, SIZES["max_tokens"], recipe.seed)
    return tokens, TranslationObjective(model, label_smoothing=0.1), batches


def outcome(recipe: Recipe, model: Seq2Seq, tokens: Tokens, history: History, seconds: float) -> Outcome:
    """What is stored of a training that took so many seconds."""
    data = material(recipe.data)
    pairs = data.train[: recipe.pairs]
    unknown, tokens_per_word = coverage(tokens, data.validation)
    return Outcome(
        recipe=recipe,
        pairs=len(pairs),
        vocab=len(tokens),
        parameters=sum(p.numel() for p in model.parameters()),
        losses=tuple(scores["loss"] for scores in history.evaluations),
        bleus=tuple(scores["held_out"] for scores in history.evaluations),
        train_bleu=bleu(model, tokens, pairs),
        unknown=round(unknown, 4),
        tokens_per_word=round(tokens_per_word, 3),
        seconds=round(seconds, 1),
    )


@lru_cache
def material(name: str) -> TranslationData:
    """The pairs of a set; of a real one the short ones, as in the lecture."""
    return load_translation(name, max_words=None if name == "grammar" else 8)


@torch.inference_mode()
def held_out_loss(model: Seq2Seq, tokens: Tokens, pairs: list[Pair]) -> float:
    """Mean of −log p over the tokens of some pairs, without label smoothing."""
    objective = TranslationObjective(model, label_smoothing=0.0)
    batches = TranslationBatches(pairs[:SCORED], tokens, SCORED)
    loss, count = objective(*batches.collate(range(len(batches.ids))))
    return round((loss / count).item(), 3)


def bleu(model: Seq2Seq, tokens: Tokens, pairs: list[Pair]) -> float:
    """BLEU on some pairs, translated greedily: without capitals, so that every vocabulary can reach 100."""
    sources, right = zip(*pairs[:SCORED], strict=True)
    said = translate(model, tokens, sources, max_tokens=30)
    return round(corpus_bleu([words(text) for text in said], [words(text) for text in right]).score, 1)


def words(text: str) -> list[str]:
    """Words and punctuation marks, in lower case."""
    return re.findall(r"\w+|[^\w\s]", text.lower())


def coverage(tokens: Tokens, pairs: list[Pair]) -> tuple[float, float]:
    """Of the words of some pairs: the share that holds an unknown token, and the mean number of tokens."""
    found = [word for pair in pairs for text in pair for word in words(text)]
    ids = tokens.encode_batch(found)
    return sum(UNK in row for row in ids) / len(found), sum(map(len, ids)) / len(found)


def stored() -> dict[str, list[Outcome]]:
    """The stored runs by the question they answer: "real" and "vocabularies"."""
    parts: dict[str, list[dict[str, Any]]] = json.loads(STORED.read_text(encoding="utf-8"))["runs"]
    return {part: [as_outcome(run) for run in runs] for part, runs in parts.items()}


def as_outcome(run: dict[str, Any]) -> Outcome:
    lists = {name: tuple(run[name]) for name in ("losses", "bleus")}
    return Outcome(**{**run, **lists, "recipe": Recipe(**run["recipe"])})
