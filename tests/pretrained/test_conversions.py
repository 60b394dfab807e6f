"""Published models: parameter counts, and the weights of other libraries both ways, on tiny models."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from helpers.random_weights import randomized
from torch import Tensor, nn

from course_lib.generation.decoding import greedy_decode
from course_lib.layers.masks import padding_mask
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.models.text_encoder import EncoderConfig, TextEncoder
from course_lib.models.vit import ViT, ViTConfig, resized
from course_lib.pretrained import bert, gpt2, vit
from course_lib.pretrained.torchvision_ops import library
from course_lib.text.tokenizers import PAD

PUBLISHED = {  # 109,482,240 and 335,141,888 with the poolers of BERT
    GPT: (gpt2.GPT2_SIZES, [124_439_808, 354_823_168, 774_030_080, 1_557_611_200]),
    TextEncoder: (bert.BERT_SIZES, [108_891_648, 334_092_288]),
    ViT: (vit.VIT_SIZES, [5_717_416, 22_050_664, 86_567_656, 304_326_632]),
}
IDS = torch.tensor([[2, 9, 36, 7, 4, 1, 3], [2, 30, 3, 11, 3, PAD, PAD]])
TYPES = torch.tensor([[0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 4, 4, 0, 0]])
SIZES = {"d_model": 24, "heads": 3, "layers": 2}
IMAGES = torch.randn(2, 2, 12, 12, generator=torch.Generator().manual_seed(1))
SQUARES = {"classes": 5, "image_size": 12, "patch_size": 4, "channels": 2, "dropout": 0.1}


def gpt2s(**changes: object) -> nn.Module:
    sizes = {"vocab_size": 37, "n_embd": 24, "n_head": 3, "n_layer": 2, "n_positions": 20}
    ends = {"bos_token_id": None, "eos_token_id": None}
    return library("transformers").GPT2LMHeadModel(
        library("transformers").GPT2Config(**{**sizes, **ends, **changes})
    )


def berts(**changes: object) -> nn.Module:
    sizes = {"vocab_size": 37, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3}
    sizes |= {"intermediate_size": 60, "max_position_embeddings": 11, "type_vocab_size": 5}
    return library("transformers").BertModel(library("transformers").BertConfig(**{**sizes, **changes}))


def vits(**changes: object) -> nn.Module:
    sizes = {"hidden_size": 24, "num_attention_heads": 3, "num_hidden_layers": 2, "intermediate_size": 96}
    images = {"image_size": 12, "patch_size": 4, "num_channels": 2, "num_labels": 5}
    images |= {"hidden_dropout_prob": 0.1}
    config = library("transformers").ViTConfig(**{**sizes, **images, **changes})
    return library("transformers").ViTForImageClassification(config)


def timms(**changes: object) -> nn.Module:
    images = {"img_size": 12, "patch_size": 4, "in_chans": 2, "num_classes": 5}
    sizes = {"embed_dim": 24, "num_heads": 3, "depth": 2, "pos_drop_rate": 0.1, "proj_drop_rate": 0.1}
    return library("timm").models.VisionTransformer(**{**images, **sizes, **changes})


def states(model: TextEncoder, device: str) -> Tensor:
    return model.hidden_states(IDS.to(device), types=TYPES.to(device))[IDS != PAD]


def their_states(model: Any, device: str) -> Tensor:
    """Without those of the padding, which are nobody's business."""
    given = {"input_ids": IDS, "token_type_ids": TYPES, "attention_mask": (IDS != PAD).long()}
    return model(**{name: ids.to(device) for name, ids in given.items()}).last_hidden_state[IDS != PAD]


@dataclass(frozen=True)
class Kind:
    """Ours as it is converted from a small one of theirs, how both are made, and what both compute."""

    module: ModuleType
    make: Callable[[Any], Any]
    config: Any
    theirs: Callable[..., Any]
    output: Callable[[Any, str], Tensor]
    their_output: Callable[[Any, str], Tensor]
    library: str = "hugging_face"

    def convert(self, model: Any) -> Any:
        ours = isinstance(model, GPT | TextEncoder | ViT)
        return getattr(self.module, f"{'to' if ours else 'from'}_{self.library}")(model)


def images_of(model: Any, device: str) -> Tensor:
    out = model(IMAGES.to(device))
    return getattr(out, "logits", out)


def logits_of(model: Any, device: str) -> Tensor:
    out = model(IDS[:1].to(device))
    return getattr(out, "logits", out)


KINDS = {
    "gpt2": Kind(
        gpt2, GPT, GPTConfig(vocab=37, max_tokens=20, dropout=0.1, **SIZES), gpt2s, logits_of, logits_of
    ),
    "bert": Kind(
        bert,
        TextEncoder,
        EncoderConfig(
            vocab=37, d_ff=60, max_tokens=11, types=5, dropout=0.1, norm="post", epsilon=1e-12, **SIZES
        ),
        berts,
        states,
        their_states,
    ),
    "vit": Kind(vit, ViT, ViTConfig(epsilon=1e-12, **SQUARES, **SIZES), vits, images_of, images_of),
    "timm": Kind(vit, ViT, ViTConfig(**SQUARES, **SIZES), timms, images_of, images_of, "timm"),
}
LOADERS = {"gpt2": gpt2.load_gpt2, "bert": bert.load_bert, "vit": vit.load_vit}


