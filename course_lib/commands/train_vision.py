"""`train vision`: an image classifier, trained on labelled images, measured on held-out ones, and saved."""

from course_lib.commands import train_settings

HELP = "a Vision Transformer that says what is on an image"


def add_arguments(kind):
    """Images, sizes, and how to train; what is not given comes from a preset."""
    base = {"minutes": 1.0, **train_settings.presets("vision")["digits"]}
    own = (
        ("data", str, "name of a set of images"),
        ("patch-size", int, "side of a patch, in pixels"),
        ("tokenizer", str, "patches, or convolutions that look beyond their edges"),
        ("positions", str, "learned, sinusoidal 2d or none"),
        ("pooling", str, "class token, mean, max or flatten"),
        ("d-model", int, "width of the vectors"),
        ("heads", int, "attention heads"),
        ("layers", int, "blocks"),
        ("dropout", float, "probability"),
        ("augment", str, "crop, flip, randaugment, mixup, cutmix, joined by +; empty: none"),
        ("label-smoothing", float, "share of the target probability spread over all classes"),
        ("schedule", str, "of the learning rate: linear, cosine, noam or constant"),
        ("weight-decay", float, "of matrices"),
    )
    kind.add_argument("--epochs", type=float, help="how long to train, in passes over the images")
    kind.add_argument("--checkpoint-epochs", type=int, help="epochs between checkpoints, instead of steps")
    kind.add_argument("--evaluate", type=int, metavar="STEP", help="train nothing, test this checkpoint")
    train_settings.add_arguments(kind, "vision", base, own)


def run(args) -> int:
    """Train, or take a checkpoint; test on the held-out images; what came out is printed."""
    out = train_settings.folder(args)
    images, objective, batches, config = prepare(args)
    size = sum(p.numel() for p in objective.parameters())
    print(f"{images.name}: {len(images.train):,} images to train on, {len(images.test):,} for the test")
    print(f"{size:,} parameters, {len(images.classes)} classes; checkpoints in {out}")
    if args.evaluate is not None:
        from course_lib.checkpoints import Checkpoints

        Checkpoints(out / "checkpoints").load(args.evaluate, objective.model)
        report(images, objective.model.to(batches.split.labels.device))
        return 0
    learn(images, objective, batches, config, out)
    if train_settings.is_main():
        finish(images, objective.model, out)
    return 0


def learn(images, objective, batches, config, out) -> None:
    """Train, with the accuracy on the validation images after each epoch."""
    from course_lib.training import train
    from course_lib.vision import accuracy

    device, validation = batches.split.labels.device, images.validation
    history = train(
        objective,
        batches,
        config,
        folder=out / "checkpoints",
        evaluate=lambda: {"accuracy": accuracy(objective.model, validation)},
        device=device,
    )
    for one in history.evaluations:
        epoch = one["step"] / len(batches.epoch(0))
        print(f"after {epoch:.1f} epochs: {100 * one['accuracy']:.2f} % of the validation images right")
    print(train_settings.summary(history, "images"))


def finish(images, model, out) -> None:
    """Test and save the trained model."""
    from course_lib.vision import save_classifier

    report(images, model)
    save_classifier(out / "model", model, images.classes)
    print(f"The model is in {out / 'model'}.")


def report(images, model) -> None:
    """How many test images are right, in all and of each class."""
    from course_lib.vision import confusion_matrix, predict

    counts = confusion_matrix(
        images.test.labels, predict(model, images.test.pixels).argmax(-1), len(images.classes)
    )
    for name, row, right in zip(images.classes, counts, counts.diagonal(), strict=True):
        print(f"  {name:12} {100 * right / row.sum():6.2f} %")
    right, all_ = counts.diagonal().sum().item(), len(images.test)
    print(f"test: {100 * right / all_:.2f} % of {all_:,} images right")


def prepare(args):
    """Images, model with its loss, batches and settings, as the arguments say."""
    import torch

    from course_lib.augment import augmentation
    from course_lib.datasets import load_images
    from course_lib.vision import ImageBatches, ImageObjective, check_fits
    from course_lib.vit import ViT

    images = load_images(args.data)
    torch.manual_seed(args.seed)
    model = ViT(vit_config(args, images))
    check_fits(model, images.train)
    device = torch.device(args.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    augment = augmentation(args.augment, len(images.classes))
    batches = ImageBatches(images.train.to(device), args.batch, args.seed, augment)
    return images, ImageObjective(model, args.label_smoothing), batches, train_config(args, batches)


def vit_config(args, images):
    """The sizes of the model: those of the images are given, the others asked for."""
    from course_lib.vit import ViTConfig

    same = ("patch_size", "tokenizer", "positions", "pooling", "d_model", "heads", "layers", "dropout")
    channels, height, width = images.train.pixels.shape[1:]
    if height != width:
        raise ValueError(f"images of height={height} and width={width}: the model reads square ones")
    sizes = {"classes": len(images.classes), "image_size": height, "channels": channels}
    return ViTConfig(**sizes, **{name: getattr(args, name) for name in same})


def train_config(args, batches):
    """The settings of the training; epochs are turned into steps."""
    from dataclasses import replace

    steps = len(batches.epoch(0))  # in an epoch
    settings = {"schedule": args.schedule, "weight_decay": args.weight_decay, "evaluate_every": steps}
    if args.checkpoint_epochs:
        settings["checkpoint_every"] = args.checkpoint_epochs * steps
    if args.epochs:
        args.steps, args.minutes = max(1, round(args.epochs * steps)), None
    return replace(train_settings.train_config(args), **settings)
