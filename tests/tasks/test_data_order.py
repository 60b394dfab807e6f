"""The batches of every task are those with which the stored results were made: same order, same noise."""

import pytest
import torch

from course_lib.datasets import ImageSplit
from course_lib.tasks.augmentation import augmentation
from course_lib.tasks.image_classification import ImageBatches
from course_lib.tasks.language_modeling import TextBatches
from course_lib.tasks.prefix_lm import PrefixLMBatches
from course_lib.tasks.pretraining import PretrainingBatches
from course_lib.tasks.text_classification import LabelledBatches
from course_lib.tasks.translation import TranslationBatches
from course_lib.text.tokenizers import Tokenizer
from course_lib.training.run_record import checksum


class Letters(Tokenizer):
    """Each letter is a token, so that the ids do not depend on a library's training."""

    def __init__(self):
        pass

    def __len__(self):
        return 13

    def encode_batch(self, texts):
        return [[5 + ord(letter) - ord("a") for letter in text.replace(" ", "")] for text in texts]


SENTENCES = [" ".join("abcdefgh"[(n * k) % 8] * (n % 5 + 1) for k in range(n % 7 + 1)) for n in range(90)]
PAIRS = list(zip(SENTENCES, SENTENCES[7:] + SENTENCES[:7], strict=True))
TOKENS = Letters()
IDS = [[5 + (7 * n + k) % 40 for k in range(n % 11 + 1)] for n in range(50)]
TEXT = [n * n % 97 for n in range(700)]
IMAGES = ImageSplit(torch.arange(70 * 3 * 64).view(70, 3, 8, 8).mul(7).byte(), torch.arange(70) % 4)

BATCHES = {
    "translation": lambda: TranslationBatches(PAIRS, TOKENS, 8, seed=1),
    "language model": lambda: TextBatches(TEXT, 16, 6, seed=2),
    "images": lambda: ImageBatches(IMAGES, 16, seed=1),
    "augmented images": lambda: ImageBatches(IMAGES, 16, augment=augmentation("crop+flip", 4)),
    "text classification": lambda: LabelledBatches(IDS, [n % 3 for n in range(50)], 3, 8, seed=1),
    "text classification, flat": lambda: LabelledBatches(IDS, [n % 3 for n in range(50)], 3, 8, to=12),
    "prefix LM": lambda: PrefixLMBatches(PAIRS, TOKENS, 8, seed=2),
    "joint prefix LM": lambda: PrefixLMBatches(PAIRS, TOKENS, 8, joint=True),
    "next token": lambda: PretrainingBatches(SENTENCES, TOKENS, 8, "next token", seed=1),
    "denoising": lambda: PretrainingBatches(SENTENCES, TOKENS, 8, "denoising", seed=1),
    "masked token": lambda: PretrainingBatches(SENTENCES, TOKENS, 8, "masked token", seed=1),
    "autoencoder": lambda: PretrainingBatches(SENTENCES, TOKENS, 8, "autoencoder", seed=1),
}
CHECKSUMS = {
    "translation": "fa5fc6591fc7c005",
    "language model": "2cd39ff46147998b",
    "images": "a522424e4eec6c13",
    "augmented images": "a5d39772ca6c4928",
    "text classification": "b682a2bbd21330d3",
    "text classification, flat": "b4ad89527a766e9b",
    "prefix LM": "6f2d8fa73eceed40",
    "joint prefix LM": "b0dddedf0cef77b1",
    "next token": "4a89eb415ee8a576",
    "denoising": "3d55932422f99914",
    "masked token": "9ff034dc8540fe74",
    "autoencoder": "47d7512000db76c6",
}


@pytest.mark.parametrize("task", BATCHES)
def test_two_epochs_are_those_of_the_stored_results(task):
    batches = BATCHES[task]()
    torch.manual_seed(7)
    assert checksum(tensor for _ in range(2) for batch in batches for tensor in batch) == CHECKSUMS[task]
