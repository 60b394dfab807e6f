"""After `import_torchvision`, whatever imports torchvision works, beside any build of torch."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

CODE = {
    "torchvision": "assert torchvision.transforms.Resize(4)(torch.zeros(3, 8, 8)).shape == (3, 4, 4)",
    "d2l": "from d2l import torch as d2l; assert d2l.bleu('a b', 'a b', 2) == 1",
    "transformers": "from transformers import ViTModel",
}


@pytest.mark.slow
def test_what_needs_torchvision_is_imported() -> None:
    """In a fresh interpreter: what is declared stays declared for the life of a process."""
    if find_spec("torchvision") is None:
        pytest.skip("torchvision is not installed")
    start = "from course_lib.pretrained.torchvision_ops import import_torchvision\nimport torch\n"
    start += "torchvision = import_torchvision()\n"
    code = start + "\n".join(line for package, line in CODE.items() if find_spec(package))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
