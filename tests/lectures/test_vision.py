"""DLStudio's visTransformer rebuilt: parameter counts, each deviation by itself, what is left without any."""

from dataclasses import fields, replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.layers.patches import unfold_patches
from course_lib.lectures.dlstudio import VisionConfig, VisionDeviations, VisTransformer, scrambled_patches

CONFIG = VisionConfig(classes=5, image_size=12, patch_size=4, d_model=24, heads=3, layers=2)
NAMES = [one.name for one in fields(VisionDeviations)]
LECTURE = VisionDeviations.lecture()


def model_of(deviations=None, config=CONFIG, device="cpu"):
    torch.manual_seed(0)
    return VisTransformer(config, deviations or VisionDeviations()).to(device).eval()


def random_images(batch=2, side=12, device="cpu"):
    return torch.randn(batch, 3, side, side, generator=torch.Generator().manual_seed(1)).to(device)


def numbers(model, trained=False):
    return sum(p.numel() for p in model.parameters() if p.requires_grad or not trained)


# ---------------------------------------------------------------- sizes


def test_parameter_counts_of_the_lecture():
    """Of its own parameters, DLStudio counts those of the encoder and of the last layers."""
    with torch.device("meta"):
        model = VisTransformer(VisionConfig(), LECTURE)
    heads, feed_forward, norms = 4 * 3 * 64 * 64, 2 * 256 * 512 + 512 + 256, 2 * 2 * 256
    assert numbers(model.blocks) == 8 * (heads + feed_forward + norms) == 2_504_704
    assert numbers(model.fc) == 136_714
    assert numbers(model, trained=True) == 2_641_418
    assert numbers(model.embed_patches) == 192 * 256 + 256 + 16 * 256 == 53_504
    assert numbers(model) == 2_641_418 + 53_504 + 256


def test_parameter_count_without_deviations():
    with torch.device("meta"):
        model = VisTransformer(VisionConfig())
    block = 3 * 256 * 256 + 256 * 256 + 256 + 2 * 256 * 512 + 512 + 256 + 2 * 2 * 256
    assert numbers(model) == numbers(model, trained=True) == 8 * block + 136_714 + 53_504 + 256 + 2 * 256


# ---------------------------------------------------------------- V1


def test_scrambled_patches_are_three_squares_of_one_colour():
    images = torch.arange(2 * 3 * 12 * 12.0).view(2, 3, 12, 12)
    squares = unfold_patches(images, 4).unflatten(-1, (3, 16))  # (batch, patches, colours, pixels)
    wrong = scrambled_patches(images, 4).unflatten(-1, (3, 16))
    for patch in range(9):
        for third in range(3):
            colour, square = divmod(3 * patch + third, 9)
            assert torch.equal(wrong[:, patch, third], squares[:, square, colour])


def test_scrambled_patches_hold_all_pixels():
    images = random_images()
    wrong, right = scrambled_patches(images, 4), unfold_patches(images, 4)
    assert wrong.shape == right.shape and not torch.allclose(wrong, right)
    assert torch.equal(wrong.flatten(1).sort().values, right.flatten(1).sort().values)


@pytest.mark.parametrize(("deviations", "moved"), [(VisionDeviations(), [1]), (LECTURE, [0, 3, 6])])
def test_what_one_place_of_the_image_moves(deviations, moved):
    """In the lecture's patches the three colours of a pixel lie in three patches."""
    embed, images = model_of(deviations).embed_patches, random_images(1)
    changed = images.clone()
    changed[:, :, 2, 5] += 1
    difference = (embed(changed) - embed(images)).abs().amax(-1)[0]
    assert (difference > 1e-3).nonzero().flatten().tolist() == moved


# ---------------------------------------------------------------- V2


def test_what_is_frozen_never_moves():
    for name, frozen in {
        "frozen_embedding": {
            "embed_patches.embed.weight",
            "embed_patches.embed.bias",
            "embed_patches.positions",
        },
        "frozen_class_token": {"class_token"},
    }.items():
        model = model_of(VisionDeviations(**{name: True}))
        assert {key for key, p in model.named_parameters() if not p.requires_grad} == frozen
    assert all(p.requires_grad for p in model_of().parameters())


# ---------------------------------------------------------------- V3


