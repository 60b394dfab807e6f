"""The table of claims: each row is whole and its evidence exists; the cheapest hold with another seed."""

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.chapters.ch08_images import vit_controls
from course_lib.chapters.ch09_classification import text_classifiers
from course_lib.chapters.ch10_pixels import symmetry_denoiser
from course_lib.datasets import load_labelled
from course_lib.exercises import catalogue
from course_lib.layers import EncoderBlock, MultiHeadAttention
from course_lib.tasks.image_classification import accuracy

DOCS = Path(__file__).resolve().parents[1] / "docs"
LINES = (DOCS / "claims.md").read_text(encoding="utf-8").splitlines()
ROWS = [line.strip("| ").split(" | ") for line in LINES if line.startswith("| ") and "](../" in line]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_a_claim_names_its_evidence_seeds_and_control(row: list[str]) -> None:
    _, evidence, seeds, control = row
    assert re.match(r"exact$|\d", seeds) and control
    (path,) = re.findall(r"\]\(([^)]+)\)", evidence)
    cells = json.loads((DOCS / path).read_text(encoding="utf-8"))["cells"]
    text = "".join("".join(cell["source"]) + "\n" for cell in cells)
    ((kind, number),) = re.findall(r"(section|chapter) (\d)", evidence)
    assert re.search(rf"^## {'Chapter ' * (kind == 'chapter')}{number}\. ", text, re.MULTILINE)
    for module in re.findall(r"`(course_lib[\w.]+)`", evidence):
        assert find_spec(module) and module.rpartition(".")[2] in text


def test_there_are_claims() -> None:
    assert len(ROWS) == sum(line.startswith("| ") for line in LINES) - sum("|---|" in line for line in LINES)


SEED = 7  # that no notebook uses


class Reverser(nn.Module):
    """Chapter 0's Transformer, for strings of 8 letters out of 10."""

    def __init__(self) -> None:
        super().__init__()
        self.letters, self.positions = nn.Embedding(10, 32), nn.Embedding(8, 32)
        self.block, self.scores = EncoderBlock(32, heads=1, d_ff=128), nn.Linear(32, 10)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.scores(self.block(self.letters(ids) + self.positions.weight))


@pytest.mark.slow
def test_only_attention_moves_letters_and_without_positions_it_sees_a_bag() -> None:
    """Chapter 0, section 3: parts are set to 0 and not trained."""
    found = {}
    for off in ("block.feed_forward", "block.attention", "positions"):
        torch.manual_seed(SEED)
        model = Reverser()
        for parameter in model.get_submodule(off).parameters():
            parameter.requires_grad_(False).zero_()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
        for _ in range(200):
            ids = torch.randint(10, (128, 8))
            loss = F.cross_entropy(model(ids).mT, ids.flip(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        ids = torch.randint(10, (2000, 8))
        found[off] = (model(ids).argmax(dim=-1) == ids.flip(-1)).float().mean().item()
    guess = catalogue()["00.bag"].reference
    bag = sum(guess("".join(map(str, row)), 3) for row in ids.tolist()) / len(ids)
    assert found["block.feed_forward"] > 0.98 and abs(found["block.attention"] - 1 / 10) < 0.02
    assert 0.15 < bag - 0.05 < found["positions"] < bag + 0.02


@pytest.mark.slow
def test_one_head_cannot_hold_two_averages_and_two_heads_can() -> None:
    """Chapter 3, section 6: each token's left and right neighbor on a circle."""
    errors = {}
    for heads in (1, 2):
        torch.manual_seed(SEED)
        layer = MultiHeadAttention(32, heads)
        optimizer = torch.optim.Adam(layer.parameters(), lr=0.02)
        for _ in range(300):
            numbers = torch.randn(16, 16, 16)
            x = torch.cat([numbers, torch.eye(16).expand(16, -1, -1)], dim=-1)
            target = torch.cat([numbers.roll(1, dims=1), numbers.roll(-1, dims=1)], dim=-1)
            loss = (layer(x, x) - target).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        errors[heads] = loss.item()
    assert errors[1] > 0.4 and errors[2] < 0.1


@pytest.mark.slow
def test_any_order_of_the_patches_works_if_it_is_always_the_same() -> None:
    """Chapter 8, section 7."""
    found = {}
    for name in ("A: one order", "B: per-image order", "no positions"):
        way = vit_controls.WAYS[name]
        asked = way.get("change", vit_controls.as_they_are)(vit_controls.held_out(), SEED)
        found[name] = accuracy(vit_controls.trained(SEED, **way), asked)
    in_order = found["A: one order"]
    assert in_order > 0.88 and 0.4 < max(found["B: per-image order"], found["no positions"]) < in_order - 0.08


@pytest.mark.slow
def test_convolutions_and_a_mean_read_moved_digits_and_a_vit_does_not() -> None:
    """Chapter 8c, section 2: 200 training images."""
    names = ("ViT", "convolutions, flattened", "convolutions, mean pooling")
    vit, flat, pooled = (vit_controls.few_images(name, 200, SEED) for name in names)
    assert pooled["test"] > vit["test"] + 0.04
    assert vit["moved"] + 0.05 < flat["moved"] < pooled["moved"] - 0.1


@pytest.mark.slow
def test_pretraining_helps_where_labels_are_few() -> None:
    """Chapter 9, section 6: LoRA on 400 labels."""
    task = text_classifiers.FewLabels.of(load_labelled("reviews"), SEED)
    untrained, pretrained = (task.run(encoder, "LoRA")["test"] for encoder in ("untrained", "pretrained"))
    assert untrained < 70 and pretrained > untrained + 12


@pytest.mark.slow
def test_attention_finds_the_distant_mirror_pixel() -> None:
    """Chapter 10, section 7: errors in column 2, whose mirror pixel is nine columns away, and in column 6."""
    attention = symmetry_denoiser.train_mirrors(attention=True, seed=SEED)
    own = symmetry_denoiser.train_mirrors(attention=False, seed=SEED)
    with_attention, without = (symmetry_denoiser.error_by_column(net)[[1, 5]] for net in (attention, own))
    assert with_attention.max() < 0.4 and without[1] < 0.4 and without[0] > 0.46
