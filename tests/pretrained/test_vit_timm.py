"""ViT weights of the real timm, both ways."""

from dataclasses import replace

import pytest
import torch
from helpers.random_weights import randomized
from helpers.timm_names import TimmNames

from course_lib.models.vit import ViT, ViTConfig
from course_lib.pretrained.torchvision_ops import library
from course_lib.pretrained.vit import from_timm, to_timm

CONFIG = ViTConfig(classes=5, image_size=12, patch_size=4, channels=2, d_model=24, heads=3, layers=2)
SIZES = {"img_size": 12, "patch_size": 4, "in_chans": 2, "num_classes": 5}
SIZES |= {"embed_dim": 24, "num_heads": 3, "depth": 2}


def theirs_of(device="cpu", **changes):
    return randomized(library("timm").models.VisionTransformer(**{**SIZES, **changes}), device, seed=2)


def random_images(device="cpu"):
    return torch.randn(2, 2, 12, 12, generator=torch.Generator().manual_seed(1)).to(device)


def test_timms_model_as_ours(device):
    theirs, images = theirs_of(device), random_images(device)
    ours = from_timm(theirs)
    assert ours.config == CONFIG
    with torch.inference_mode():
        assert torch.allclose(ours(images), theirs(images), atol=1e-4)


def test_our_model_as_timms(device):
    ours = randomized(ViT(replace(CONFIG, dropout=0.1)), device, seed=2)
    theirs, images = to_timm(ours), random_images(device)
    with torch.inference_mode():
        assert torch.allclose(ours(images), theirs(images), atol=1e-4)
    again = from_timm(theirs)
    assert again.config == ours.config
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), again.parameters(), strict=True))


def test_the_names_of_our_stand_in_are_timms():
    theirs, stand_in, images = theirs_of(), TimmNames(), random_images()
    stand_in.load_state_dict(theirs.state_dict())
    with torch.inference_mode():
        assert torch.allclose(stand_in(images), theirs(images), atol=1e-4)


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("vit_tiny_patch16_224", "vit-tiny"),
        ("vit_small_patch16_224", "vit-small"),
        ("vit_base_patch16_224", "vit-base"),
    ],
)
def test_counts_are_timms(name, config):
    from course_lib.pretrained.vit import VIT_SIZES

    with torch.device("meta"):
        theirs, ours = library("timm").create_model(name), ViT(VIT_SIZES[config])
    assert sum(p.numel() for p in theirs.parameters()) == sum(p.numel() for p in ours.parameters())


def test_another_width_is_converted_both_ways():
    theirs, images = theirs_of(mlp_ratio=2).eval(), random_images()
    ours = from_timm(theirs)
    with torch.inference_mode():
        for model in (ours, to_timm(ours).eval()):
            assert torch.allclose(model(images), theirs(images), atol=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"global_pool": "avg"}, "global_pool='avg'.*'token'"),
        ({"reg_tokens": 4}, "another form.*reg_token"),
        ({"init_values": 0.1}, "another form.*ls1"),
        ({"qk_norm": True}, "another form.*q_norm"),
        ({"no_embed_class": True}, r"positions.table of \(1, 9, 24\), but ViT has \(10, 24\)"),
        ({"pre_norm": True}, "another form"),
        ({"act_layer": "relu"}, "activation ReLU.*GELU"),
    ],
)
def test_other_forms_of_timm_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        from_timm(theirs_of(**changes))
