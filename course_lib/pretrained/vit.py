"""ViT: its published sizes, and weight conversion from and to timm and `transformers`."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from course_lib.models.vit import ViT, ViTConfig
from course_lib.pretrained.torchvision_ops import library


def vit(layers: int, heads: int, d_model: int) -> ViTConfig:
    sizes: dict[str, Any] = {"d_model": d_model, "heads": heads, "layers": layers}
    return ViTConfig(classes=1000, image_size=224, patch_size=16, **sizes)


VIT_SIZES = {  # Dosovitskiy et al. 2021, table 1; Touvron et al. 2021, table 1
    "vit-tiny": vit(12, 3, 192),
    "vit-small": vit(12, 6, 384),
    "vit-base": vit(12, 12, 768),
    "vit-large": vit(24, 16, 1024),
}
RENAMED = (  # theirs (timm, transformers, and its older files), ours
    ("vit.embeddings.", ""),
    ("cls_token", "class_token"),
    ("pos_embed", "positions.table"),
    ("position_embeddings", "positions.table"),
    ("patch_embed.proj.", "patches.convolution."),
    ("patch_embeddings.projection.", "patches.convolution."),
    ("vit.layers.", "blocks."),
    ("vit.encoder.layer.", "blocks."),
    (".norm1.", ".norm_1."),
    (".layernorm_before.", ".norm_1."),
    (".attn.qkv.", ".attention.w_qkv."),
    (".attention.q_proj.", ".attention.w_q."),
    (".attention.k_proj.", ".attention.w_k."),
    (".attention.v_proj.", ".attention.w_v."),
    (".attention.attention.query.", ".attention.w_q."),
    (".attention.attention.key.", ".attention.w_k."),
    (".attention.attention.value.", ".attention.w_v."),
    (".attn.proj.", ".attention.w_o."),
    (".attention.o_proj.", ".attention.w_o."),
    (".attention.output.dense.", ".attention.w_o."),
    (".norm2.", ".norm_2."),
    (".layernorm_after.", ".norm_2."),
    (".mlp.fc1.", ".feed_forward.w_in."),
    (".intermediate.dense.", ".feed_forward.w_in."),
    (".mlp.fc2.", ".feed_forward.w_out."),
    (".output.dense.", ".feed_forward.w_out."),
    ("vit.layernorm.", "norm."),
    ("classifier.", "head."),
)


def load_vit(name: str = "google/vit-base-patch16-224") -> ViT:
    """Load the published model with this name, or one in a folder by `save_pretrained`, in evaluation mode.

    `transformers` downloads it if it is not in the cache. Raises OSError if the model cannot be found or
    downloaded; other errors: as in `from_hugging_face`.

    >>> from tempfile import TemporaryDirectory
    >>> from course_lib.models import ViT, ViTConfig
    >>> from course_lib.pretrained.vit import to_hugging_face
    >>> with TemporaryDirectory() as folder:  # without a download; usually: load_vit()
    ...     to_hugging_face(ViT(ViTConfig(classes=10))).save_pretrained(folder)
    ...     load_vit(folder).config.image_size
    32
    """
    return from_hugging_face(library("transformers").ViTForImageClassification.from_pretrained(name))


def from_hugging_face(model: Any) -> ViT:
    """Convert a `ViTForImageClassification` to a `ViT` with the same logits.

    Without attention dropout. Raises ValueError for options that `ViT` does not have.
    """
    c = model.config
    if c.hidden_act != "gelu":
        raise ValueError(f"hidden_act={c.hidden_act!r}, but ViT has hidden_act='gelu'")
    sizes = {"d_model": c.hidden_size, "heads": c.num_attention_heads, "layers": c.num_hidden_layers}
    form = {
        "dropout": c.hidden_dropout_prob,
        "epsilon": c.layer_norm_eps,
        "d_ff": d_ff(c.intermediate_size, c.hidden_size),
    }
    images = {"image_size": side(c.image_size), "patch_size": side(c.patch_size), "channels": c.num_channels}
    return load_into_vit(ViTConfig(classes=c.num_labels, **images, **sizes, **form), model)


def from_timm(model: Any) -> ViT:
    """Convert a `VisionTransformer` of timm to a `ViT` with the same logits.

    Without attention dropout, patch dropout and stochastic depth. Raises ValueError for options that `ViT`
    does not have.
    """
    if model.global_pool != "token":
        raise ValueError(f"global_pool={model.global_pool!r}, but ViT has global_pool='token'")
    embed, block = model.patch_embed, model.blocks[0]
    if type(block.mlp.act) is not nn.GELU or block.mlp.act.approximate != "none":
        raise ValueError(f"activation {block.mlp.act}, but ViT has {nn.GELU()}")
    sizes = {"d_model": model.embed_dim, "heads": block.attn.num_heads, "layers": len(model.blocks)}
    form = {"dropout": model.pos_drop.p, "epsilon": block.norm1.eps}
    form["d_ff"] = d_ff(block.mlp.fc1.out_features, model.embed_dim)
    images: dict[str, Any] = {"image_size": side(embed.img_size), "patch_size": side(embed.patch_size)}
    channels = embed.proj.in_channels
    return load_into_vit(
        ViTConfig(classes=model.num_classes, channels=channels, **images, **sizes, **form), model
    )


def to_hugging_face(model: ViT) -> Any:
    """Convert a `ViT` to a `ViTForImageClassification` with the same logits.

    Raises ValueError for options that the published ViT does not have.
    """
    c, transformers = published_config(model), library("transformers")
    sizes = {"hidden_size": c.d_model, "num_attention_heads": c.heads, "num_hidden_layers": c.layers}
    form = {
        "intermediate_size": c.d_ff or 4 * c.d_model,
        "hidden_dropout_prob": c.dropout,
        "layer_norm_eps": c.epsilon,
    }
    images = {"image_size": c.image_size, "patch_size": c.patch_size, "num_channels": c.channels}
    theirs = transformers.ViTConfig(num_labels=c.classes, **images, **sizes, **form)
    return load_into_theirs(model, transformers.ViTForImageClassification(theirs))


def to_timm(model: ViT) -> Any:
    """Convert a `ViT` to a `VisionTransformer` of timm with the same logits.

    Raises ValueError for options that the published ViT does not have, ImportError without timm.
    """
    c = published_config(model)
    norm = partial(nn.LayerNorm, eps=c.epsilon)
    timm = library("timm")
    return load_into_theirs(model, timm.models.VisionTransformer(**timm_arguments(c), norm_layer=norm))


def save_for_timm(model: ViT, folder: Path, classes: Sequence[str]) -> None:
    """Write a `ViT` to an existing folder, for `timm.create_model("local-dir:<folder>", pretrained=True)`.

    Raises ValueError as `to_timm` does, and for another epsilon than timm's, which its files do not hold.
    """
    c, like = model.config, ViTConfig(classes=1)
    if c.epsilon != like.epsilon:
        raise ValueError(f"epsilon={c.epsilon}, but the published ViT has epsilon={like.epsilon}")
    weights = to_timm(model).state_dict()
    look = {"input_size": [c.channels, c.image_size, c.image_size], "label_names": list(classes)}
    look |= {"mean": [0.5] * c.channels, "std": [0.5] * c.channels, "crop_pct": 1.0, "num_classes": c.classes}
    about = {"architecture": "vit_base_patch16_224", "num_classes": c.classes, "pretrained_cfg": look}
    arguments = timm_arguments(c)
    del arguments["num_classes"]  # it is stored elsewhere
    (folder / "config.json").write_text(json.dumps({**about, "model_args": arguments}, indent=2))
    save_file({name: t.contiguous() for name, t in weights.items()}, folder / "model.safetensors")


def timm_arguments(c: ViTConfig) -> dict[str, Any]:
    """The arguments of timm's `VisionTransformer`."""
    sizes = {"embed_dim": c.d_model, "num_heads": c.heads, "depth": c.layers, "num_classes": c.classes}
    images = {"img_size": c.image_size, "patch_size": c.patch_size, "in_chans": c.channels}
    form = {"pos_drop_rate": c.dropout, "proj_drop_rate": c.dropout}
    return {**sizes, **images, **form, "mlp_ratio": (c.d_ff or 4 * c.d_model) / c.d_model}


