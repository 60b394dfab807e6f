"""A config.json that asks for more than its weights can hold is refused before it is believed."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from course_lib.text.tokenizers import load_tokenizer
from course_lib.training.model_folder import check_sizes


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    save_file({name: torch.zeros(4) for name in "abc"}, path)
    return path


def test_sizes_that_can_be_are_taken(weights: Path) -> None:
    check_sizes({"layers": 3, "vocab": 16, "norm": "pre", "dropout": 1e9, "tied": True}, weights)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"layers": 4}, "layers=4, but .*model.safetensors has only 3 tensors"),
        ({"encoder_layers": 10**9}, "encoder_layers=1000000000, but .* has only 3 tensors"),
        ({"d_model": 10**12}, "d_model=1000000000000, but .* has only [0-9]+ bytes"),
    ],
)
def test_sizes_that_cannot_be_are_refused(config: dict, message: str, weights: Path) -> None:
    with pytest.raises(ValueError, match=message):
        check_sizes(config, weights)


@pytest.mark.parametrize(
    "header", [b"", b"\xff" * 8, (2**40).to_bytes(8, "little") + b"{}", b"\2" + b"\0" * 7 + b"{]"]
)
def test_a_lying_header_is_refused(header: bytes, weights: Path) -> None:
    weights.write_bytes(header)
    with pytest.raises(ValueError, match="is not a whole safetensors file"):
        check_sizes({}, weights)


@pytest.mark.parametrize(
    "content", [b"[" * 200_000, b"\xff\xfe", b"", b"[]", b'{"kind": "characters", "pieces": 3}']
)
def test_a_hostile_vocabulary_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a vocabulary"):
        load_tokenizer(path)
