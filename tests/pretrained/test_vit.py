"""Published ViTs: parameter counts, and the weights of Hugging Face's library and of timm, both ways."""

from dataclasses import replace

import pytest
import torch
from helpers.random_weights import randomized
from helpers.timm_names import TimmNames

from course_lib.models.vit import ViT, ViTConfig, resized
from course_lib.pretrained.torchvision_ops import library
from course_lib.pretrained.vit import (
    VIT_SIZES,
    convert_weights_from,
    from_hugging_face,
    load_into_theirs,
    load_into_vit,
    to_hugging_face,
)

COUNTS = {
    "vit-tiny": 5_717_416,
    "vit-small": 22_050_664,
    "vit-base": 86_567_656,
    "vit-large": 304_326_632,
}
SIZES = {"hidden_size": 24, "num_attention_heads": 3, "num_hidden_layers": 2, "intermediate_size": 96}
IMAGES = {"image_size": 12, "patch_size": 4, "num_channels": 2, "num_labels": 5}
CONFIG = ViTConfig(
    classes=5, image_size=12, patch_size=4, channels=2, d_model=24, heads=3, layers=2, epsilon=1e-12
)
OLDER = (  # names in files that older versions of transformers wrote: today's, those
    ("vit.layers.", "vit.encoder.layer."),
    (".attention.q_proj.", ".attention.attention.query."),
    (".attention.k_proj.", ".attention.attention.key."),
    (".attention.v_proj.", ".attention.attention.value."),
    (".attention.o_proj.", ".attention.output.dense."),
    (".mlp.fc1.", ".intermediate.dense."),
    (".mlp.fc2.", ".output.dense."),
)


@pytest.mark.parametrize("name", COUNTS)
def test_parameters_of_the_published_sizes(name):
    with torch.device("meta"):
        model = ViT(VIT_SIZES[name])
    assert sum(p.numel() for p in model.parameters()) == COUNTS[name]


def random_images(*shape, device="cpu"):
    return torch.randn(shape, generator=torch.Generator().manual_seed(1)).to(device)


def theirs_of(device="cpu", **changes):
    transformers = library("transformers")
    config = transformers.ViTConfig(**{**SIZES, **IMAGES, **changes})
    return randomized(transformers.ViTForImageClassification(config), device, seed=2)


def test_their_model_as_ours(device):
    theirs, images = theirs_of(device), random_images(2, 2, 12, 12, device=device)
    ours = from_hugging_face(theirs)
    assert ours.config == CONFIG
    assert not ours.training
    with torch.inference_mode():
        assert torch.allclose(ours(images), theirs(images).logits, atol=1e-4)
    before = theirs(images).logits
    for p in ours.parameters():
        p.data.zero_()  # a copy, not a view of their weights
    assert torch.equal(theirs(images).logits, before)


def test_our_model_as_theirs(device):
    ours = randomized(ViT(replace(CONFIG, dropout=0.1, epsilon=1e-6)), device, seed=2)
    images, theirs = random_images(2, 2, 12, 12, device=device), to_hugging_face(ours)
    with torch.inference_mode():
        assert torch.allclose(ours(images), theirs(images).logits, atol=1e-4)
    again = from_hugging_face(theirs)
    assert again.config == ours.config
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), again.parameters(), strict=True))


def test_interpolated_positions_equal_theirs():
    theirs, images = theirs_of(), random_images(2, 2, 20, 20)
    ours = resized(from_hugging_face(theirs), 20)
    with torch.inference_mode():
        logits = theirs(images, interpolate_pos_encoding=True).logits
        assert torch.allclose(ours(images), logits, atol=1e-4)


def test_older_names_are_read_too():
    ours = randomized(ViT(CONFIG), seed=2)
    theirs = to_hugging_face(ours).state_dict()
    for today, older in OLDER:
        theirs = {name.replace(today, older): t for name, t in theirs.items()}
    assert any(".attention.attention.query." in name for name in theirs)
    again = convert_weights_from(theirs, ours.state_dict())
    assert all(torch.equal(again[name], t) for name, t in ours.state_dict().items())


def test_weights_by_the_names_of_timm_both_ways():
    torch.manual_seed(3)
    theirs, images = TimmNames(), random_images(2, 2, 12, 12)
    config = replace(CONFIG, epsilon=1e-6)
    ours = load_into_vit(config, theirs)
    assert torch.allclose(ours(images), theirs(images), atol=1e-4)
    other = randomized(ViT(config), seed=2)
    assert not torch.allclose(ours(images), other(images), atol=1e-2)
    assert torch.allclose(load_into_theirs(other, TimmNames())(images), other(images), atol=1e-4)


@pytest.mark.parametrize("pair", [("q_proj", "k_proj"), ("layernorm_before", "layernorm_after")])
def test_swapped_weights_would_be_seen(pair):
    theirs, images = theirs_of(), random_images(2, 2, 12, 12)
    ours, weights = from_hugging_face(theirs), theirs.state_dict()
    one, other = pair
    swapped = {
        name.replace(one, "?").replace(other, one).replace("?", other): t.clone()
        for name, t in weights.items()
    }
    theirs.load_state_dict(swapped)
    assert not torch.allclose(ours(images), theirs(images).logits, atol=1e-3)


def test_another_width_is_converted_both_ways():
    theirs, images = theirs_of(intermediate_size=50).eval(), random_images(2, 2, 12, 12)
    ours = from_hugging_face(theirs)
    with torch.inference_mode():
        for out in (ours(images), to_hugging_face(ours).eval()(images).logits):
            assert torch.allclose(out, theirs(images).logits, atol=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_act": "relu"}, "hidden_act='relu'.*'gelu'"),
        ({"qkv_bias": False}, "another form.*blocks.0.attention.w_q.bias"),
        ({"image_size": (12, 16)}, "12 × 16 is not a square"),
    ],
)
def test_other_forms_of_theirs_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        from_hugging_face(theirs_of(**changes))


@pytest.mark.parametrize(("field", "value"), [("positions", "sinusoidal 2d"), ("pooling", "mean")])
def test_other_forms_of_ours_are_refused(field, value):
    with pytest.raises(ValueError, match=f"{field}='{value}', but the published ViT has {field}="):
        to_hugging_face(ViT(replace(CONFIG, **{field: value})))
