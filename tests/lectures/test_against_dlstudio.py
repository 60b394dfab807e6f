"""The rebuilt system beside the real DLStudio 2.4.3, with copied weights: equal predictions and gradients."""

import gzip
import importlib.util
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch
from torch import nn

from course_lib.lectures.dlstudio import (
    EOS,
    SOS,
    Deviations,
    DLStudioConfig,
    TransformerFG,
    TransformerPreLN,
)

PACKAGE = "DLStudio==2.4.3"
WORDS = ["SOS", "EOS", *"abcdefghi"]
CONFIG = DLStudioConfig(
    source_vocab=len(WORDS),
    target_vocab=len(WORDS),
    d_model=12,
    heads=3,
    encoder_layers=2,
    decoder_layers=2,
    tokens=6,
)


@pytest.fixture(scope="module")
def transformers(tmp_path_factory):
    """The module of the real package; on CI it is installed into a folder of its own.

    In the environment it would hide Hugging Face's package where file names ignore case.
    """
    found = importlib.util.find_spec("Transformers")
    if found is None and not os.environ.get("COURSE_STRICT_SKIPS"):
        pytest.skip(f"{PACKAGE} is not installed")
    folder = Path(found.origin).parent if found else installed(tmp_path_factory.mktemp("dlstudio"))
    # its other modules need a graphical desktop; this one uses nothing of them but the name
    # and it replaces the handlers of SIGINT and SIGCHLD, so that the end of a subprocess would go unnoticed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signal, "signal", lambda *_: None)
        other = ModuleType("DLStudio")
        other.DLStudio = object
        patch.setitem(sys.modules, "DLStudio", other)
        spec = importlib.util.spec_from_file_location("real_dlstudio", folder / "Transformers.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def installed(folder: Path) -> Path:
    """Install the package into this folder; without a network, skip."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        str(folder),
        PACKAGE,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip(f"{PACKAGE} could not be downloaded: {done.stderr.strip().splitlines()[-1:]}")
    return folder / "Transformers"


class Real(nn.Module):
    """The real system at a small size, put together as its scripts do."""

    def __init__(self, kind: type, folder: Path, masking: bool):
        super().__init__()
        with gzip.open(folder / "pairs.gz", "wb") as file:
            pickle.dump(({0: ("a b", "c d")}, WORDS, WORDS), file)
        dls = SimpleNamespace(device=torch.device("cpu"))
        whole = kind(dls, f"{folder}/", False, "pairs.gz", CONFIG.tokens, CONFIG.d_model)
        self.encoder = kind.MasterEncoder(dls, whole, CONFIG.encoder_layers, CONFIG.heads)
        self.decoder = kind.MasterDecoderWithMasking(dls, whole, CONFIG.decoder_layers, CONFIG.heads, masking)
        self.source = kind.EmbeddingsGenerator(whole, "en", CONFIG.d_model)
        self.target = kind.EmbeddingsGenerator(whole, "es", CONFIG.d_model)

    def forward(self, source, target):
        return self.decoder(self.target(target).float(), self.encoder(self.source(source).float()))


def copy_weights(real: Real, ours: TransformerFG) -> None:
    """Copy the weights of the real system, part by part: both keep them in the order of computation."""
    parts = {
        real.source: ours.embed_source.embedding,
        real.target: ours.embed_target.embedding,
        real.decoder.out: ours.decoder.out,
    }
    for stack, blocks in (
        (real.encoder.basic_encoder_arr, ours.encoder),
        (real.decoder.basic_decoder_arr, ours.decoder),
    ):
        for there, here in zip(stack, blocks.blocks, strict=True):
            parts |= {there.W1: here.feed_forward.w_in, there.W2: here.feed_forward.w_out}
            norms = [there.norm1, there.norm2, *([there.norm3] if hasattr(there, "norm3") else [])]
            parts |= {norm: one.norm for norm, one in zip(norms, here.residuals, strict=True)}
            attentions = {there.self_attention_layer: here.attention}
            if hasattr(there, "cross_attn_layer"):
                attentions[there.cross_attn_layer] = here.cross_attention
            for layer, attention in attentions.items():
                for i, head in enumerate(layer.attention_heads_arr):
                    parts |= {
                        head.WQ: attention.w_q.linears[i],
                        head.WK: attention.w_k.linears[i],
                        head.WV: attention.w_v.linears[i],
                    }
    for there, here in parts.items():
        for own, other in zip(here.parameters(), there.parameters(), strict=True):
            own.data.copy_(other.data)
    assert sum(p.numel() for p in ours.parameters()) == sum(p.numel() for p in real.parameters())


SYSTEMS = {
    "FG": ("TransformerFG", TransformerFG, Deviations.lecture(), False),
    "FG, masked": ("TransformerFG", TransformerFG, Deviations.lecture(masking=True), True),
    "PreLN": ("TransformerPreLN", TransformerPreLN, Deviations.lecture_preln(masking=False), False),
    "PreLN, masked": ("TransformerPreLN", TransformerPreLN, Deviations.lecture_preln(), True),
}


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "kind", "deviations", "masking"), SYSTEMS.values(), ids=SYSTEMS)
def test_equals_the_real_package(transformers, tmp_path, name, kind, deviations, masking):
    torch.manual_seed(0)
    real = Real(getattr(transformers, name), tmp_path, masking)
    ours = kind(CONFIG, deviations).eval()
    copy_weights(real, ours)
    source, target = torch.randint(2, len(WORDS), (2, 4, CONFIG.tokens))
    source[:, 0] = target[:, 0] = SOS
    source[:, -2:] = target[:, -2:] = EOS
    theirs, their_words = real(source, target)
    found, words = ours(source, target)
    assert torch.allclose(found, theirs.float(), atol=1e-6)
    assert torch.equal(words, their_words)
    theirs.sum().backward()
    found.sum().backward()
    layers = real.encoder.basic_encoder_arr[0].W1, ours.encoder.blocks[0].feed_forward.w_in
    assert torch.allclose(layers[0].weight.grad, layers[1].weight.grad, atol=1e-5)


@pytest.mark.real_data
def test_a_separate_test_script_repeats_the_word_vectors(transformers, tmp_path):
    """Seeded alike and built in the order of the training script, new generators have equal vectors."""

    def vectors(again: bool) -> torch.Tensor:
        torch.manual_seed(0)
        real = Real(transformers.TransformerFG, tmp_path, masking=False)
        if again:  # in the process that has trained, new ones follow on other random numbers
            torch.rand(1)
            real.source.embed.reset_parameters()
        return real.source.embed.weight

    assert torch.equal(vectors(again=False), vectors(again=False))
    assert not torch.equal(vectors(again=False), vectors(again=True))
