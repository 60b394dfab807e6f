"""Sentence pairs: a translator, against a dictionary and the nearest neighbor, in chrF."""

import random
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, product
from pathlib import Path
from typing import Any

from torch import nn

from course_lib.chapters.ch11_your_own_model.project import MOST_ANSWERS, TokenizedProject, heads, part_of
from course_lib.datasets import at_most, load_pairs, load_translation
from course_lib.datasets.batching import Batches
from course_lib.datasets.pairs import TranslationData
from course_lib.datasets.splits import Pair
from course_lib.datasets.text_files import PathLike
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.tasks.translation import (
    TranslationBatches,
    TranslationLoss,
    mean_loss,
    save_translator,
    translate,
)
from course_lib.text import UNK
from course_lib.text.bleu import held_out_scores
from course_lib.text.preparation import encode_pairs

MAX_TOKENS, MAX_WORDS = 256, 20
HELD_OUT = 200  # most pairs for validation and for testing


class PairsProject(TokenizedProject):
    """Pairs from a file or a set, of at most `max_words` words a sentence; the first `limit` to train on."""

    kind, unit = "pairs", "chrF"
    usual, choices = "bpe, 1000", ("words, 4000", "bpe, 500", "bpe, 1000", "bpe, 2000")

    def __init__(self, data: TranslationData, limit: int = 4000):
        self.data, self.limit = data, limit
        self.train_pairs = data.train[:limit]
        self.held_out, self.test = data.validation[:HELD_OUT], data.test[:HELD_OUT]
        self.too_long = 0
        self.max_tokens = max(MAX_TOKENS, 8 * (data.max_words or 0))  # few words are more than 8 tokens

    @classmethod
    def load(cls, path: PathLike, max_words: int = MAX_WORDS, **more: Any) -> "PairsProject":
        project, everything = cls(load_translation(path, max_words=max_words), **more), set(load_pairs(path))
        project.too_long = len(everything) - len(set(at_most(max_words, everything)))
        return project

    def pairs_of(self, part: str) -> list[Pair]:
        return {"train": self.train_pairs, "validation": self.held_out, "test": self.test}[part]

    def examples(self, part: str) -> list[str]:
        return [source for source, _ in self.pairs_of(part)]

    def answers(self, part: str) -> list[int]:
        _, target = encode_pairs(self.tokenizer, self.pairs_of(part))
        return list(chain(*target))[:MOST_ANSWERS]

    def look(self) -> Iterator[str]:
        data, pairs = self.data, self.train_pairs
        yield f"{len(pairs):,} of {len(data.train):,} training pairs of at most {data.max_words} words"
        if self.too_long:
            allowed = f"max_words={2 * data.max_words} would allow more"
            yield f"{self.too_long:,} longer pairs are left out; {allowed}"
        yield f"{len(self.held_out):,} for validation, {len(self.test):,} for testing"
        yield f"{len(data.left_out):,} pairs share a sentence with a held-out pair and are left out"
        sources = Counter(source for source, _ in pairs)
        yield f"{sum(many > 1 for many in sources.values()):,} source sentences have several translations"
        for source, target in pairs[:3]:
            yield f"{source!r:.60} → {target!r:.60}"

    def texts(self) -> Iterator[str]:
        return chain.from_iterable(self.train_pairs)

    def about(self, option: str) -> str:
        """Entries, rare ones, tokens, and unknown tokens in the validation pairs."""
        tokenizer = self.tokenizer_of(option)
        train, held_out = (
            list(chain(*chain(*encode_pairs(tokenizer, some)))) for some in (self.train_pairs, self.held_out)
        )
        return f"{self.entries(train, option)}; {held_out.count(UNK) / len(held_out):.1%} unknown"

    def choose(self, option: str | None = None) -> None:
        super().choose(option)
        _, target = encode_pairs(self.tokenizer, self.train_pairs)
        self.unique = sum(len(ids) + 1 for ids in target)
        self.per_example = self.unique / len(target)

    def dictionary(self) -> dict[str, str]:
        """For each source word, the target word that occurs with it most often, beyond its own frequency."""
        both, source_words, target_words = Counter[Pair](), Counter[str](), Counter[str]()
        for source, target in self.train_pairs:
            # sorted, so that of equally good words the same one wins in every session
            a, b = sorted(set(source.lower().split())), sorted(set(target.lower().split()))
            source_words.update(a)
            target_words.update(b)
            both.update(product(a, b))
        found: dict[str, dict[str, float]] = defaultdict(dict)
        for (a, b), many in both.items():  # Dice's coefficient
            found[a][b] = 2 * many / (source_words[a] + target_words[b])
        return {word: max(scores, key=scores.__getitem__) for word, scores in found.items()}

    def baselines(self) -> dict[str, float]:
        """Copying, a dictionary, and the translation of the training sentence that shares most words."""
        words, sources = self.dictionary(), [source for source, _ in self.test]
        bags = [(set(source.lower().split()), target) for source, target in self.train_pairs]

        def nearest(sentence: str) -> str:
            asked = set(sentence.lower().split())
            return max(bags, key=lambda bag: len(asked & bag[0]) / len(asked | bag[0]))[1]

        by_word = [" ".join(words.get(word, word) for word in text.lower().split()) for text in sources]
        answers = {"copy the source": sources, "dictionary": by_word}
        answers["nearest sentence"] = [nearest(text) for text in sources]
        return {name: self.chrf(texts) for name, texts in answers.items()}

    def chrf(self, translations: list[str]) -> float:
        return held_out_scores(translations, [target for _, target in self.test]).chrf

    def new_model(self, d_model: int) -> Seq2Seq:
        sizes = {"d_model": d_model, "heads": heads(d_model), "d_ff": 4 * d_model}
        form = {"max_tokens": self.max_tokens, "positions": "rotary"}
        return Seq2Seq(Seq2SeqConfig(vocab=len(self.tokenizer), **sizes, **form))

    def objective(self, model: nn.Module) -> TranslationLoss:
        return TranslationLoss(model, label_smoothing=0.0)  # type: ignore[arg-type]

    def batches(self, seed: int) -> Batches:
        return TranslationBatches(self.train_pairs, self.tokenizer, self.batch, self.max_tokens, seed)

    def validation_loss(self, model: nn.Module) -> float:
        return mean_loss(model, self.tokenizer, self.held_out)  # type: ignore[arg-type]

    def score(self, model: nn.Module) -> float:
        return self.chrf(self.translations(model, [source for source, _ in self.test]))

    def translations(self, model: nn.Module, sources: Sequence[str]) -> list[str]:
        """Greedy translations; new characters are expected in held-out sentences, so nobody is warned."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="the tokenizer does not know")
            return translate(model, self.tokenizer, sources)  # type: ignore[arg-type]

    def errors(self, model: nn.Module, most: int = 6) -> Iterator[str]:
        """The validation sentences with the lowest chrF of their own."""
        sources, references = zip(*self.held_out, strict=True)
        found = self.translations(model, sources)
        rows = zip(sources, references, found, strict=True)
        worst = sorted(rows, key=lambda row: held_out_scores([row[2]], [row[1]]).chrf)
        for source, reference, translation in worst[:most]:
            yield f"{source!r:.50} → {translation!r:.60}, should be {reference!r:.60}"

    def prompts(self) -> list[str]:
        """Validation sentences, to try."""
        return [source for source, _ in self.held_out[:5]]

    def save(self, folder: Path, model: nn.Module) -> None:
        save_translator(folder, model, self.tokenizer)  # type: ignore[arg-type]

    def with_train(self, pairs: list[Pair]) -> "PairsProject":
        """The same held-out pairs and tokenizer with other training pairs."""
        other = PairsProject(self.data, self.limit)
        other.train_pairs = pairs
        return other.with_tokenizer_of(self)

    def fewer(self, part: int) -> "PairsProject":
        return self.with_train(part_of(self.train_pairs, part))

    def related(self) -> "PairsProject":
        """Target sentences alone, with damaged copies as sources (denoising, chapter 7c)."""
        rng = random.Random(0)
        return self.with_train([(damaged(target, rng), target) for _, target in self.train_pairs])


def damaged(sentence: str, rng: random.Random) -> str:
    """A sentence without some of its words, in nearly its order."""
    words = sentence.split()
    kept = [word for word in words if rng.random() > 0.2] or words[:1]
    return " ".join(word for _, word in sorted((i + 2 * rng.random(), word) for i, word in enumerate(kept)))
