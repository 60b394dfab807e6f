"""After `import_torchvision`, whatever imports torchvision works, beside any build of torch."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

START = "from course_lib.pretrained.torchvision_ops import import_torchvision; import_torchvision(); "


def _run(code: str) -> None:
    """In a fresh interpreter: what is declared stays declared for the life of a process."""
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def _need(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


def test_torchvision_works() -> None:
    _need("torchvision")
    _run(
        START
        + "import torch, torchvision; assert import_torchvision() is torchvision; "
        + "assert torchvision.transforms.Resize(4)(torch.zeros(3, 8, 8)).shape == (3, 4, 4)"
    )


def test_d2l_imports() -> None:
    _need("d2l")
    _run(START + "from d2l import torch as d2l; assert d2l.bleu('a b', 'a b', 2) == 1")


def test_image_model_of_transformers_imports() -> None:
    _need("torchvision")
    _need("transformers")
    _run(START + "from transformers import ViTModel")
