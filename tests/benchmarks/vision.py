"""Image classifiers: images a second in training, beside timm's model of equal size and equal weights."""

from collections.abc import Iterator
from copy import deepcopy

import torch
from torch import Tensor, nn

from benchmarks.timing import Comparison, Plan, measure
from course_lib.precision import autocast
from course_lib.vision import ImageObjective
from course_lib.vit import ViT, ViTConfig
from course_lib.vit_weights import to_timm

OURS, ALL, TIMM = "ours", "ours, all tokens", "timm"
SIZES = ViTConfig(classes=10, d_model=192, heads=3, layers=6)  # half as many blocks as ViT-Ti, 65 tokens
TINY = ViTConfig(classes=10, image_size=8, d_model=16, heads=2, layers=1)
AIM = 1.1
NOTE = "ours computes the last block for the class token alone, as nobody reads the other tokens after it"


class AllTokens(nn.Module):
    """Our classifier, with a last block that computes every token, as timm's does: the same logits."""

    def __init__(self, model: ViT):
        super().__init__()
        self.model = model

    def forward(self, images: Tensor) -> Tensor:
        return self.model.head(self.model.states(images)[:, 0])


def models(plan: Plan) -> dict[str, nn.Module]:
    """Ours, and timm's with the same weights."""
    torch.manual_seed(0)
    ours = ViT(TINY if plan.tiny else SIZES).train()
    return {OURS: ours, ALL: AllTokens(deepcopy(ours)), TIMM: to_timm(ours)}


class Trainer:
    """Trains a classifier on random images as `course_lib.training` does; a turn is one batch."""

    def __init__(self, model: nn.Module, config: ViTConfig, batch: int, plan: Plan, precision: str):
        self.device, self.precision = torch.device(plan.device), precision
        self.objective = ImageObjective(model.to(self.device).train())
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
        rng, side = torch.Generator().manual_seed(0), config.image_size
        self.images = torch.randn(batch, config.channels, side, side, generator=rng).to(self.device)
        self.labels = torch.randint(config.classes, (batch,), generator=rng).to(self.device)

    def turn(self, number: int) -> float:
        with autocast(self.device, self.precision):
            loss, count = self.objective(self.images, self.labels)
        (loss / count).backward()
        nn.utils.clip_grad_norm_(self.objective.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return len(self.labels)


def vision(plan: Plan) -> Iterator[Comparison]:
    """Training in both precisions; equal sizes, weights, batches, loss, optimizer."""
    batch = 4 if plan.tiny else 64
    for precision in ("fp32", "bf16"):
        found = models(plan)
        config = found[OURS].config
        count = sum(p.numel() for p in found[OURS].parameters())
        case = f"training a ViT of {count / 1e6:.1f} M parameters, batch {batch}, {precision}"
        comparison = Comparison("vision", case, "images/s", OURS, AIM, (TIMM,), [NOTE])
        turns = {name: Trainer(model, config, batch, plan, precision).turn for name, model in found.items()}
        yield measure(comparison, turns, plan.lasting(0.5))
