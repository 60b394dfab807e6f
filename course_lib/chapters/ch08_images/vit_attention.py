"""What the class token of a small ViT attends to, and what the ViT needs, over seeds (chapter 8b).

    python -m course_lib.experiments vit_attention --seeds 0 1 2

trains the ViT of `digits_vit` with each seed, once with learned and once with 2-D sinusoidal positions, and
stores what it measures on the test digits in results/vit_attention.json: less than a minute per model on one
CPU thread. `stored()` reads the results.
"""

import json
from statistics import fmean
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from course_lib.chapters.ch08_images import digits_vit
from course_lib.chapters.ch08_images.vit_interpret import (
    attention_maps,
    class_attention,
    logits_without,
    paint_patches,
    patch_distances,
    rollout,
)
from course_lib.experiments.runner import Experiment, every
from course_lib.layers.patches import unfold_patches
from course_lib.models.vit import ViT, resized
from course_lib.tasks.image_classification import predict, to_floats

MOST = 4  # patches painted
DRAWS = 5  # random choices whose accuracies are averaged
EQUAL = 0.05  # largest difference of equal ink, as a fraction of the image's most inked patch

Scores = Float[Tensor, "images patches"]
Chosen = Int[Tensor, "images chosen"]


class Probe:
    """The test digits, and one model that reads them."""

    def __init__(self, model: ViT):
        test = digits_vit.digits().test
        self.model, self.size = model, model.config.patch_size
        self.pixels, self.labels = test.pixels, test.labels
        self.images = to_floats(test.pixels)
        self.ink = unfold_patches(test.pixels.float(), self.size).sum(dim=-1) / 255
        self.inked = self.ink > 0
        maps = attention_maps(model, self.images)
        self.looks = class_attention(maps).mean(dim=2).flatten(2)  # (layers, images, patches)
        self.rollout = rollout(maps)[:, 0, 1:]

    def correct(self, logits: Float[Tensor, "images classes"]) -> float:
        return (logits.argmax(dim=-1) == self.labels).float().mean().item()

    def ordered(self, scores: Scores, among: Bool[Tensor, "images patches"] | None = None) -> Chosen:
        """Patches by falling score; those that are not `among` the candidates come last."""
        if among is not None:
            scores = scores.masked_fill(~among, -torch.inf)
        return scores.argsort(dim=1, descending=True, stable=True)

    def orders(self) -> dict[str, list[Chosen]]:
        """Ways to choose patches; the random ones are several."""
        rng, inked = torch.Generator().manual_seed(0), self.inked
        random = [self.ordered(torch.rand(inked.shape, generator=rng), inked) for _ in range(DRAWS)]
        return {
            "most attended, any": [self.ordered(self.rollout)],
            "least attended, any": [self.ordered(-self.rollout)],
            "most attended": [self.ordered(self.rollout, inked)],
            "least attended": [self.ordered(-self.rollout, inked)],
            "most ink": [self.ordered(self.ink, inked)],
            "random": random,
        }

    def painted(self, order: Chosen, number: int) -> float:
        """Accuracy with the first patches of the order painted black."""
        return self.correct(predict(self.model, paint_patches(self.images, order[:, :number], self.size)))

    def removed(self, order: Chosen, number: int) -> float:
        """Accuracy without the tokens of the first patches of the order."""
        return self.correct(logits_without(self.model, self.images, order[:, :number]))

    def without_empty(self) -> dict[str, float]:
        """Accuracy without the tokens of all empty patches, and without as many random patches with ink."""
        rng, hits = torch.Generator().manual_seed(0), {"empty": 0, "inked": 0}
        for i in range(len(self.images)):
            number = int((~self.inked[i]).sum())
            inked = self.inked[i].nonzero()[:, 0]
            inked = inked[torch.randperm(len(inked), generator=rng)[:number]]
            for name, patches in (("empty", (~self.inked[i]).nonzero()[:, 0]), ("inked", inked)):
                logits = logits_without(self.model, self.images[i : i + 1], patches[None])
                hits[name] += int(logits.argmax() == self.labels[i])
        return {name: number / len(self.images) for name, number in hits.items()}

    def equal_ink(self) -> dict[str, float]:
        """Of two patches with equal ink, how often the one with the higher score is the one needed more.

        A patch is needed more if painting it lowers the log-probability of the predicted class more.
        """
        whole = predict(self.model, self.images).log_softmax(dim=-1)
        predicted = whole.argmax(dim=-1, keepdim=True)
        one = torch.ones(len(self.images), 1, dtype=torch.long)
        painted = [
            predict(self.model, paint_patches(self.images, p * one, self.size))
            for p in range(self.ink.shape[1])
        ]
        after = torch.stack([logits.log_softmax(-1).gather(1, predicted)[:, 0] for logits in painted], dim=1)
        needed = whole.gather(1, predicted) - after
        pairs = (self.inked[:, :, None] & self.inked[:, None]).triu(1)
        pairs &= (self.ink[:, :, None] - self.ink[:, None]).abs() <= EQUAL * self.ink.amax(1)[:, None, None]
        scores = {f"layer {i}": looks for i, looks in enumerate(self.looks, start=1)}
        more = {name: s[:, :, None] > s[:, None] for name, s in ({"rollout": self.rollout} | scores).items()}
        agrees = needed[:, :, None] > needed[:, None]
        return {name: (m == agrees)[pairs].float().mean().item() for name, m in more.items()} | {
            "pairs": int(pairs.sum())
        }

    def sizes(self) -> dict[str, float]:
        """Accuracy on the digits enlarged to twice their side, and with one cause of the loss at a time."""
        own, side = self.model.positions.table, self.model.config.image_size // self.size
        larger = resized(self.model, 2 * self.model.config.image_size).positions.table
        no_positions = torch.cat([own[:1], 0 * larger[1:]])
        enlarged = F.interpolate(self.pixels.float(), scale_factor=2, mode="bilinear", align_corners=False)
        after = unfold_patches(to_floats(enlarged.round().to(torch.uint8)), self.size)
        before = unfold_patches(self.images, self.size)
        parent = torch.arange(2 * side) // 2
        parent = (parent[:, None] * side + parent).flatten()  # the old patch that contains each new one
        return {
            "8 pixels": self.read(before, own),
            "16 pixels": self.read(after, larger),
            "16 pixels, no positions": self.read(after, no_positions),
            "new positions, old patches": self.read(before[:, parent], larger),
            "old positions, new patches": self.read(after, torch.cat([own[:1], own[1:][parent]])),
        }

    @torch.no_grad()
    def read(
        self, patches: Float[Tensor, "images patches pixels"], positions: Float[Tensor, "tokens d_model"]
    ) -> float:
        """Accuracy of the model on these patches at these positions."""
        kernel = self.model.patches.convolution
        x = F.linear(patches, kernel.weight.flatten(1), kernel.bias)
        x = torch.cat([self.model.class_token.expand(len(x), 1, -1), x], dim=1) + positions
        for block in self.model.blocks:
            x = block(x)
        return self.correct(self.model.head(self.model.norm(x[:, 0])))

    def neighbors(self) -> list[float]:
        """Mean cosine similarity of the embeddings of positions 1, then up to 2, 3 and 5 patches apart.

        The mean of all positions is subtracted first.
        """
        learned = self.model.positions.table[1:]
        unit = F.normalize(learned - learned.mean(dim=0), dim=-1)
        similar, far = unit @ unit.T, patch_distances(self.model.config.image_size // self.size)
        bounds = ((0.5, 1.2), (1.2, 2.1), (2.1, 3.1), (3.1, 5))
        return [similar[(far > low) & (far < high)].mean().item() for low, high in bounds]


def measure(model: ViT) -> dict[str, Any]:
    """All that is stored of a model."""
    probe = Probe(model.requires_grad_(False))
    orders = probe.orders()

    def accuracies(read: Any) -> dict[str, list[float]]:
        return {
            name: [fmean(read(order, number) for order in several) for number in range(1, MOST + 1)]
            for name, several in orders.items()
        }

    result = {
        "accuracy": probe.correct(predict(model, probe.images)),
        "painted": accuracies(probe.painted),
        "removed": accuracies(probe.removed),
        "without": probe.without_empty(),
        "on empty patches": (probe.looks * ~probe.inked).sum(dim=-1).mean(dim=1).tolist(),
        "equal ink": probe.equal_ink(),
        "neighbors": probe.neighbors(),
    }
    if model.config.positions == "learned":
        result["sizes"] = probe.sizes()
    return json.loads(json.dumps(result), parse_float=lambda digits: round(float(digits), 3))


def make(positions: str, seed: int) -> dict[str, Any]:
    """Train a model and measure it."""
    return {"seed": seed} | measure(digits_vit.make(seed=seed, positions=positions))


EXPERIMENT = Experiment(
    __file__,
    {positions: every(positions=[positions], seed=(0, 1, 2)) for positions in ("learned", "sinusoidal 2d")},
    make,
    dict,
    keys=("seed",),
    settings=lambda: {"images": len(digits_vit.digits().test)},
)


def stored() -> dict[str, list[dict[str, Any]]]:
    """The stored results of each seed, by the kind of positions: "learned" and "sinusoidal 2d"."""
    return EXPERIMENT.stored()


if __name__ == "__main__":
    EXPERIMENT.main(__doc__)
