"""Published ViTs: parameter counts, and the weights of Hugging Face's library and of timm, both ways."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from course_lib.torchvision_ops import library
from course_lib.vit import ViT, ViTConfig, resized
from course_lib.vit_weights import (
    VIT_SIZES,
    filled,
    from_hugging_face,
    given_back,
    load_vit,
    our_weights,
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


def spread(model, device="cpu"):
    """The model with random weights so large that none can hide."""
    torch.manual_seed(2)
    with torch.no_grad():
        for p in model.parameters():
            p += 0.2 * torch.randn_like(p)
    return model.to(device).eval()


def theirs_of(device="cpu", **changes):
    transformers = library("transformers")
    config = transformers.ViTConfig(**{**SIZES, **IMAGES, **changes})
    return spread(transformers.ViTForImageClassification(config), device)


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
    ours = spread(ViT(replace(CONFIG, dropout=0.1, epsilon=1e-6)), device)
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
    ours = spread(ViT(CONFIG))
    theirs = to_hugging_face(ours).state_dict()
    for today, older in OLDER:
        theirs = {name.replace(today, older): t for name, t in theirs.items()}
    assert any(".attention.attention.query." in name for name in theirs)
    again = our_weights(theirs, ours.state_dict())
    assert all(torch.equal(again[name], t) for name, t in ours.state_dict().items())


class TimmNames(torch.nn.Module):
    """A ViT with timm's names of weights, its formulas written out once more."""

    def __init__(self, d=24, heads=3, layers=2, tokens=10, classes=5):
        super().__init__()
        shapes = {
            "cls_token": (1, 1, d),
            "pos_embed": (1, tokens, d),
            "patch_embed.proj.weight": (d, 2, 4, 4),
        }
        shapes |= {"patch_embed.proj.bias": (d,), "norm.weight": (d,), "norm.bias": (d,)}
        shapes |= {"head.weight": (classes, d), "head.bias": (classes,)}
        for i in range(layers):
            for name, rows, columns in [
                ("attn.qkv", 3 * d, d),
                ("attn.proj", d, d),
                ("mlp.fc1", 4 * d, d),
                ("mlp.fc2", d, 4 * d),
                ("norm1", d, None),
                ("norm2", d, None),
            ]:
                shapes[f"blocks.{i}.{name}.weight"] = (rows, columns) if columns else (rows,)
                shapes[f"blocks.{i}.{name}.bias"] = (rows,)
        self.weights = {name: 0.3 * torch.randn(shape) for name, shape in shapes.items()}
        self.heads, self.layers = heads, layers

    def state_dict(self):
        return dict(self.weights)

    def load_state_dict(self, weights):
        assert {name: t.shape for name, t in weights.items()} == {n: t.shape for n, t in self.weights.items()}
        self.weights = weights

    def linear(self, name, x):
        return x @ self.weights[f"{name}.weight"].t() + self.weights[f"{name}.bias"]

    def norm(self, name, x):
        return F.layer_norm(
            x, x.shape[-1:], self.weights[f"{name}.weight"], self.weights[f"{name}.bias"], 1e-6
        )

    def attention(self, name, x):
        batch, tokens, d = x.shape
        qkv = self.linear(f"{name}.qkv", x).reshape(batch, tokens, 3, self.heads, d // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-2, -1) / (d // self.heads) ** 0.5).softmax(-1)
        return self.linear(f"{name}.proj", (weights @ v).transpose(1, 2).reshape(batch, tokens, d))

    def forward(self, images):
        w = self.weights
        x = F.conv2d(images, w["patch_embed.proj.weight"], w["patch_embed.proj.bias"], stride=4)
        x = torch.cat([w["cls_token"].expand(len(images), -1, -1), x.flatten(2).transpose(1, 2)], dim=1)
        x = x + w["pos_embed"]
        for i in range(self.layers):
            x = x + self.attention(f"blocks.{i}.attn", self.norm(f"blocks.{i}.norm1", x))
            hidden = F.gelu(self.linear(f"blocks.{i}.mlp.fc1", self.norm(f"blocks.{i}.norm2", x)))
            x = x + self.linear(f"blocks.{i}.mlp.fc2", hidden)
        return self.linear("head", self.norm("norm", x)[:, 0])


def test_weights_by_the_names_of_timm_both_ways():
    torch.manual_seed(3)
    theirs, images = TimmNames(), random_images(2, 2, 12, 12)
    config = replace(CONFIG, epsilon=1e-6)
    ours = filled(config, theirs)
    assert torch.allclose(ours(images), theirs(images), atol=1e-4)
    other = spread(ViT(config))
    assert not torch.allclose(ours(images), other(images), atol=1e-2)
    assert torch.allclose(given_back(other, TimmNames())(images), other(images), atol=1e-4)


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


def test_a_saved_model_is_loaded_by_its_folder(tmp_path):
    theirs, images = theirs_of(), random_images(2, 2, 12, 12)
    theirs.save_pretrained(tmp_path / "small")
    assert torch.allclose(load_vit(str(tmp_path / "small"))(images), theirs(images).logits, atol=1e-4)


def test_a_model_that_is_not_there_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(OSError, match="nowhere"):
        load_vit(str(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_act": "relu"}, "hidden_act='relu'.*'gelu'"),
        ({"qkv_bias": False}, "another form.*blocks.0.attention.w_q.bias"),
        ({"intermediate_size": 50}, r"w_in.weight of \(50, 24\), but ViT has \(96, 24\)"),
        ({"image_size": (12, 16)}, "12 × 16 is no square"),
    ],
)
def test_other_forms_of_theirs_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        from_hugging_face(theirs_of(**changes))


@pytest.mark.parametrize(("field", "value"), [("positions", "sinusoidal 2d"), ("pooling", "mean")])
def test_other_forms_of_ours_are_refused(field, value):
    with pytest.raises(ValueError, match=f"{field}='{value}', but theirs has {field}="):
        to_hugging_face(ViT(replace(CONFIG, **{field: value})))
