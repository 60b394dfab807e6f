"""The lecture's twenty translations as what they are, training sentences, with held-out ones beside them."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from jaxtyping import Int
from torch import Tensor

from course_lib.bleu import corpus_bleu
from course_lib.datasets import Pair, TranslationData
from course_lib.lectures.dlstudio.blocks import DLStudioConfig
from course_lib.lectures.dlstudio.oddities import Oddities
from course_lib.lectures.dlstudio.procedure import Procedure, training, translate
from course_lib.lectures.dlstudio.transformer import TransformerFG
from course_lib.lectures.dlstudio.words import Vocabulary, words_of

SHOWN = 20


@dataclass(frozen=True)
class Corpus:
    """Pairs to train on, held-out pairs whose every word occurs in them, and the vocabularies.

    tokens: of every sentence, SOS and EOS included.
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
        """The pairs that a procedure's test sentences are drawn from."""
        return self.train if procedure.tests_on_training else self.held_out


@dataclass(frozen=True)
class Translation:
    """A pair of sentences, all tokens that the model wrote, and the words that count among them."""

    pair: Pair
    spelt: str
    words: list[str]

    @property
    def right(self) -> bool:
        return self.words == words_of(self.pair[1])


@dataclass(frozen=True)
class Score:
    """Shares (0 to 1) of sentences exactly right and of words right in their place; corpus BLEU, 0 to 100."""

    right: float
    words_right: float
    bleu: float


@dataclass(frozen=True)
class Demonstration:
    """Sentences from the training and held-out ones, translated by one model; the loss of each step."""

    training: list[Translation]
    held_out: list[Translation]
    losses: list[float]


def corpus_of(data: TranslationData, train: int = 500, held_out: int = 100, tokens: int = 10) -> Corpus:
    """The first pairs of a data set that the lecture's system can hold; `held_out` are test pairs.

    Raises ValueError where there are too few pairs for training, or too few held-out ones without new words.
    """

    def short(pair: Pair) -> bool:
        return all(0 < len(words_of(text)) <= tokens - 2 for text in pair)

    first = [pair for pair in data.train if short(pair)][:train]
    if len(first) < train:
        raise ValueError(f"train={train} pairs asked for, but {len(first)} fit into tokens={tokens}")
    both = [Vocabulary(pair[side] for pair in first) for side in (0, 1)]
    known = [p for p in data.test if short(p) and both[0].holds(p[0]) and both[1].holds(p[1])][:held_out]
    if len(known) < held_out:
        raise ValueError(f"held_out={held_out} asked for; {len(known)} have no word new to train={train}")
    return Corpus(first, known, *both, tokens)


def translations(
    model: TransformerFG, corpus: Corpus, pairs: Sequence[Pair], procedure: Procedure
) -> list[Translation]:
    """What the model writes for the source sentences of these pairs."""
    device = model.embed_source.embedding.weight.device
    written = translate(model, corpus.encode(pairs)[0].to(device), procedure).cpu()
    return [
        Translation(pair, corpus.target.spell(row), corpus.target.decode(row))
        for pair, row in zip(pairs, written, strict=True)
    ]


def score(lines: Sequence[Translation]) -> Score:
    """How good some translations are."""
    references = [words_of(line.pair[1]) for line in lines]
    outputs = [line.words for line in lines]
    both = list(zip(outputs, references, strict=True))
    same = sum(a == b for output, reference in both for a, b in zip(output, reference, strict=False))
    right = sum(line.right for line in lines) / len(lines)
    bleu = corpus_bleu(outputs, references, smooth=True).score
    return Score(right, same / sum(map(len, references)), bleu)


def demonstrate(model: TransformerFG, corpus: Corpus, procedure: Procedure, steps: int) -> Demonstration:
    """Train a model, then translate twenty sentences of the training and twenty held-out ones.

    The lecture shows the former. Source: Kak slides 80-82.
    """
    source, target = (ids.to(next(model.parameters()).device) for ids in corpus.encode(corpus.train))
    losses = list(islice(training(model, source, target, procedure), steps))
    draw = random.Random(procedure.seed)
    shown = [draw.sample(pairs, SHOWN) for pairs in (corpus.train, corpus.held_out)]
    return Demonstration(*(translations(model, corpus, pairs, procedure) for pairs in shown), losses)


def small_model(
    corpus: Corpus, oddities: Oddities, kind: type[TransformerFG] = TransformerFG, seed: int = 0
) -> TransformerFG:
    """The lecture's system at a size for a laptop: d_model 64, 2 + 2 blocks."""
    torch.manual_seed(seed)
    sizes = {"source_vocab": len(corpus.source), "target_vocab": len(corpus.target), "tokens": corpus.tokens}
    return kind(DLStudioConfig(d_model=64, encoder_layers=2, decoder_layers=2, **sizes), oddities)
