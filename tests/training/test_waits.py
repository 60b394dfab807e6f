"""A step of training never waits for a GPU: counted on the second device."""

import os
from collections import Counter

import pytest
import torch

from course_lib.datasets import ImageSplit
from course_lib.generation.decoding import greedy_decode
from course_lib.generation.drafts import BigramDraft, ModelDraft
from course_lib.generation.speculative import speculative_decode
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.models.text_encoder import EncoderConfig, TextEncoder
from course_lib.models.unet import UNet, UNetConfig
from course_lib.models.vit import ViT, ViTConfig
from course_lib.tasks.augmentation import augmentation
from course_lib.tasks.diffusion import Diffusion, DiffusionLoss
from course_lib.tasks.image_classification import ImageBatches, ImageClassificationLoss
from course_lib.tasks.language_modeling import LanguageModelLoss, TextBatches
from course_lib.tasks.preferences import DPOLoss
from course_lib.tasks.prefix_lm import PrefixLMLoss
from course_lib.tasks.text_classification import TextClassificationLoss, TextClassifier
from course_lib.tasks.translation import TranslationLoss
from course_lib.training.config import TrainConfig
from course_lib.training.trainer import Trainer
from course_lib.utils.random_states import random_states, set_random_states

pytestmark = pytest.mark.skipif(
    os.environ.get("COURSE_TEST_DEVICE") != "second:0",
    reason="this system has no second device: test --second-device",
)
SIZES = {"vocab": 50, "d_model": 16, "heads": 2}
IMAGES = {
    "image_size": 8,
    "patch_size": 4,
    "channels": 1,
    "classes": 5,
    "layers": 1,
    "d_model": 16,
    "heads": 2,
}


def ids(*shape):
    return torch.randint(5, 50, shape)


def gpt():
    return GPT(GPTConfig(**SIZES, layers=1))


OBJECTIVES = {
    "translation": lambda: (TranslationLoss(Seq2Seq(Seq2SeqConfig(**SIZES, d_ff=32))), ids(3, 5), ids(3, 6)),
    "language model": lambda: (LanguageModelLoss(gpt()), ids(3, 9)),
    "diffusion": lambda: (DiffusionLoss(UNet(UNetConfig()), Diffusion(30)), torch.rand(2, 1, 8, 8)),
    "images": lambda: (
        ImageClassificationLoss(ViT(ViTConfig(**IMAGES))),
        torch.rand(2, 1, 8, 8),
        torch.tensor([1, 2]),
    ),
    "texts": lambda: (
        TextClassificationLoss(TextClassifier(TextEncoder(EncoderConfig(**SIZES, layers=1)), 3, "mean")),
        ids(3, 9),
        torch.tensor([0, 1, 2]),
    ),
    "preferences": lambda: (DPOLoss(gpt()), *(ids(3, 9) for _ in range(4))),
    "prefix language model": lambda: (PrefixLMLoss(gpt()), ids(3, 9), ids(3, 9)),
}
# The logits are computed at the positions that count only: finding these takes three waits, and saves more.
WAITS = {"prefix language model": 3}


@pytest.fixture
def waits(monkeypatch):
    """The waits since the last `clear`, and the copies that wait, by line."""
    from helpers import second_device

    waits = Counter()
    monkeypatch.setattr(second_device, "COUNT", True)
    monkeypatch.setattr(second_device, "SYNCS", waits)
    monkeypatch.setattr(second_device, "TRANSFERS", waits)
    return waits


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_step(device, name, waits):
    objective, *batch = OBJECTIVES[name]()
    objective.to(device).train()
    batch = [part.to(device) for part in batch]
    optimizer = torch.optim.AdamW(objective.parameters(), foreach=True)
    for _ in range(2):
        waits.clear()
        loss, count = objective(*batch)
        (loss / count).backward()
        optimizer.step()
    assert sum(waits.values()) == WAITS.get(name, 0), waits


SETTINGS = {
    "plain": {},
    "muon, average": {"optimizer": "muon", "average": 0.9},
    "two parts": {"accumulate": 2},
    "fp16": {"precision": "fp16"},
    "fp16, muon": {"optimizer": "muon", "precision": "fp16"},
}
# Loss scaling reads whether gradients overflowed, unless the optimizer looks itself, as PyTorch's AdamW does.
WAITS |= {"fp16, muon": 1}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_whole_training_step(device, name, waits):
    """From the loader to the optimizer: the losses are read later, many at once."""
    config = TrainConfig(**{"steps": 3, "precision": "fp32", **SETTINGS[name]})
    batches = TextBatches(ids(200), 8, 4)
    run = Trainer(LanguageModelLoss(gpt()), batches, config, device)
    run.training_step(next(iter(batches)))
    waits.clear()
    run.training_step(next(iter(batches)))
    assert sum(waits.values()) == WAITS.get(name, 0), waits


def test_images_on_the_device_stay_there(device, waits):
    split = ImageSplit(torch.zeros(8, 1, 8, 8, dtype=torch.uint8), torch.arange(8)).to(torch.device(device))
    batches = iter(ImageBatches(split, 4))
    waits.clear()
    images, _ = next(batches)
    assert images.device.type == split.labels.device.type and not waits


def test_greedy_decoding_waits_once_per_token(device, waits):
    model, start = gpt().to(device).eval(), torch.tensor([[7, 8]] * 3, device=device)
    counts = []
    for length in (4, 9):
        waits.clear()
        greedy_decode(model.generator(), start, None, length)
        counts.append(sum(waits.values()))
    assert counts[1] - counts[0] == 5, waits


@pytest.mark.parametrize("names", ["crop+flip", "cutout", "mixup", "cutmix"])
def test_augmentation(device, names, waits):
    pixels, labels = torch.zeros(4, 3, 8, 8, dtype=torch.uint8), torch.tensor([1, 2, 3, 4])
    augmentation(names, classes=10)(pixels.to(device), labels.to(device))
    assert not waits


def test_a_table_and_a_model_draft_for_a_model_on_the_device(device):
    model, start = gpt().to(device).eval(), torch.tensor([[1, 2]], device=device)
    greedy = greedy_decode(model.generator(), start, None, 8)
    for draft in (
        BigramDraft([[1, 2, 3, 4, 1]], 50),
        ModelDraft(gpt().to(device).generator(), device=device),
    ):
        assert [speculative_decode(model.generator(), draft, start, None, 8).ids] == greedy
    draft = BigramDraft([[1, 2, 3, 4, 1]], 50)
    found = speculative_decode(model.generator(), draft, start, None, 8, temperature=1.0)
    assert len(found.ids) == 8 and found.accepted < found.drafted


def test_the_device_s_random_numbers_go_on_where_they_were(device):
    states = random_states(torch.device(device))
    first = torch.rand(5, device=device)
    set_random_states(states, torch.device(device))
    assert torch.rand(5, device=device).equal(first)