def d_ff(width: int, d_model: int) -> int:
    """The width of the feed-forward networks as in `BlockConfig`: 0 if it is 4·d_model."""
    return 0 if width == 4 * d_model else width


def side(size: int | list[int] | tuple[int, ...]) -> int:
    """The side of a square. Raises ValueError for any other rectangle."""
    sides = [size, size] if isinstance(size, int) else list(size)
    if sides[0] != sides[1]:
        raise ValueError(f"{sides[0]} × {sides[1]} is not a square, but ViT needs square images and patches")
    return sides[0]


def published_config(model: ViT) -> ViTConfig:
    """The configuration of a model. Raises ValueError for options that the published ViT does not have."""
    form: dict[str, Any] = {"tokenizer": "patches", "positions": "learned", "pooling": "class token"}
    form |= {"norm": "pre", "activation": "exact gelu", "qk_norm": False, "kv_heads": None}
    for field, value in form.items():
        if getattr(model.config, field) != value:
            raise ValueError(
                f"{field}={getattr(model.config, field)!r}, but the published ViT has {field}={value!r}"
            )
    return model.config


def load_into_vit(config: ViTConfig, theirs: nn.Module) -> ViT:
    """A `ViT` with copies of their weights."""
    with torch.device("meta"):  # initial weights are not needed
        ours = ViT(config)
    ours.load_state_dict(convert_weights_from(theirs.state_dict(), ours.state_dict()), assign=True)
    return ours.train(theirs.training)


