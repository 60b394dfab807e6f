"""What all published models have in common: precision is kept, and a saved folder is loaded by its path."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from helpers.random_weights import randomized
from torch import nn

from course_lib.models.gpt import GPT, GPTConfig
from course_lib.models.text_encoder import EncoderConfig, TextEncoder
from course_lib.models.vit import ViT, ViTConfig
from course_lib.pretrained import bert, gpt2, vit

SIZES = {"d_model": 24, "heads": 3, "layers": 2}
BERT = EncoderConfig(vocab=37, d_ff=96, max_tokens=11, types=5, norm="post", epsilon=1e-12, **SIZES)
MODELS: dict[str, Callable[[], nn.Module]] = {
    "gpt2": lambda: GPT(GPTConfig(vocab=31, max_tokens=20, **SIZES)),
    "bert": lambda: TextEncoder(BERT),
    "vit": lambda: ViT(ViTConfig(classes=5, image_size=12, patch_size=4, channels=2, **SIZES)),
}
CONVERTERS = {
    "gpt2": (gpt2.to_hugging_face, gpt2.from_hugging_face),
    "bert": (bert.to_hugging_face, bert.from_hugging_face),
    "vit": (vit.to_hugging_face, vit.from_hugging_face),
    "vit, timm": (vit.to_timm, vit.from_timm),
}
LOADERS = {"gpt2": gpt2.load_gpt2, "bert": bert.load_bert, "vit": vit.load_vit}


def assert_same(ours: nn.Module, again: nn.Module) -> None:
    assert again.config == ours.config
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), again.parameters(), strict=True))


@pytest.mark.parametrize("name", CONVERTERS)
def test_double_precision_is_kept(name: str) -> None:
    to_theirs, to_ours = CONVERTERS[name]
    ours = MODELS[name.split(",")[0]]().double()
    for p in ours.parameters():
        p.data += 1e-12 * torch.randn_like(p)  # what single precision cannot hold
    theirs = to_theirs(ours)
    assert {p.dtype for p in theirs.parameters()} == {torch.float64}
    assert_same(ours, to_ours(theirs))


@pytest.mark.parametrize("name", LOADERS)
def test_a_saved_model_is_loaded_by_its_folder(name: str, tmp_path: Path) -> None:
    ours = randomized(MODELS[name](), seed=2)
    CONVERTERS[name][0](ours).save_pretrained(tmp_path / "small")
    assert_same(ours, LOADERS[name](str(tmp_path / "small")))


@pytest.mark.parametrize("name", LOADERS)
def test_a_model_that_is_not_there_is_an_error(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(OSError, match="nowhere"):
        LOADERS[name](str(tmp_path / "nowhere"))
