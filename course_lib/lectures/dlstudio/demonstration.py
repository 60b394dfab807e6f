"""The lecture's demonstration: twenty translations of training sentences, plus held-out ones."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from jaxtyping import Int
from torch import Tensor

from course_lib.datasets import Pair, TranslationData
from course_lib.lectures.dlstudio.blocks import DLStudioConfig
from course_lib.lectures.dlstudio.deviations import Deviations
from course_lib.lectures.dlstudio.procedure import Procedure, training, translate
from course_lib.lectures.dlstudio.transformer import TransformerFG
from course_lib.lectures.dlstudio.words import Vocabulary, words_of
from course_lib.text.bleu import corpus_bleu

SHOWN = 20


@dataclass(frozen=True)
class Corpus:
    """Training pairs, held-out pairs without unknown words, and the vocabularies.

    tokens: length of every sentence, including SOS and EOS.
    """

    train: list[Pair]
    held_out: list[Pair]
    source: Vocabulary
    target: Vocabulary
    tokens: int

    def encode(
        self, pairs: Sequence[Pair]
    ) -> tuple[Int[Tensor, "pairs tokens"], Int[Tensor, "pairs tokens"]]:
        """Ids of the source and of the target sentences."""
        source, target = zip(*pairs, strict=True)
        return self.source.encode(source, self.tokens), self.target.encode(target, self.tokens)

    def tested(self, procedure: Procedure) -> list[Pair]:
        """Pairs from which this procedure takes its test sentences."""
        return self.train if procedure.tests_on_training else self.held_out


@dataclass(frozen=True)
class Translation:
    """A translated pair: the sentences, all output tokens as text, and the output words up to EOS."""

    pair: Pair
    spelt: str
    words: list[str]

    @property
    def right(self) -> bool:
        return self.words == words_of(self.pair[1])


@dataclass(frozen=True)
class Score:
    """Exact-match rate of sentences and position-wise word accuracy (0 to 1), and corpus BLEU (0 to 100)."""

    right: float
    words_right: float
    bleu: float


@dataclass(frozen=True)
class Demonstration:
    """Translations of training and held-out sentences by one model, and the loss of each training step."""

    training: list[Translation]
    held_out: list[Translation]
    losses: list[float]


def corpus_of(data: TranslationData, train: int = 500, held_out: int = 100, tokens: int = 10) -> Corpus:
    """Corpus of the first pairs short enough for the lecture's system; `held_out` are test pairs.

    Raises ValueError for too few training pairs, or too few held-out pairs without unknown words.
    """

    def short(pair: Pair) -> bool:
        return all(0 < len(words_of(text)) <= tokens - 2 for text in pair)

    first = [pair for pair in data.train if short(pair)][:train]
    if len(first) < train:
        raise ValueError(f"train={train} pairs requested, but only {len(first)} fit into tokens={tokens}")
    both = [Vocabulary(pair[side] for pair in first) for side in (0, 1)]
    known = [p for p in data.test if short(p) and both[0].holds(p[0]) and both[1].holds(p[1])][:held_out]
    if len(known) < held_out:
        raise ValueError(
            f"held_out={held_out} pairs requested, but only {len(known)} have no word new to train={train}"
        )
    return Corpus(first, known, *both, tokens)


def translations(
    model: TransformerFG, corpus: Corpus, pairs: Sequence[Pair], procedure: Procedure
) -> list[Translation]:
    """Translate the source sentences of these pairs."""
    device = model.embed_source.embedding.weight.device
    written = translate(model, corpus.encode(pairs)[0].to(device), procedure).cpu()
    return [
        Translation(pair, corpus.target.spell(row), corpus.target.decode(row))
        for pair, row in zip(pairs, written, strict=True)
    ]


def score(lines: Sequence[Translation]) -> Score:
    """Score translations against their references."""
    references = [words_of(line.pair[1]) for line in lines]
    outputs = [line.words for line in lines]
    both = list(zip(outputs, references, strict=True))
    same = sum(a == b for output, reference in both for a, b in zip(output, reference, strict=False))
    right = sum(line.right for line in lines) / len(lines)
    bleu = corpus_bleu(outputs, references, smooth=True).score
    return Score(right, same / sum(map(len, references)), bleu)


def demonstrate(model: TransformerFG, corpus: Corpus, procedure: Procedure, steps: int) -> Demonstration:
    """Train a model, then translate twenty training sentences and twenty held-out ones.

    The lecture shows only training sentences. Source: Kak slides 80-82.
    """
    source, target = (ids.to(next(model.parameters()).device) for ids in corpus.encode(corpus.train))
    losses = list(islice(training(model, source, target, procedure), steps))
    draw = random.Random(procedure.seed)
    shown = [draw.sample(pairs, SHOWN) for pairs in (corpus.train, corpus.held_out)]
    return Demonstration(*(translations(model, corpus, pairs, procedure) for pairs in shown), losses)


def small_model(
    corpus: Corpus, deviations: Deviations, kind: type[TransformerFG] = TransformerFG, seed: int = 0
) -> TransformerFG:
    """The lecture's system in a size for a laptop: d_model 64, 2 + 2 blocks."""
    torch.manual_seed(seed)
    sizes = {"source_vocab": len(corpus.source), "target_vocab": len(corpus.target), "tokens": corpus.tokens}
    return kind(DLStudioConfig(d_model=64, encoder_layers=2, decoder_layers=2, **sizes), deviations)
