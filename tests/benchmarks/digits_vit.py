"""The small model that the widgets of image classifiers show.

    cd tests && python -m benchmarks.digits_vit

Trains it on the digits for training, prints how right it is, and writes it to
course_lib/widgets/models/digits_vit: less than a minute on one CPU thread.
"""

import torch

from course_lib.datasets import load_images
from course_lib.schedules import TrainConfig
from course_lib.training import train
from course_lib.vision import ImageBatches, ImageObjective, accuracy, save_classifier
from course_lib.vit import ViT, ViTConfig
from course_lib.widgets.digits import STORED

SIZES = {"image_size": 8, "patch_size": 2, "channels": 1, "d_model": 40, "heads": 4, "layers": 3}
TRAINING = TrainConfig(steps=800, lr=3e-3, warmup=50, schedule="cosine", weight_decay=0.05, precision="fp32")
BATCH = 64


def make(steps: int | None = None) -> ViT:
    """The trained model, after fewer steps where a number is given."""
    digits = load_images("digits")
    torch.manual_seed(0)
    model = ViT(ViTConfig(classes=len(digits.classes), dropout=0.1, **SIZES))
    config = TRAINING if steps is None else TrainConfig(steps=steps, precision="fp32")
    train(ImageObjective(model), ImageBatches(digits.train, BATCH), config, device="cpu", progress=False)
    return model.eval()


def main() -> None:
    torch.set_num_threads(1)
    digits, model = load_images("digits"), make()
    for name in ("train", "validation", "test"):
        print(f"{name}: {100 * accuracy(model, getattr(digits, name)):.1f} % right")
    save_classifier(STORED, model, digits.classes)
    print(f"written to {STORED}")


if __name__ == "__main__":
    main()