def assert_same(ours: nn.Module, again: nn.Module) -> None:
    assert again.config == ours.config
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), again.parameters(), strict=True))


@pytest.mark.parametrize("make", PUBLISHED)
def test_parameters_of_the_published_sizes(make):
    sizes, counts = PUBLISHED[make]
    with torch.device("meta"):
        assert [sum(p.numel() for p in make(size).parameters()) for size in sizes.values()] == counts


@pytest.mark.parametrize("size", ["tiny", "small", "base"])
def test_counts_are_timms(size):
    with torch.device("meta"):
        theirs = library("timm").create_model(f"vit_{size}_patch16_224")
    assert sum(p.numel() for p in theirs.parameters()) in PUBLISHED[ViT][1]


@pytest.mark.parametrize("name", KINDS)
def test_their_model_as_ours(name, device):
    kind = KINDS[name]
    theirs = randomized(kind.theirs(), device, seed=2)
    ours = kind.convert(theirs)
    assert ours.config == kind.config and not ours.training
    with torch.inference_mode():
        before = kind.their_output(theirs, device)
        assert torch.allclose(kind.output(ours, device), before, atol=1e-4)
    for p in ours.parameters():
        p.data.zero_()  # a copy, not a view of their weights
    with torch.inference_mode():
        assert torch.equal(kind.their_output(theirs, device), before)
        assert not torch.allclose(kind.output(ours, device), before, atol=1e-2)


@pytest.mark.parametrize("name", KINDS)
def test_our_model_as_theirs_and_back(name, device):
    kind = KINDS[name]
    ours = randomized(kind.make(kind.config), device, seed=2)
    theirs = kind.convert(ours)
    with torch.inference_mode():
        assert torch.allclose(kind.output(ours, device), kind.their_output(theirs, device), atol=1e-4)
    assert_same(ours, kind.convert(theirs))


@pytest.mark.parametrize("name", KINDS)
def test_double_precision_is_kept(name):
    kind = KINDS[name]
    ours = randomized(kind.make(kind.config).double(), scale=1e-12)  # what single precision cannot hold
    theirs = kind.convert(ours)
    assert {p.dtype for p in theirs.parameters()} == {torch.float64}
    assert_same(ours, kind.convert(theirs))


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("bert", "self.query", "self.key"),
        ("bert", ".0.attention.output.LayerNorm", ".0.output.LayerNorm"),
        ("vit", "q_proj", "k_proj"),
        ("vit", "layernorm_before", "layernorm_after"),
        ("timm", "norm1", "norm2"),
        ("gpt2", "ln_1", "ln_2"),
    ],
)
def test_swapped_weights_would_be_seen(name, one, other):
    kind = KINDS[name]
    theirs = randomized(kind.theirs(), seed=2)
    ours, weights = kind.convert(theirs), theirs.state_dict()
    swapped = {
        key: weights[key.replace(one, "?").replace(other, one).replace("?", other)].clone() for key in weights
    }
    theirs.load_state_dict(swapped)
    assert not torch.allclose(kind.output(ours, "cpu"), kind.their_output(theirs, "cpu"), atol=1e-3)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("gpt2", {"n_inner": 99}),
        ("gpt2", {"layer_norm_epsilon": 1e-3}),
        ("vit", {"intermediate_size": 50}),
        ("timm", {"mlp_ratio": 2}),
    ],
)
def test_another_width_and_epsilon_are_converted_both_ways(name, changes):
    kind = KINDS[name]
    theirs = randomized(kind.theirs(**changes), seed=2)
    ours = kind.convert(theirs)
    with torch.inference_mode():
        expected = kind.their_output(theirs, "cpu")
        assert torch.allclose(kind.output(ours, "cpu"), expected, atol=1e-4)
        assert torch.allclose(kind.their_output(kind.convert(ours), "cpu"), expected, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("gpt2", {"activation_function": "relu"}, "activation_function='relu'.*'gelu_new'"),
        ("gpt2", {"scale_attn_weights": False}, "scale_attn_weights=False.*True"),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx=True.*False"),
        ("bert", {"hidden_act": "relu"}, "hidden_act='relu'.*'gelu'"),
        ("bert", {"pad_token_id": 3}, "pad_token_id=3.*=0"),
        ("vit", {"hidden_act": "relu"}, "hidden_act='relu'.*'gelu'"),
        ("vit", {"qkv_bias": False}, "another form.*blocks.0.attention.w_q.bias"),
        ("vit", {"image_size": (12, 16)}, "12 × 16 is not a square"),
        ("timm", {"global_pool": "avg"}, "global_pool='avg'.*'token'"),
        ("timm", {"reg_tokens": 4}, "another form.*reg_token"),
        ("timm", {"init_values": 0.1}, "another form.*ls1"),
        ("timm", {"qk_norm": True}, "another form.*q_norm"),
        ("timm", {"no_embed_class": True}, r"positions.table of \(1, 9, 24\), but ViT has \(10, 24\)"),
        ("timm", {"pre_norm": True}, "another form"),
        ("timm", {"act_layer": "relu"}, "activation ReLU.*GELU"),
    ],
)
def test_other_forms_of_theirs_are_refused(name, changes, message):
    with pytest.raises(ValueError, match=message):
        KINDS[name].convert(KINDS[name].theirs(**changes))


