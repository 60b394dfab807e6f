"""ViT: its published sizes, and weight conversion from and to timm and `transformers`."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import nn

from course_lib.models.vit import ViT, ViTConfig
from course_lib.pretrained.conversion import Conversion, check_form, d_ff
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
HUGGING_FACE, TIMM = Conversion("vit"), Conversion("timm")


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
    theirs = model.config
    check_form("ViT", theirs, hidden_act="gelu")
    config = config_of(theirs.intermediate_size, **HUGGING_FACE.our_settings(theirs))
    return HUGGING_FACE.load_into_ours(ViT, config, model)


def from_timm(model: Any) -> ViT:
    """Convert a `VisionTransformer` of timm to a `ViT` with the same logits.

    Without attention dropout, patch dropout and stochastic depth. Raises ValueError for options that `ViT`
    does not have.
    """
    check_form("ViT", model, global_pool="token")
    embed, block = model.patch_embed, model.blocks[0]
    if type(block.mlp.act) is not nn.GELU or block.mlp.act.approximate != "none":
        raise ValueError(f"activation {block.mlp.act}, but ViT has {nn.GELU()}")
    images = {
        "image_size": embed.img_size,
        "patch_size": embed.patch_size,
        "channels": embed.proj.in_channels,
    }
    sizes = {"d_model": model.embed_dim, "heads": block.attn.num_heads, "layers": len(model.blocks)}
    form = {"classes": model.num_classes, "dropout": model.pos_drop.p, "epsilon": block.norm1.eps}
    config = config_of(block.mlp.fc1.out_features, **images, **sizes, **form)
    return TIMM.load_into_ours(ViT, config, model)


def to_hugging_face(model: ViT) -> Any:
    """Convert a `ViT` to a `ViTForImageClassification` with the same logits.

    Raises ValueError for options that the published ViT does not have.
    """
    config, transformers = published_config(model), library("transformers")
    theirs = transformers.ViTConfig(intermediate_size=d_ff(config), **HUGGING_FACE.their_settings(config))
    return HUGGING_FACE.load_into_theirs(model, transformers.ViTForImageClassification(theirs))


def to_timm(model: ViT) -> Any:
    """Convert a `ViT` to a `VisionTransformer` of timm with the same logits.

    Raises ValueError for options that the published ViT does not have, ImportError without timm.
    """
    config = published_config(model)
    norm, timm = partial(nn.LayerNorm, eps=config.epsilon), library("timm")
    return TIMM.load_into_theirs(
        model, timm.models.VisionTransformer(**timm_arguments(config), norm_layer=norm)
    )


def save_for_timm(model: ViT, folder: Path, classes: Sequence[str]) -> None:
    """Write a `ViT` to an existing folder, for `timm.create_model("local-dir:<folder>", pretrained=True)`.

    Raises ValueError as `to_timm` does, and for another epsilon than timm's, which its files do not hold.
    """
    c = model.config
    check_form("the published ViT", c, epsilon=ViTConfig(classes=1).epsilon)
    weights = to_timm(model).state_dict()
    look = {"input_size": [c.channels, c.image_size, c.image_size], "label_names": list(classes)}
    look |= {"mean": [0.5] * c.channels, "std": [0.5] * c.channels, "crop_pct": 1.0, "num_classes": c.classes}
    about = {"architecture": "vit_base_patch16_224", "num_classes": c.classes, "pretrained_cfg": look}
    arguments = timm_arguments(c)
    del arguments["num_classes"]  # it is stored elsewhere
    (folder / "config.json").write_text(json.dumps({**about, "model_args": arguments}, indent=2))
    save_file({name: t.contiguous() for name, t in weights.items()}, folder / "model.safetensors")


def timm_arguments(config: ViTConfig) -> dict[str, Any]:
    """The arguments of timm's `VisionTransformer`."""
    return TIMM.their_settings(config) | {"mlp_ratio": d_ff(config) / config.d_model}


def config_of(width: int, **settings: Any) -> ViTConfig:
    """The configuration with these settings. width: of the feed-forward networks; 4·d_model is left out."""
    sides = {field: side(settings[field]) for field in ("image_size", "patch_size")}
    return ViTConfig(d_ff=0 if width == 4 * settings["d_model"] else width, **settings | sides)


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
    check_form("the published ViT", model.config, **form)
    return model.config
