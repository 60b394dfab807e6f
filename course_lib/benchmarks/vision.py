"""Image classifiers: training in images per second, against timm's model with the same weights."""

from collections.abc import Iterator

import torch
from torch import nn

from course_lib.benchmarks.timing import Comparison, Plan, Trainer, measure
from course_lib.models.vit import ViT, ViTConfig
from course_lib.pretrained.vit import to_timm
from course_lib.tasks.image_classification import ImageClassificationLoss

OURS, TIMM = "ours", "timm"
SIZES = ViTConfig(classes=10, d_model=192, heads=3, layers=6)  # half the blocks of ViT-Ti, 65 tokens
TINY = ViTConfig(classes=10, image_size=8, d_model=16, heads=2, layers=1)
AIM = 1.0


def models(plan: Plan) -> dict[str, nn.Module]:
    """Ours, and timm's with the same weights."""
    torch.manual_seed(0)
    ours = ViT(TINY if plan.tiny else SIZES).train()
    return {OURS: ours, TIMM: to_timm(ours)}


def trainer(model: nn.Module, config: ViTConfig, batch: int, plan: Plan, precision: str) -> Trainer:
    """Trains a classifier on one batch of random images."""
    rng, side = torch.Generator().manual_seed(0), config.image_size
    images = torch.randn(batch, config.channels, side, side, generator=rng)
    labels = torch.randint(config.classes, (batch,), generator=rng)
    return Trainer(ImageClassificationLoss(model), [(images, labels)], plan, precision)


def vision(plan: Plan) -> Iterator[Comparison]:
    """Training in both precisions, with equal sizes, weights, batches, loss and optimizer."""
    batch = 4 if plan.tiny else 64
    for precision in ("fp32", "bf16"):
        found = models(plan)
        config = found[OURS].config
        count = sum(p.numel() for p in found[OURS].parameters())
        case = f"training a ViT of {count / 1e6:.1f} M parameters, batch {batch}, {precision}"
        comparison = Comparison("vision", case, "images/s", OURS, AIM, (TIMM,))
        turns = {name: trainer(model, config, batch, plan, precision).turn for name, model in found.items()}
        yield measure(comparison, turns, plan.lasting(0.5))
