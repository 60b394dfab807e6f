"""Image classifiers: training in images per second, against timm's model with the same weights."""

from collections.abc import Iterator

import torch
from torch import nn

from course_lib.benchmarks.timing import Comparison, Plan, measure
from course_lib.models.vit import ViT, ViTConfig
from course_lib.pretrained.vit import to_timm
from course_lib.tasks.image_classification import ImageClassificationLoss
from course_lib.training.precision import autocast

OURS, TIMM = "ours", "timm"
SIZES = ViTConfig(classes=10, d_model=192, heads=3, layers=6)  # half the blocks of ViT-Ti, 65 tokens
TINY = ViTConfig(classes=10, image_size=8, d_model=16, heads=2, layers=1)
AIM = 1.0


def models(plan: Plan) -> dict[str, nn.Module]:
    """Ours, and timm's with the same weights."""
    torch.manual_seed(0)
    ours = ViT(TINY if plan.tiny else SIZES).train()
    return {OURS: ours, TIMM: to_timm(ours)}


class Trainer:
    """Trains a classifier on random images as `course_lib.training.trainer` does; a turn is one batch."""

    def __init__(self, model: nn.Module, config: ViTConfig, batch: int, plan: Plan, precision: str):
        self.device, self.precision = torch.device(plan.device), precision
        self.objective = ImageClassificationLoss(model.to(self.device).train())
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
        rng, side = torch.Generator().manual_seed(0), config.image_size
        self.images = torch.randn(batch, config.channels, side, side, generator=rng).to(self.device)
        self.labels = torch.randint(config.classes, (batch,), generator=rng).to(self.device)

    def turn(self, number: int) -> int:
        with autocast(self.device, self.precision):
            loss, count = self.objective(self.images, self.labels)
        (loss / count).backward()
        nn.utils.clip_grad_norm_(self.objective.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return len(self.labels)


def vision(plan: Plan) -> Iterator[Comparison]:
    """Training in both precisions, with equal sizes, weights, batches, loss and optimizer."""
    batch = 4 if plan.tiny else 64
    for precision in ("fp32", "bf16"):
        found = models(plan)
        config = found[OURS].config
        count = sum(p.numel() for p in found[OURS].parameters())
        case = f"training a ViT of {count / 1e6:.1f} M parameters, batch {batch}, {precision}"
        comparison = Comparison("vision", case, "images/s", OURS, AIM, (TIMM,))
        turns = {name: Trainer(model, config, batch, plan, precision).turn for name, model in found.items()}
        yield measure(comparison, turns, plan.lasting(0.5))
