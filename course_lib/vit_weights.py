"""ViT: its published sizes by name, its weights from timm and from Hugging Face's library and back."""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.torchvision_ops import library
from course_lib.vit import ViT, ViTConfig


def vit(layers: int, heads: int, d_model: int) -> ViTConfig:
    sizes = {"d_model": d_model, "heads": heads, "layers": layers}
    return ViTConfig(classes=1000, image_size=224, patch_size=16, **sizes)


VIT_SIZES = {  # Dosovitskiy et al. 2021, table 1; Touvron et al. 2021, table 1
    "vit-tiny": vit(12, 3, 192),
    "vit-small": vit(12, 6, 384),
    "vit-base": vit(12, 12, 768),
    "vit-large": vit(24, 16, 1024),
}
RENAMED = (  # theirs, ours; theirs: timm, transformers, and how its older files say it
    ("vit.embeddings.", ""),
    ("cls_token", "class_token"),
    ("pos_embed", "positions.table"),
    ("position_embeddings", "positions.table"),
    ("patch_embed.proj.", "patches.convolution."),
    ("patch_embeddings.projection.", "patches.convolution."),
    ("vit.layers.", "blocks."),
    ("vit.encoder.layer.", "blocks."),
    (".norm1.", ".residuals.0.norm."),
    (".layernorm_before.", ".residuals.0.norm."),
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
    (".norm2.", ".residuals.1.norm."),
    (".layernorm_after.", ".residuals.1.norm."),
    (".mlp.fc1.", ".feed_forward.w_in."),
    (".intermediate.dense.", ".feed_forward.w_in."),
    (".mlp.fc2.", ".feed_forward.w_out."),
    (".output.dense.", ".feed_forward.w_out."),
    ("vit.layernorm.", "norm."),
    ("classifier.", "head."),
)


def load_vit(name: str = "google/vit-base-patch16-224") -> ViT:
    """The published model of this name, or one in a folder that `save_pretrained` wrote, for evaluation.

    `transformers` downloads what is not in its cache. Raises OSError where the model cannot be had, and
    otherwise as `from_hugging_face` does.
    """
    return from_hugging_face(library("transformers").ViTForImageClassification.from_pretrained(name))


def from_hugging_face(model: Any) -> ViT:
    """Our model with the weights of a `ViTForImageClassification`: both give the same logits.

    Its dropout of attention weights is left out. Raises ValueError where its form is not that of `ViT`.
    """
    c = model.config
    if c.hidden_act != "gelu":
        raise ValueError(f"hidden_act={c.hidden_act!r}, but ViT has hidden_act='gelu'")
    sizes = {"d_model": c.hidden_size, "heads": c.num_attention_heads, "layers": c.num_hidden_layers}
    form = {"dropout": c.hidden_dropout_prob, "epsilon": c.layer_norm_eps}
    images = {"image_size": side(c.image_size), "patch_size": side(c.patch_size), "channels": c.num_channels}
    return filled(ViTConfig(classes=c.num_labels, **images, **sizes, **form), model)


def from_timm(model: Any) -> ViT:
    """Our model with the weights of one of timm's `VisionTransformer`: both give the same logits.

    Its dropout of attention weights, of patches and of whole sublayers is left out. Raises ValueError where
    its form is not that of `ViT`.
    """
    if model.global_pool != "token":
        raise ValueError(f"global_pool={model.global_pool!r}, but ViT has global_pool='token'")
    embed, block = model.patch_embed, model.blocks[0]
    if type(block.mlp.act) is not nn.GELU or block.mlp.act.approximate != "none":
        raise ValueError(f"activation {block.mlp.act}, but ViT has {nn.GELU()}")
    sizes = {"d_model": model.embed_dim, "heads": block.attn.num_heads, "layers": len(model.blocks)}
    form = {"dropout": model.pos_drop.p, "epsilon": block.norm1.eps}
    images = {"image_size": side(embed.img_size), "patch_size": side(embed.patch_size)}
    channels = embed.proj.in_channels
    return filled(ViTConfig(classes=model.num_classes, channels=channels, **images, **sizes, **form), model)


