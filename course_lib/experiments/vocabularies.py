"""A small translator on few and many pairs, with words and with subwords (chapter 6).

    python -m course_lib.experiments.vocabularies --minutes 5 real vocabularies

adds what is missing to results/vocabularies.json, part by part, until the time is up; call it again to
resume. To start from scratch, delete the file first. Needs the data set spa-eng.
`stored()` reads the results.
"""

import argparse
import json
import re
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from course_lib.datasets import Pair, TranslationData, load_translation
from course_lib.experiments import storage
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.tasks.translation import TranslationBatches, TranslationLoss, translate
from course_lib.text.bleu import corpus_bleu
from course_lib.text.tokenizers import UNK, Tokenizer
from course_lib.training.config import TrainConfig
from course_lib.training.trainer import History, train

STORED = Path(__file__).parent / "results" / "vocabularies.json"
SIZES = {"d_model": 128, "heads": 4, "d_ff": 512, "max_tokens": 48, "dropout": 0.1}
BATCH, EVERY, SCORED = 64, 200, 500  # pairs in a batch, steps between two evaluations, sentences scored


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One training run.

    data: name of the data set; "spa-eng" with at most 8 words. pairs: number of training pairs; None: all.
    kind, vocab: of the tokenizer trained on these pairs, "bpe" or "words". steps: of 64 pairs each.
    """

    data: str
    pairs: int | None
    kind: str = "bpe"
    vocab: int = 6000
    steps: int = 1000
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a recipe.

    pairs, vocab: actually used. parameters: of the model. losses: on held-out pairs, every 200 steps.
    bleus: on held-out sentences, at the same steps; train_bleu: on as many training sentences, at the end.
    unknown: fraction of the words of the held-out sentences (both languages) that become unknown tokens.
    tokens_per_word: in these sentences. seconds: processor time of training, without evaluations.
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
        """BLEU on held-out sentences at the end."""
        return self.bleus[-1]


def make(recipe: Recipe) -> Outcome:
    """Train by the recipe on a CPU, with 100 steps of linear warm-up and linear decay."""
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


def prepared(recipe: Recipe) -> tuple[Tokenizer, TranslationLoss, TranslationBatches]:
    """Tokenizer, loss (with the untrained model) and batches of a recipe."""
    pairs = material(recipe.data).train[: recipe.pairs]
    tokens = Tokenizer.train((text for pair in pairs for text in pair), recipe.vocab, recipe.kind)
    torch.manual_seed(recipe.seed)
    model = Seq2Seq(Seq2SeqConfig(vocab=len(tokens), **SIZES))
    batches = TranslationBatches(pairs, tokens, BATCH, SIZES["max_tokens"], recipe.seed)
    return tokens, TranslationLoss(model, label_smoothing=0.1), batches


def outcome(recipe: Recipe, model: Seq2Seq, tokens: Tokenizer, history: History, seconds: float) -> Outcome:
    """The result of a training run that took this many seconds."""
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
    """The pairs of a data set; of a real one the short pairs, as in the lecture."""
    return load_translation(name, max_words=None if name == "grammar" else 8)


@torch.inference_mode()
def held_out_loss(model: Seq2Seq, tokens: Tokenizer, pairs: list[Pair]) -> float:
    """Mean loss per token on some pairs, without label smoothing."""
    objective = TranslationLoss(model, label_smoothing=0.0)
    batches = TranslationBatches(pairs[:SCORED], tokens, SCORED)
    ids = (some.to(model.embedding.weight.device) for some in batches.batch_of(range(len(batches.dataset))))
    loss, count = objective(*ids)
    return round((loss / count).item(), 3)


def bleu(model: Seq2Seq, tokens: Tokenizer, pairs: list[Pair]) -> float:
    """BLEU on some pairs with greedy decoding, in lower case, so that every vocabulary can reach 100."""
    sources, right = zip(*pairs[:SCORED], strict=True)
    said = translate(model, tokens, sources, max_tokens=30)
    return round(corpus_bleu([words(text) for text in said], [words(text) for text in right]).score, 1)


def words(text: str) -> list[str]:
    """Words and punctuation marks, in lower case."""
    return re.findall(r"\w+|[^\w\s]", text.lower())


def coverage(tokens: Tokenizer, pairs: list[Pair]) -> tuple[float, float]:
    """The fraction of the pairs' words with an unknown token, and the mean number of tokens per word."""
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


NUMBERS = (250, 1000, 4000, 16_000, None)  # of pairs; None: all
ALL_WORDS = 100_000  # room for every word of the training sentences


def real() -> Iterable[Recipe]:
    """The same model and number of steps on more and more real pairs."""
    for number in NUMBERS:
        yield Recipe(data="spa-eng", pairs=number)


def vocabularies() -> Iterable[Recipe]:
    """The same pairs as subwords and as whole words, with two seeds."""
    for seed in (0, 1):
        yield Recipe(data="spa-eng", pairs=16_000, seed=seed)
        yield Recipe(data="spa-eng", pairs=16_000, kind="words", vocab=ALL_WORDS, seed=seed)


PARTS = {"real": real, "vocabularies": vocabularies}


def main() -> None:
    """Make the missing runs of the chosen parts until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    parser.add_argument("--minutes", type=float, default=60.0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    end = time.monotonic() + 60 * arguments.minutes
    for part in arguments.parts:
        missing = [recipe for recipe in PARTS[part]() if find(recipe, part) is None]
        for recipe in storage.until(end, missing, part):
            add(part, find(recipe) or json.loads(json.dumps(asdict(make(recipe)))))


def find(recipe: Recipe, *parts: str) -> dict[str, Any] | None:
    """The stored run of this recipe, in these parts or in any."""
    runs = read()["runs"]
    known = (run for part in parts or runs for run in runs.get(part, []))
    return next((run for run in known if run["recipe"] == asdict(recipe)), None)


def add(part: str, run: dict[str, Any]) -> None:
    """Store one run, keeping what another process may have stored in the meantime."""
    storage.add_runs(STORED, read(), part, [run], "recipe")


def read() -> dict[str, Any]:
    return storage.read_runs(STORED, "course_lib.experiments.vocabularies", every=EVERY)


if __name__ == "__main__":
    main()
