"""Copies and pickles of the public classes that are no modules, as worker processes make them.

The classes are collected from the packages: a new one needs a line in OBJECTS, or a reason in WITHOUT.
Modules are in test_contracts.py; dataclasses are copied as Python does.
"""

import copy
import pickle
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any

import pytest
import torch
from helpers.public_classes import public_classes
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_structure

from course_lib.datasets.image_data import ImageSplit
from course_lib.generation.beam import BeamSearch
from course_lib.generation.drafts import BigramDraft, ModelDraft
from course_lib.generation.state import TextGenerator
from course_lib.layers.kv_cache import GrowingCache, MemoryCache, StaticCache
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.tasks import augmentation
from course_lib.tasks.image_classification import ImageBatches
from course_lib.tasks.language_modeling import SlidingGenerator, TextBatches
from course_lib.tasks.preferences import Preference, PreferenceBatches
from course_lib.tasks.prefix_lm import PrefixLMBatches
from course_lib.tasks.pretraining import PretrainingBatches
from course_lib.tasks.text_classification import LabelledBatches
from course_lib.tasks.translation import TranslationBatches, TranslationDataset
from course_lib.text.bpe import ByteBPE
from course_lib.text.kneser_ney import KneserNey
from course_lib.text.tokenizers import CharTokenizer, Tokenizer, WordTokenizer
from course_lib.training.checkpoints import Checkpoints
from course_lib.training.config import TrainConfig
from course_lib.training.diagnostics import Diverged, Pace
from course_lib.training.model_files import BrokenCheckpoint
from course_lib.training.run_record import OtherRun

SIZES = {"vocab": 30, "d_model": 8, "heads": 2, "max_tokens": 8}
TEXTS = ["the cat sat", "a cat [PAD]", "the mat"]
PAIRS = [(text, text[::-1]) for text in TEXTS]
IDS = torch.tensor([[5, 6, 7]])
WORDS = Tokenizer.train([*TEXTS, *(text[::-1] for text in TEXTS)], 60)
PIXELS = torch.arange(3 * 3 * 16 * 16, dtype=torch.uint8).view(3, 3, 16, 16)


