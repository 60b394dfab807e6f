"""The rebuilt systems beside the real DLStudio, with copied weights: equal predictions and gradients."""

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
    AttentionBlock,
    Deviations,
    DLStudioConfig,
    TransformerFG,
    TransformerPreLN,
    VisionConfig,
    VisionDeviations,
    VisTransformer,
)

TRANSLATORS, IMAGES = "DLStudio==2.4.3", "DLStudio==2.5.2"
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
    """The module with the package's translators."""
    return module_of(installed(TRANSLATORS, tmp_path_factory.mktemp("dlstudio")), "Transformers")


@pytest.fixture(scope="module")
def vision(tmp_path_factory):
    """The later package's visTransformer and AttentionBlock."""
    folder = installed(IMAGES, tmp_path_factory.mktemp("dlstudio_images"))
    names = {"Transformers": "visTransformer", "GenerativeDiffusion": "AttentionBlock"}
    return SimpleNamespace(
        **{name: getattr(module_of(folder, module), name) for module, name in names.items()}
    )


def installed(package: str, folder: Path) -> Path:
    """Install the package into a folder of its own; without a network, skip.

    In the environment it would hide Hugging Face's package where file names ignore case.
    """
    if not os.environ.get("COURSE_STRICT_SKIPS"):
        pytest.skip(f"{package} is not installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), package]
    if importlib.util.find_spec("setuptools"):  # otherwise pip downloads its own, which takes longer
        pip.append("--no-build-isolation")
    done = subprocess.run(pip, capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip(f"{package} could not be downloaded: {done.stderr.strip().splitlines()[-1:]}")
    return folder


def module_of(folder: Path, name: str) -> ModuleType:
    """A module of the package, loaded without the others, which need a graphical desktop.

    Of those and of torchvision and einops, what is tested uses nothing but the names. The module also
    replaces the handlers of SIGINT and SIGCHLD, so that the end of a subprocess would go unnoticed.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signal, "signal", lambda *_: None)
        for other in ("DLStudio", "torchvision", "torchvision.transforms", "einops"):
            patch.setitem(sys.modules, other, ModuleType(other))
        sys.modules["DLStudio"].DLStudio = sys.modules["einops"].rearrange = object
        spec = importlib.util.spec_from_file_location(f"real_{name}", folder / name / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


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
    copied(parts)
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


def copied(parts: dict[nn.Module, nn.Module]) -> None:
    """Copy the parameters of each module (a key) to its counterpart; both keep them in the same order."""
    for there, here in parts.items():
        for own, other in zip(here.parameters(), there.parameters(), strict=True):
            own.data.copy_(other.data)


@pytest.mark.real_data
def test_the_vision_transformer_equals_the_real_one(vision, monkeypatch):
    monkeypatch.setattr(torch.Tensor, "cuda", torch.Tensor.clone)  # a copy, as on a GPU
    torch.manual_seed(0)
    config = VisionConfig(classes=3, image_size=12, patch_size=4, d_model=12, heads=3, layers=2)
    studio = SimpleNamespace(
        batch_size=2, learning_rate=0.0, image_size=(12, 12), class_labels="abc", device="cpu"
    )
    real = vision.visTransformer(studio, (4, 4), 12, 2, 3).eval()
    embed = real.PatchEmbeddingGenerator(real)
    ours = VisTransformer(config, VisionDeviations.lecture().without("never_eval")).eval()
    ours.class_token.data.copy_(real.class_token.flatten())
    ours.embed_patches.positions.data.copy_(embed.positional_encodings[0])
    parts = {embed.embed: ours.embed_patches.embed, real.fc: ours.fc}
    for there, here in zip(real.master_encoder.basic_encoder_arr, ours.blocks, strict=True):
        parts |= {there.W1: here.feed_forward.w_in, there.W2: here.feed_forward.w_out}
        parts |= {there.norm1: here.residuals[0].norm, there.norm2: here.residuals[1].norm}
        for i, head in enumerate(there.self_attention_layer.attention_heads_arr):
            for matrix, ours_of in (("WQ", "w_q"), ("WK", "w_k"), ("WV", "w_v")):
                parts[getattr(head, matrix)] = getattr(here.attention, ours_of).linears[i]
    copied(parts)
    images = torch.randn(2, 3, 12, 12)
    patches = embed(images.unfold(2, 4, 4).unfold(3, 4, 4))  # as the package's training does
    theirs = real(torch.cat([real.class_token.expand(2, -1, -1), patches], dim=1))
    found = ours(images)
    assert torch.allclose(found, theirs, atol=1e-6)
    theirs.square().sum().backward()
    found.square().sum().backward()
    trained = {there: here for there, here in parts.items() if there is not embed.embed}
    for there, here in trained.items():
        for own, other in zip(here.parameters(), there.parameters(), strict=True):
            assert torch.allclose(own.grad, other.grad, atol=1e-5)
    assert not [p for p in ours.embed_patches.parameters() if p.requires_grad]  # no optimizer gets these
    assert "class_token" not in dict(real.named_parameters())


@pytest.mark.real_data
@pytest.mark.parametrize("heads", [1, 2])
def test_the_attention_block_equals_the_real_one(vision, heads):
    torch.manual_seed(0)
    real, ours = vision.AttentionBlock(64, heads), AttentionBlock(64, heads)
    nn.init.normal_(real.proj_out.weight)  # starts at 0, so that nothing would be compared
    copied({real: ours})
    x, y = (torch.randn(2, 64, 3, 5, generator=torch.Generator().manual_seed(1)) for _ in range(2))
    theirs, found = real(x.requires_grad_()), ours(y.requires_grad_())
    assert torch.allclose(found, theirs, atol=1e-5) and (found - y).abs().mean() > 0.1
    theirs.square().sum().backward()
    found.square().sum().backward()
    for own, other in zip((y, *ours.parameters()), (x, *real.parameters()), strict=True):
        assert torch.allclose(own.grad, other.grad, rtol=1e-4, atol=1e-3)
