"""What a trained image classifier looks at: attention, positions and patch embedding as pictures."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.layers.hooks import record_attention
from course_lib.models.vit import ViT
from course_lib.training.evaluation import evaluating

Maps = Float[Tensor, "layers batch heads tokens tokens"]


@torch.no_grad()
def attention_maps(model: ViT, images: Float[Tensor, "batch channels height width"]) -> Maps:
    """The weights of every layer and head for these images; the model is left in the mode it was in.

    They take layers · batch · heads · tokens² numbers: give a few hundred images at most at a time.
    """
    with evaluating(model), record_attention(model) as maps:
        model.hidden_states(images)  # the last layer of all tokens: for logits the class token's is enough
    return torch.stack([maps[f"blocks.{i}.attention"][0] for i in range(len(model.blocks))])


def on_patches(weights: Float[Tensor, "*batch tokens"]) -> Float[Tensor, "*batch rows columns"]:
    """One number for each token as a picture of one for each patch; those of a class token are left out."""
    side = math.isqrt(weights.shape[-1])
    return weights[..., weights.shape[-1] - side * side :].unflatten(-1, (side, side))


def class_attention(maps: Maps) -> Float[Tensor, "layers batch heads rows columns"]:
    """How much the class token looks at each patch; the rest, up to 1, it keeps for itself.

    Raises ValueError where the tokens are the patches alone.
    """
    tokens = maps.shape[-1]
    if math.isqrt(tokens) ** 2 == tokens:
        raise ValueError(f"there is no class token: the tokens={tokens} are the patches of a square")
    return on_patches(maps[..., 0, :])


def rollout(maps: Maps) -> Float[Tensor, "batch tokens tokens"]:
    """How much of each first token (column) arrives in each last one (row), if attention were all there is.

    In each layer a token takes half from itself, through the residual, and half by the mean of the heads;
    the layers are multiplied. Each row sums to 1. Source: Abnar & Zuidema 2020, section 3.
    """
    steps = 0.5 * maps.mean(dim=2) + 0.5 * torch.eye(maps.shape[-1]).to(maps)
    arrived = steps[0]
    for step in steps[1:]:
        arrived = step @ arrived
    return arrived


def paint_patches(
    images: Float[Tensor, "batch channels height width"],
    patches: Int[Tensor, "batch chosen"],
    patch_size: int,
    value: float = -1.0,
) -> Float[Tensor, "batch channels height width"]:
    """Copies of the images in which the chosen patches of each have one value, by default black."""
    cut = F.unfold(images, patch_size, stride=patch_size)  # (batch, pixels of a patch, patches)
    cut = cut.scatter(2, patches[:, None].expand(-1, cut.shape[1], -1), value)
    return F.fold(cut, images.shape[2:], patch_size, stride=patch_size)


@torch.no_grad()
def logits_without(
    model: ViT, images: Float[Tensor, "batch channels height width"], patches: Int[Tensor, "batch chosen"]
) -> Float[Tensor, "batch classes"]:
    """Logits of a model with a class token that reads the images without the chosen patches of each.

    The other tokens keep their positions. Raises ValueError where there is no class token.
    """
    if model.class_token is None:
        raise ValueError(f"pooling={model.config.pooling!r}: there is no class token to read the logits from")
    with evaluating(model):
        x = model.embedded(images)
        kept = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device).scatter(1, 1 + patches, False)
        x = x[kept].view(len(x), -1, x.shape[-1])
        for block in model.blocks:
            x = block(x)
        return model.head(model.norm(x[:, 0]))


def patch_distances(side: int) -> Float[Tensor, "patches patches"]:
    """How far the middles of any two patches of a square are apart, in widths of a patch."""
    places = torch.cartesian_prod(torch.arange(side), torch.arange(side)).float()
    return (places[:, None] - places[None]).norm(dim=-1)


def attention_distance(maps: Maps, patch_size: int = 1) -> Float[Tensor, "layers heads"]:
    """How far away, in pixels, is what a patch looks at: the mean over its weights, patches and images.

    The class token is left out, as a query and as a key; the other weights are scaled to sum to 1 again.
    Source: Dosovitskiy et al. 2021, figure 7, right.
    """
    side = math.isqrt(maps.shape[-1])
    before = maps.shape[-1] - side * side
    weights = maps[..., before:, before:]
    weights = weights / weights.sum(dim=-1, keepdim=True)
    far = (weights * patch_size * patch_distances(side).to(maps)).sum(dim=-1)  # (layers batch heads patches)
    return far.mean(dim=(1, 3))
