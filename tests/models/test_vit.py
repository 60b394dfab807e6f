"""The image classifier: positions count, sizes, heads, another image size, and what is refused."""

import math
from dataclasses import FrozenInstanceError, replace

import pytest
import torch
import torch.nn.functional as F
from helpers.random_weights import randomized
from torch import nn

from course_lib.layers.hooks import record_attention
from course_lib.layers.patches import unfold_patches
from course_lib.models.vit import GRIDS, POOLINGS, TOKENIZERS, ViT, ViTConfig, resized

CONFIG = ViTConfig(classes=5, image_size=12, patch_size=4, channels=3, d_model=24, heads=2, layers=2)
NAMED = {"tokenizer": TOKENIZERS, "positions": GRIDS, "pooling": POOLINGS}
FORMS = [{field: name} for field, known in NAMED.items() for name in known]


def model_of(device="cpu", **changes):
    """A small model whose weights are so large that no part of it can hide."""
    torch.manual_seed(0)
    model = ViT(replace(CONFIG, **changes))
    return randomized(model, device)


def random_images(*shape, device="cpu"):
    return torch.randn(shape, generator=torch.Generator().manual_seed(1)).to(device)


def by_pytorch(model, images):
    """The same model from PyTorch's own encoder layers, its weights copied."""
    c, patches = model.config, model.patches.convolution
    x = unfold_patches(images, c.patch_size) @ patches.weight.flatten(1).t() + patches.bias
    x = torch.cat([model.class_token.expand(len(x), 1, -1), x], dim=1) + model.positions.table
    for block in model.blocks:
        form = {"activation": "gelu", "batch_first": True, "norm_first": True, "layer_norm_eps": c.epsilon}
        layer = nn.TransformerEncoderLayer(c.d_model, c.heads, 4 * c.d_model, 0.0, **form)
        mha, parts = block.attention, block.feed_forward
        layer.load_state_dict(
            {
                "self_attn.in_proj_weight": torch.cat([mha.w_q.weight, mha.w_kv.weight]),
                "self_attn.in_proj_bias": torch.cat([mha.w_q.bias, mha.w_kv.bias]),
                **{f"self_attn.out_proj.{name}": p for name, p in mha.w_o.named_parameters()},
                **{f"linear1.{name}": p for name, p in parts.w_in.named_parameters()},
                **{f"linear2.{name}": p for name, p in parts.w_out.named_parameters()},
                **{f"norm1.{name}": p for name, p in block.norm_1.named_parameters()},
                **{f"norm2.{name}": p for name, p in block.norm_2.named_parameters()},
            }
        )
        x = layer(x)
    return F.linear(model.norm(x)[:, 0], model.head.weight, model.head.bias)