def load_into_theirs(ours: ViT, theirs: nn.Module) -> nn.Module:
    """Their model, with our weights."""
    theirs.to(ours.head.weight)  # before loading, to keep the precision of fp64
    theirs.load_state_dict(convert_weights_to(ours.state_dict(), theirs.state_dict()))
    return theirs.train(ours.training)


def our_name(theirs: str) -> str:
    """Our name for one of their weights; w_qkv, w_k and w_v where they split the projections differently."""
    for their_part, our_part in RENAMED:
        theirs = theirs.replace(their_part, our_part)
    return theirs


def convert_weights_from(theirs: dict[str, Tensor], places: dict[str, Tensor]) -> dict[str, Tensor]:
    """Convert their state dict to ours: rename, split and reshape.

    places: tensors with our names and shapes. Raises ValueError for missing, unknown and mismatched weights.
    """
    ours = {our_name(name): t for name, t in theirs.items()}
    for name in [name for name in ours if ".w_qkv." in name]:
        ours[name.replace("w_qkv", "w_q")], *rest = ours.pop(name).chunk(3)
        ours[name.replace("w_qkv", "w_kv")] = torch.cat(rest)
    for name in [name for name in ours if ".w_k." in name]:
        keys, values = ours.pop(name), ours.pop(name.replace("w_k", "w_v"))
        ours[name.replace("w_k", "w_kv")] = torch.cat([keys, values])
    if strange := sorted(ours.keys() ^ places.keys()):
        raise ValueError(f"another form than that of ViT: {strange} are weights of only one of the two")
    for name, t in ours.items():
        if t.numel() != places[name].numel():
            raise ValueError(f"{name} of {tuple(t.shape)}, but ViT has {tuple(places[name].shape)}")
    return {name: t.reshape(places[name].shape).clone() for name, t in ours.items()}


def convert_weights_to(ours: dict[str, Tensor], places: dict[str, Tensor]) -> dict[str, Tensor]:
    """Convert our state dict to theirs. places: tensors with their names and shapes."""
    ours = dict(ours)
    for name in [name for name in ours if ".w_kv." in name]:
        keys, values = ours[name].chunk(2)
        ours[name.replace("w_kv", "w_k")], ours[name.replace("w_kv", "w_v")] = keys, values
        ours[name.replace("w_kv", "w_qkv")] = torch.cat([ours[name.replace("w_kv", "w_q")], keys, values])
    return {name: ours[our_name(name)].reshape(t.shape) for name, t in places.items()}
