"""A small translator on few and many pairs, with words and with subwords (chapter 6).

    python -m course_lib.experiments vocabularies --minutes 5 real vocabularies

makes the missing runs of results/vocabularies.json from the data set spa-eng; `stored()` reads them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import torch

from course_lib.datasets import Pair, TranslationData, load_translation
from course_lib.experiments.runner import Experiment, learn
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.tasks.translation import TranslationBatches, TranslationLoss, mean_loss, translate
from course_lib.text.bleu import corpus_bleu
from course_lib.text.tokenizers import UNK, Tokenizer
from course_lib.training.config import TrainConfig

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
    data = material(recipe.data)
    pairs, held_out = data.train[: recipe.pairs], data.validation
    tokens = Tokenizer.train((text for pair in pairs for text in pair), recipe.vocab, recipe.kind)
    torch.manual_seed(recipe.seed)
    model = Seq2Seq(Seq2SeqConfig(vocab=len(tokens), **SIZES))
    batches = TranslationBatches(pairs, tokens, BATCH, SIZES["max_tokens"], recipe.seed)
    plan = {"steps": recipe.steps, "lr": 3e-3, "warmup": 100, "seed": recipe.seed}
    config = TrainConfig(**plan, evaluate_every=EVERY, precision="fp32")

    def evaluate() -> dict[str, float]:
        return {"loss": held_out_loss(model, tokens, held_out), "held_out": bleu(model, tokens, held_out)}

    objective = TranslationLoss(model, label_smoothing=0.1)
    history, seconds = learn(objective, batches, config, evaluate)
    unknown, tokens_per_word = coverage(tokens, held_out)
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
        seconds=seconds,
    )


@cache
def material(name: str) -> TranslationData:
    """The pairs of a data set; of a real one the short pairs, as in the lecture."""
    return load_translation(name, max_words=None if name == "grammar" else 8)


def held_out_loss(model: Seq2Seq, tokens: Tokenizer, pairs: list[Pair]) -> float:
    """Mean loss per token on some pairs, without label smoothing."""
    return round(mean_loss(model, tokens, pairs[:SCORED], SCORED), 3)


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
EXPERIMENT = Experiment(__file__, PARTS, make, Outcome, settings=lambda: {"every": EVERY}, shared=True)


def stored() -> dict[str, list[Outcome]]:
    """The stored runs by the question they answer: "real" and "vocabularies"."""
    return EXPERIMENT.stored()


if __name__ == "__main__":
    EXPERIMENT.main(__doc__)