def test_equals_a_model_of_pytorch_layers():
    model, images = model_of(), random_images(3, 3, 12, 12)
    assert torch.allclose(model(images), by_pytorch(model, images), atol=1e-4)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_every_form_gives_logits_that_see_every_patch(device, form):
    model, images = model_of(device, **form), random_images(2, 3, 12, 12, device=device)
    logits = model(images)
    assert logits.shape == (2, 5)
    for y, x in [(0, 0), (5, 11), (11, 2)]:
        changed = images.clone()
        changed[0, 1, y, x] += 3
        moved = (model(changed) - logits).abs().amax(-1)
        assert moved[0] > 1e-4
        assert moved[1] < 1e-5  # images know nothing of one another


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_parameter_count(form):
    d, patches, classes = 24, 9, 5
    pooling, positions = form.get("pooling", "class token"), form.get("positions", "learned")
    own = int(pooling == "class token")
    block = 12 * d * d + 9 * d + 4 * d  # matrices, biases, two norms
    convolutions = (3 * 9 + 1) * d // 2 + (d // 2 * 9 + 1) * d
    stem = 9 * (3 * d // 2 + d // 2 * d + d * d) + 2 * (d // 2 + d + d)  # kernels, three normalizations
    tokenizers = {"patches": (3 * 4 * 4 + 1) * d, "convolutions": convolutions, "convolutional stem": stem}
    expected = tokenizers[form.get("tokenizer", "patches")]
    expected += own * d + 2 * block + 2 * d
    expected += (patches + own) * d if positions == "learned" else 0
    expected += ((patches * d if pooling == "flatten" else d) + 1) * classes
    assert sum(p.numel() for p in model_of(**form).parameters()) == expected


def heads_of(pooling):
    model, images = model_of(pooling=pooling), random_images(2, 3, 12, 12)
    states = model.hidden_states(images)
    assert states.shape == (2, 9 + (pooling == "class token"), 24)
    with torch.no_grad():
        return model(images), states, model.head


def test_each_pooling_is_what_its_name_says():
    for pooling, pooled in {
        "class token": lambda states: torch.stack([states[0, 0], states[1, 0]]),
        "mean": lambda states: sum(states[:, i] for i in range(9)) / 9,
        "max": lambda states: states.transpose(1, 2).max(dim=-1).values,
        "flatten": lambda states: torch.cat([states[:, i] for i in range(9)], dim=1),
    }.items():
        logits, states, head = heads_of(pooling)
        assert torch.allclose(logits, head(pooled(states)), atol=1e-5), pooling


def shuffled(images, order):
    """The same images with their 4×4 patches in another order."""
    patches = unfold_patches(images, 4)[:, order]
    return F.fold(patches.transpose(1, 2), images.shape[2:], 4, stride=4)


@pytest.mark.parametrize("pooling", [pooling for pooling in POOLINGS if pooling != "flatten"])
@pytest.mark.parametrize("positions", GRIDS)
def test_order_counts_only_through_positions(positions, pooling):
    model, images = model_of(positions=positions, pooling=pooling), random_images(2, 3, 12, 12)
    order = torch.tensor([3, 0, 8, 1, 2, 7, 5, 6, 4])
    moved = (model(shuffled(images, order)) - model(images)).abs().amax()
    assert moved < 1e-4 if positions == "none" else moved > 1e-2


def test_a_new_model_holds_all_classes_equally_likely():
    torch.manual_seed(0)
    model, images = ViT(CONFIG), random_images(4, 3, 12, 12)
    loss = F.cross_entropy(model(images), torch.tensor([0, 4, 2, 1]))
    assert loss.item() == pytest.approx(math.log(5), abs=1e-6)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_memorizes_one_batch(form):
    torch.manual_seed(0)
    model, images = ViT(replace(CONFIG, **form)), random_images(8, 3, 12, 12)
    labels = torch.tensor([0, 1, 2, 3, 4, 0, 1, 2])
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(60):
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    assert loss.item() < 0.1
    assert model.eval()(images).argmax(-1).tolist() == labels.tolist()


@pytest.mark.parametrize("positions", GRIDS)
def test_a_resized_model_reads_images_of_another_size(device, positions):
    model = model_of(device, positions=positions)
    larger = resized(model, 20)
    assert larger.config == replace(model.config, image_size=20)
    assert larger.training is model.training
    assert larger(random_images(2, 3, 20, 20, device=device)).shape == (2, 5)
    images = random_images(2, 3, 12, 12, device=device)
    same = resized(model, 12)
    assert torch.equal(same(images), model(images))
    same.head.weight.data.zero_()  # a copy
    assert model.head.weight.any()


def test_every_attention_can_be_seen():
    model = model_of()
    with record_attention(model) as maps:
        model.hidden_states(random_images(2, 3, 12, 12))
    assert list(maps) == ["blocks.0.attention", "blocks.1.attention"]
    assert maps["blocks.1.attention"][0].shape == (2, 2, 10, 10)


def test_training_drops_features_of_the_embeddings_and_of_each_sublayer():
    model, images = model_of(dropout=0.25, d_model=48), random_images(8, 3, 12, 12)
    whole, dropped = model.embedded(images), model.train().embedded(images)
    kept = dropped != 0
    assert kept.float().mean().item() == pytest.approx(0.75, abs=0.03)
    assert torch.allclose(dropped[kept], whole[kept] / 0.75, atol=1e-5)
    calls: list[float] = []
    for block in model.blocks:
        block.dropout.register_forward_hook(lambda layer, _, output: calls.append(layer.p))
    model(images)
    assert calls == [0.25] * 4  # two blocks of two sublayers


def test_a_new_model_has_xavier_s_spread_in_its_blocks_and_its_epsilon_everywhere():
    torch.manual_seed(0)
    model = ViT(replace(CONFIG, d_model=48, epsilon=1e-3))
    for p in model.blocks.parameters():
        if p.ndim == 2:
            bound = math.sqrt(6 / sum(p.shape))
            assert 0.97 * bound < p.abs().max().item() <= bound
            assert p.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05)
    assert not any(p.any() for name, p in model.blocks.named_parameters() if name.endswith("bias"))
    assert [m.eps for m in model.modules() if isinstance(m, nn.LayerNorm)] == [1e-3] * 5


def test_dropout_only_in_training():
    model, images = model_of(dropout=0.5), random_images(2, 3, 12, 12)
    assert torch.equal(model(images), model(images))
    assert not torch.equal(model.train()(images), model(images))


def test_bf16_works(device):
    model = model_of(device).to(torch.bfloat16)
    assert model(random_images(2, 3, 12, 12, device=device).bfloat16()).dtype == torch.bfloat16


def test_the_config_is_frozen():
    with pytest.raises(FrozenInstanceError):
        CONFIG.classes = 7


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"patch_size": 5}, "patch_size=5 does not divide image_size=12"),
        ({"heads": 7}, "heads=7 .*d_model=24"),
        ({"tokenizer": "words"}, "tokenizer='words' .*convolutions.*patches"),
        ({"tokenizer": "convolutions", "patch_size": 6}, "patch_size=6 is not 2, 4, 8, …"),
        ({"tokenizer": "convolutional stem", "patch_size": 6}, "patch_size=6 is not 2, 4, 8, …"),
        ({"positions": "rotary"}, "positions='rotary' .*learned.*none.*sinusoidal 2d"),
        ({"pooling": "median"}, "pooling='median' .*class token.*flatten.*max.*mean"),
        ({"positions": "sinusoidal 2d", "d_model": 18}, "4 does not divide d_model=18"),
    ],
)
def test_refusals(changes, message):
    with pytest.raises(ValueError, match=message):
        model_of(**changes)


@pytest.mark.parametrize("shape", [(1, 12, 12), (3, 12, 16), (3, 16, 16), (12, 12, 3)])
def test_images_of_another_form_are_refused(shape):
    given = r", ".join(map(str, shape))
    with pytest.raises(ValueError, match=rf"\({given}\): the model takes \(3, 12, 12\)"):
        model_of()(random_images(2, *shape))


def test_other_sizes_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="image_size=12 does not fit image_size=16"):
        resized(model_of(pooling="flatten"), 16)
    with pytest.raises(ValueError, match="patch_size=4 does not divide image_size=18"):
        resized(model_of(), 18)