def test_equals_a_model_of_pytorch_layers_without_deviations():
    model, images = model_of(), random_images()
    x = model.embed_patches.embed(unfold_patches(images, 4)) + model.embed_patches.positions
    x = torch.cat([model.class_token.expand(2, 1, -1), x], dim=1)
    for block in model.blocks:
        layer = nn.TransformerEncoderLayer(24, 3, 48, 0.0, batch_first=True, norm_first=True)
        w = block.attention
        rows = [torch.cat([m.weight for m in part.linears]) for part in (w.w_q, w.w_k, w.w_v)]
        layer.load_state_dict(
            {
                "self_attn.in_proj_weight": torch.cat(rows),
                "self_attn.in_proj_bias": torch.zeros(72),
                **{f"self_attn.out_proj.{name}": p for name, p in w.w_o.named_parameters()},
                **{f"linear1.{name}": p for name, p in block.feed_forward.w_in.named_parameters()},
                **{f"linear2.{name}": p for name, p in block.feed_forward.w_out.named_parameters()},
                **{f"norm1.{name}": p for name, p in block.residuals[0].norm.named_parameters()},
                **{f"norm2.{name}": p for name, p in block.residuals[1].norm.named_parameters()},
            }
        )
        x = layer(x)
    expected = model.fc(model.norm(x)[:, 0])
    assert torch.allclose(model(images), expected, atol=1e-5)


def by_the_slides(model, images):
    """The lecture's computation, head by head."""
    x = model.embed_patches.embed(scrambled_patches(images, 4)) + model.embed_patches.positions
    x = torch.cat([model.class_token.expand(len(x), 1, -1), x], dim=1)
    for block in model.blocks:
        parts = []
        for h, part in enumerate(x.split(8, dim=-1)):
            q, k, v = (
                m.linears[h](part) for m in (block.attention.w_q, block.attention.w_k, block.attention.w_v)
            )
            parts.append((q @ k.transpose(1, 2)).softmax(dim=1) @ v / 8**0.5)
        x = block.residuals[0].norm(torch.cat(parts, dim=-1) + x)
        inner = F.relu(block.feed_forward.w_in(x))
        x = block.residuals[1].norm(block.feed_forward.w_out(inner) + x)
    return model.fc(x[:, 0])


def test_the_lecture_s_model_computes_what_the_slides_say():
    model, images = model_of(LECTURE.without("never_eval")), random_images()
    assert torch.allclose(model(images), by_the_slides(model, images), atol=1e-5)


@pytest.mark.parametrize("name", ["frozen_embedding", "frozen_class_token", "never_eval"])
def test_deviations_of_the_training_leave_the_numbers(name):
    images, changed = random_images(), model_of(VisionDeviations(**{name: True}))
    changed.dropout.eval()
    assert torch.equal(changed(images), model_of()(images))


@pytest.mark.parametrize("name", ["scrambled_patches", "softmax_over_queries", "scale_after_softmax"])
def test_deviations_of_the_computation_change_the_numbers(name):
    images = random_images()
    assert not torch.allclose(
        model_of(VisionDeviations(**{name: True}))(images), model_of()(images), atol=1e-3
    )


def test_dropout_in_the_test():
    images = random_images()
    kept, fixed = model_of(LECTURE).eval(), model_of(LECTURE.without("never_eval")).eval()
    assert not torch.equal(kept(images), kept(images))
    assert torch.equal(fixed(images), fixed(images))
    assert not torch.equal(fixed.train()(images), fixed(images))


@pytest.mark.parametrize("deviations", [VisionDeviations(), LECTURE], ids=["correct", "lecture"])
def test_memorizes_one_batch(device, deviations):
    model, images = model_of(deviations, device=device).train(), random_images(6, device=device)
    labels = torch.tensor([0, 1, 2, 3, 4, 0], device=device)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=3e-3)
    for _ in range(60):
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.dropout.eval()
    assert model(images).argmax(-1).tolist() == labels.tolist()


# ---------------------------------------------------------------- the switches


def test_switches():
    rows = VisionDeviations.descriptions()
    assert list(rows) == NAMES and {row for row, _ in rows.values()} == {"V1", "V2", "V3"}
    assert LECTURE.without(*NAMES) == VisionDeviations()
    assert LECTURE.without("scrambled_patches") == replace(LECTURE, scrambled_patches=False)
    with pytest.raises(ValueError, match="'scrambled' is not one of the 9 deviations"):
        LECTURE.without("scrambled")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"patch_size": 5}, "patch_size=5 does not divide image_size=12"),
        ({"heads": 5}, "heads=5 does not divide d_model=24"),
    ],
)
def test_refusals(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(CONFIG, **changes)