def seeded(use: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same random numbers in every call."""

    def drawn(thing: Any) -> Any:
        torch.manual_seed(0)
        return use(thing)

    return drawn


def filled(cache: Any) -> Any:
    """A cache with one token."""
    cache.append(torch.ones(1, 2, 1, 4), torch.ones(1, 2, 1, 4))
    return cache


def appended(cache: Any) -> tuple[Tensor, ...]:
    """What a cache returns with one more token."""
    return cache.append(torch.full((1, 2, 1, 4), 2.0), torch.zeros(1, 2, 1, 4))


def gpt() -> GPT:
    torch.manual_seed(0)
    return GPT(GPTConfig(**SIZES)).eval().requires_grad_(False)


def translating() -> Any:
    torch.manual_seed(0)
    return Seq2Seq(Seq2SeqConfig(**SIZES)).eval().requires_grad_(False).generator(IDS)


def begun(generator: Any) -> Any:
    """A generator that has read a token."""
    generator.read(IDS[:, :1])
    return generator


def searched() -> BeamSearch:
    search = BeamSearch(2, [2], 4, 1.0, False)
    search.advance([(-1.0, 0, 5), (-2.0, 0, 6), (-2.5, 0, 2)])
    return search


def pace() -> Pace:
    found = Pace()
    found.add(3.0, 0.5)
    return found


def read(generator: Any) -> Tensor:
    return generator.read(IDS[:, 1:])


def tokenizing(tokenizer: Any) -> list[list[int]]:
    return tokenizer.encode_batch(TEXTS)


augmented = seeded(lambda change: change(PIXELS, torch.tensor([0, 1, 2])))
once = seeded(list)
OBJECTS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {  # what makes it, and a use of it
    "GrowingCache": (lambda: filled(GrowingCache(4)), appended),
    "StaticCache": (lambda: filled(StaticCache(4)), appended),
    "MemoryCache": (lambda: filled(MemoryCache()), lambda cache: cache.complete),
    "TranslationGenerator": (lambda: begun(translating()), read),
    "TextGenerator": (lambda: begun(TextGenerator(gpt())), read),
    "SlidingGenerator": (lambda: begun(SlidingGenerator(gpt())), read),
    "BeamSearch": (searched, lambda it: it.advance([(-3.0, 0, 5), (-4.0, 1, 6)])),
    "ModelDraft": (lambda: ModelDraft(gpt().generator()), lambda it: list(it.propose([5, 6], 2))),
    "BigramDraft": (lambda: BigramDraft([[5, 6, 7]], 30), lambda it: list(it.propose([5], 2))),
    "RandomCrop": (augmentation.RandomCrop, augmented),
    "RandomFlip": (augmentation.RandomFlip, augmented),
    "Cutout": (augmentation.Cutout, augmented),
    "Mixup": (lambda: augmentation.Mixup(3), augmented),
    "CutMix": (lambda: augmentation.CutMix(3), augmented),
    "RandAugment": (augmentation.RandAugment, augmented),
    "Chain": (lambda: augmentation.augmentation("crop+mixup", 3), augmented),
    "ImageBatches": (lambda: ImageBatches(ImageSplit(PIXELS, torch.tensor([0, 1, 2])), 2), once),
    "TextBatches": (lambda: TextBatches(list(range(60)), 4, 2), once),
    "PreferenceBatches": (lambda: PreferenceBatches([Preference(*TEXTS)] * 2, WORDS, 2), once),
    "PrefixLMBatches": (lambda: PrefixLMBatches(PAIRS, WORDS, 2), once),
    "PretrainingBatches": (lambda: PretrainingBatches(TEXTS, WORDS, 1, "masked token"), once),
    "LabelledBatches": (lambda: LabelledBatches([[5, 6], [7]], [0, 1], 2, 1), once),
    "TranslationDataset": (lambda: TranslationDataset(PAIRS, WORDS), lambda it: [it[0], it[1]]),
    "TranslationBatches": (lambda: TranslationBatches(PAIRS, WORDS, 2), once),
    "Checkpoints": (lambda: Checkpoints("folder", 3), vars),
    "Diverged": (lambda: Diverged("nan", TrainConfig(steps=5), "fp32"), str),
    "OtherRun": (lambda: OtherRun("other"), str),
    "BrokenCheckpoint": (lambda: BrokenCheckpoint("broken"), str),
    "Pace": (pace, vars),
    "KneserNey": (lambda: KneserNey([5, 6, 5, 7], 2, 9), lambda it: it.probability([5], 7)),
    "ByteBPE": (lambda: ByteBPE.train(TEXTS, 5), tokenizing),
    "Tokenizer": (lambda: Tokenizer.train(TEXTS, 40), tokenizing),
    "CharTokenizer": (lambda: CharTokenizer.train(TEXTS), tokenizing),
    "WordTokenizer": (lambda: WordTokenizer.train(TEXTS), tokenizing),
}
ABSTRACT = "a protocol or a base class"
WITHOUT = {
    "Generator": ABSTRACT,
    "Rewindable": ABSTRACT,
    "Draft": ABSTRACT,
    "LanguageModel": ABSTRACT,
    "CachingGenerator": ABSTRACT,
    "Trainer": "one run; it is continued from its checkpoints, see test_checkpoints.py",
    **dict.fromkeys(
        ("KeepBest", "Muon", "CombinedOptimizer", "WeightEMA"),
        "it belongs to the weights of a model and is copied with them, see training/test_state.py",
    ),
}


def test_every_public_class_is_here():
    classes = {c.__name__ for c in public_classes() if not issubclass(c, nn.Module) and not is_dataclass(c)}
    assert classes == OBJECTS.keys() | WITHOUT.keys() and not OBJECTS.keys() & WITHOUT.keys()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
@pytest.mark.parametrize("name", OBJECTS)
def test_a_copy_does_the_same(name, copied):
    make, use = OBJECTS[name]
    original = make()
    twin, wanted = copied(original), use(original)
    found = use(twin)
    assert tree_structure(found) == tree_structure(wanted)
    for one, other in zip(tree_leaves(found), tree_leaves(wanted), strict=True):
        assert torch.equal(one, other) if isinstance(one, Tensor) else one == other