@pytest.mark.parametrize(
    ("name", "field", "value", "message"),
    [
        *(
            ("gpt2", field, value, f"{field}=.*GPT-2 has {field}=")
            for field, value in gpt2.SINCE_GPT2.items()
            if field != "zero_outputs"
        ),
        ("bert", "norm", "pre", "norm='pre', but BERT has norm='post'"),
        ("bert", "positions", "none", "positions='none', but BERT"),
        ("bert", "causal", True, "causal=True, but BERT"),
        ("bert", "types", 0, "types=0, but BERT has at least types=1"),
        ("vit", "positions", "sinusoidal 2d", "'sinusoidal 2d', but the published ViT has positions="),
        ("vit", "pooling", "mean", "pooling='mean', but the published ViT has pooling="),
    ],
)
def test_other_forms_of_ours_are_refused(name, field, value, message):
    kind = KINDS[name]
    with pytest.raises(ValueError, match=message):
        kind.convert(kind.make(replace(kind.config, **{field: value})))


@pytest.mark.parametrize("name", LOADERS)
def test_a_saved_model_is_loaded_by_its_folder(name, tmp_path: Path, monkeypatch):
    kind = KINDS[name]
    ours = randomized(kind.make(kind.config), seed=2)
    kind.convert(ours).save_pretrained(tmp_path / "small")
    assert_same(ours, LOADERS[name](str(tmp_path / "small")))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(OSError, match="nowhere"):
        LOADERS[name](str(tmp_path / "nowhere"))


# What only one of them has


@pytest.mark.parametrize("prompt", [[5, 6, 7], [5, 6, 0]])
def test_gpt_2_writes_the_same_text_also_after_id_0(prompt):
    """Id 0 is no padding there but the exclamation mark, and a prompt may end in it."""
    theirs, ids = randomized(gpt2s(), seed=0), torch.tensor([prompt, [7, 8, 9]])
    out = theirs.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=12, do_sample=False)
    for model in (ours := gpt2.from_hugging_face(theirs), gpt2.from_hugging_face(gpt2.to_hugging_face(ours))):
        assert greedy_decode(model.generator(), ids, None, 12) == out[:, 3:].tolist()


def test_interpolated_positions_of_a_vit_equal_theirs():
    theirs, images = randomized(vits(), seed=2), torch.randn(2, 2, 20, 20)
    ours = resized(vit.from_hugging_face(theirs), 20)
    with torch.inference_mode():
        logits = theirs(images, interpolate_pos_encoding=True).logits
        assert torch.allclose(ours(images), logits, atol=1e-4)


def test_older_names_of_a_vit_are_read_too():
    """In files that older versions of transformers wrote."""
    older = {"vit.layers.": "vit.encoder.layer.", ".attention.o_proj.": ".attention.output.dense."}
    older |= {f".attention.{w[0]}_proj.": f".attention.attention.{w}." for w in ("query", "key", "value")}
    older |= {".mlp.fc1.": ".intermediate.dense.", ".mlp.fc2.": ".output.dense."}
    ours = randomized(ViT(KINDS["vit"].config), seed=2)
    theirs = vit.to_hugging_face(ours).state_dict()
    for today, then in older.items():
        theirs = {name.replace(today, then): t for name, t in theirs.items()}
    assert any(".attention.attention.query." in name for name in theirs)
    again = vit.HUGGING_FACE.our_weights(theirs, ours.state_dict(), "ViT")
    assert all(torch.equal(again[name], t) for name, t in ours.state_dict().items())


TEXTS = ["the soup was cold", "the soup was warm and the bread was cold", "a warm welcome"]


def test_a_vocabulary_of_pieces_is_read_by_berts_tokenizer(tmp_path):
    folder = bert.train_wordpieces(TEXTS, 80, tmp_path / "pieces")
    tokenizer = library("transformers").BertTokenizer.from_pretrained(folder)
    assert tokenizer.convert_ids_to_tokens(range(5)) == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    read = tokenizer(TEXTS, padding=True, return_tensors="pt")
    pieces = tokenizer.convert_ids_to_tokens(read.input_ids[0])
    assert pieces[0] == "[CLS]" and "[SEP]" in pieces and pieces[-1] == "[PAD]"
    assert tokenizer.tokenize("the soups") == ["the", "soup", "##s"]
    same = padding_mask(read.input_ids, PAD)[:, 0, 0] == read.attention_mask.bool()
    assert same.all()  # what our encoder takes for padding, and what BERT's tokenizer does
    with pytest.raises(ValueError, match="no piece to learn"):
        bert.train_wordpieces([], 40, tmp_path)