def to_hugging_face(model: ViT) -> Any:
    """A `ViTForImageClassification` with the weights of our model: both give the same logits.

    Raises ValueError where the form of our model is not the published one.
    """
    c, transformers = published(model), library("transformers")
    sizes = {"hidden_size": c.d_model, "num_attention_heads": c.heads, "num_hidden_layers": c.layers}
    form = {"intermediate_size": 4 * c.d_model, "hidden_dropout_prob": c.dropout, "layer_norm_eps": c.epsilon}
    images = {"image_size": c.image_size, "patch_size": c.patch_size, "num_channels": c.channels}
    theirs = transformers.ViTConfig(num_labels=c.classes, **images, **sizes, **form)
    return given_back(model, transformers.ViTForImageClassification(theirs))


def to_timm(model: ViT) -> Any:
    """One of timm's `VisionTransformer`, with the weights of our model: both give the same logits.

    Raises ValueError where the form of our model is not the published one, ImportError without timm.
    """
    c = published(model)
    sizes = {"embed_dim": c.d_model, "num_heads": c.heads, "depth": c.layers, "num_classes": c.classes}
    images = {"img_size": c.image_size, "patch_size": c.patch_size, "in_chans": c.channels}
    form = {"pos_drop_rate": c.dropout, "proj_drop_rate": c.dropout}
    norm = partial(nn.LayerNorm, eps=c.epsilon)
    theirs = library("timm").models.VisionTransformer(**sizes, **images, **form, norm_layer=norm)
    return given_back(model, theirs)


def side(size: int | list[int] | tuple[int, ...]) -> int:
    """The side of a square; ValueError for another rectangle."""
    sides = [size, size] if isinstance(size, int) else list(size)
    if sides[0] != sides[1]:
        raise ValueError(f"{sides[0]} × {sides[1]} is no square, but the images and patches of ViT are")
    return sides[0]


def published(model: ViT) -> ViTConfig:
    """The sizes of a model whose form is the published one; ValueError for another."""
    form = {"tokenizer": "patches", "positions": "learned", "pooling": "class token"}
    for field, value in form.items():
        if getattr(model.config, field) != value:
            raise ValueError(f"{field}={getattr(model.config, field)!r}, but theirs has {field}={value!r}")
    return model.config


def filled(config: ViTConfig, theirs: nn.Module) -> ViT:
    """Our model with copies of their weights."""
    with torch.device("meta"):  # its own first weights would only be thrown away
        ours = ViT(config)
    ours.load_state_dict(our_weights(theirs.state_dict(), ours.state_dict()), assign=True)
    return ours.train(theirs.training)


def given_back(ours: ViT, theirs: nn.Module) -> nn.Module:
    """Their model, with our weights in place of its own."""
    theirs.load_state_dict(their_weights(ours.state_dict(), theirs.state_dict()))
    return theirs.to(ours.head.weight).train(ours.training)


def our_name(theirs: str) -> str:
    """Our name of one of their weights; where queries, keys and values are cut otherwise, w_qkv, w_k, w_v."""
    for their_part, our_part in RENAMED:
        theirs = theirs.replace(their_part, our_part)
    return theirs


def our_weights(theirs: dict[str, Tensor], places: dict[str, Tensor]) -> dict[str, Tensor]:
    """Copies of their weights by our names and in our shapes, which `places` has.

    Raises ValueError where a weight is missing, is left over or has another size.
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


def their_weights(ours: dict[str, Tensor], places: dict[str, Tensor]) -> dict[str, Tensor]:
    """Our weights by their names and in their shapes, which `places` has."""
    ours = dict(ours)
    for name in [name for name in ours if ".w_kv." in name]:
        keys, values = ours[name].chunk(2)
        ours[name.replace("w_kv", "w_k")], ours[name.replace("w_kv", "w_v")] = keys, values
        ours[name.replace("w_kv", "w_qkv")] = torch.cat([ours[name.replace("w_kv", "w_q")], keys, values])
    return {name: ours[our_name(name)].reshape(t.shape) for name, t in places.items()}
