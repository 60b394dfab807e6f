"""A step of training never waits for a GPU: counted on the second device."""

import os

import pytest
import torch

from course_lib.generation.drafts import BigramDraft
from course_lib.generation.speculative import speculative_decode
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.models.text_encoder import EncoderConfig, TextEncoder
from course_lib.models.unet import UNet, UNetConfig
from course_lib.models.vit import ViT, ViTConfig
from course_lib.tasks.augmentation import augmentation
from course_lib.tasks.diffusion import Diffusion, DiffusionLoss
from course_lib.tasks.image_classification import ImageClassificationLoss
from course_lib.tasks.language_modeling import LanguageModelLoss
from course_lib.tasks.prefix_lm import PrefixLMLoss
from course_lib.tasks.text_classification import TextClassificationLoss, TextClassifier
from course_lib.tasks.translation import TranslationLoss
from course_lib.training.optim import Muon, WeightEMA
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
    "d_model": 16,
    "heads": 2,
    "layers": 1,
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
    "prefix language model": lambda: (PrefixLMLoss(gpt()), ids(3, 9), ids(3, 9)),
}
# The logits are computed at the positions that count only: finding these takes three waits, and saves more.
WAITS = {"prefix language model": 3}


@pytest.fixture
def waits(monkeypatch):
    """The waits since the last `clear`, by line."""
    from helpers import second_device

    monkeypatch.setattr(second_device, "COUNT", True)
    second_device.SYNCS.clear()
    return second_device.SYNCS


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


@pytest.mark.parametrize("names", ["crop+flip", "cutout", "mixup", "cutmix"])
def test_augmentation(device, names, waits):
    pixels, labels = torch.zeros(4, 3, 8, 8, dtype=torch.uint8), torch.tensor([1, 2, 3, 4])
    augmentation(names, classes=10)(pixels.to(device), labels.to(device))
    assert not waits


def test_muon_and_averages(device, waits):
    model = gpt().to(device)
    weights = [p for p in model.parameters() if p.ndim == 2]
    for weight in weights:
        weight.grad = torch.ones_like(weight)
    average = WeightEMA(model, 0.9)
    Muon(weights, lr=0.1).step()
    average.update(3)
    assert not waits


def test_a_table_drafts_for_a_model_on_the_device(device):
    model, start = gpt().to(device).eval(), torch.tensor([[1, 2]], device=device)
    draft = BigramDraft([[1, 2, 3, 4, 1]], 50)
    for temperature in (0.0, 1.0):  # with 1, most of its tokens are rejected
        found = speculative_decode(model.generator(), draft, start, None, 8, temperature=temperature)
        assert len(found.ids) == 8


def test_the_device_s_random_numbers_go_on_where_they_were(device):
    states = random_states(torch.device(device))
    first = torch.rand(5, device=device)
    set_random_states(states, torch.device(device))
    assert torch.rand(5, device=device).equal(first)
