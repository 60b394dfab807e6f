"""`train vision`: an image classifier, trained on labelled images, measured on held-out ones, and saved."""

from course_lib.cli import arguments, train_settings
from course_lib.cli.arguments import choice, number, positive_integer, probability, size
from course_lib.experiments import recipes

TOKENIZERS = (
    "patches",
    "convolutions",
    "convolutional stem",
)  # the names in course_lib.models.vit, which needs PyTorch
POSITIONS = ("learned", "sinusoidal 2d", "none")
POOLINGS = ("class token", "mean", "max", "flatten")
PRINTED = 20  # most classes for which the confusion matrix is printed; it is always saved
HELP = "trains a Vision Transformer to classify images"


def add_arguments(kind):
    """Images, sizes, and how to train; what is not given comes from a preset."""
    own = (
        ("data", arguments.name, "name of an image data set"),
        ("patch-size", size, "patch size, in pixels"),
        (
            "tokenizer",
            choice(TOKENIZERS),
            "patches, convolutions that reach beyond their edges, or convolutional stem",
        ),
        ("positions", choice(POSITIONS), "learned, sinusoidal 2d or none"),
        ("pooling", choice(POOLINGS), "class token, mean, max or flatten"),
        ("d-model", size, "width of the hidden states"),
        ("heads", size, "attention heads"),
        ("layers", arguments.layers, "blocks"),
        ("dropout", probability, "dropout probability"),
        ("augment", str, "crop, flip, cutout, randaugment, mixup, cutmix, joined by +; empty: none"),
        ("label-smoothing", probability, "fraction of the target probability spread over all classes"),
        ("schedule", train_settings.schedule, "learning-rate schedule: linear, cosine, noam or constant"),
        ("weight-decay", number(0.0, 1000.0), "weight decay, for matrices only"),
    )
    evaluate = {"type": positive_integer, "metavar": "STEP", "help": "do not train: test this checkpoint"}
    kind.add_argument("--evaluate", **evaluate)
    length, often = train_settings.add_arguments(kind, "vision", own)
    epochs = arguments.positive(1e6)
    length.add_argument("--epochs", type=epochs, help="training length, in epochs")
    often.add_argument("--checkpoint-epochs", type=positive_integer, help="epochs between checkpoints")


def run(args) -> int:
    """Train, or take a checkpoint; test on the held-out images; what came out is printed."""
    images, objective, batches, config = recipes.prepare_vision(args)
    if args.evaluate is not None:
        return evaluate(args, images, objective.model, batches)
    out = train_settings.begin(args, settings(args, images, objective, config))
    if out is None:
        return 0
    size = sum(p.numel() for p in objective.parameters())
    print(f"{images.name}: {len(images.train):,} images to train on, {len(images.test):,} for testing")
    print(f"{size:,} parameters, {len(images.classes)} classes; checkpoints in {out}")
    history = learn(images, objective, batches, config, out, args.keep)
    if train_settings.is_main():
        finish(history, images, objective.model, batches, out)
    return 0


def evaluate(args, images, model, batches) -> int:
    """Test a checkpoint of a run with this model and these images."""
    from dataclasses import asdict

    from course_lib.training import run_record
    from course_lib.training.checkpoints import Checkpoints

    out = train_settings.folder(args)
    checkpoints = Checkpoints(out / "checkpoints")
    if args.evaluate not in checkpoints.steps():
        wanted, steps = checkpoints.path(args.evaluate), checkpoints.steps()
        raise ValueError(f"there is no checkpoint {wanted}; steps with a checkpoint: {steps}")
    wanted = {**data_of(args, images), **asdict(model.config)}
    run_record.check_same(out, run_record.read(out)["settings"], wanted)
    checkpoints.load(args.evaluate, model)
    counts = tested(images, model.to(batches.device))
    train_settings.told([*matrix(images.classes, counts), *report(images, counts)])
    return 0


def data_of(args, images):
    """The images, for the record of a run."""
    from course_lib.training.run_record import checksum

    parts = (images.train, images.validation, images.test)
    return {"data": args.data, "images": checksum([t for part in parts for t in (part.pixels, part.labels)])}


def settings(args, images, objective, config):
    """All that determines the result."""
    from course_lib.training.run_record import settings_of

    return settings_of(objective, config, **data_of(args, images), batch=args.batch, augment=args.augment)


def learn(images, objective, batches, config, out, keep):
    """Train, with the accuracy on the validation images after each epoch."""
    from course_lib.tasks.image_classification import accuracy
    from course_lib.training.trainer import train

    device, validation = batches.device, images.validation
    return train(
        objective,
        batches,
        config,
        folder=out / "checkpoints",
        keep=keep,
        evaluate=lambda: {"accuracy": accuracy(objective.model, validation)},
        device=device,
    )


def finish(history, images, model, batches, out) -> None:
    """Test and save the trained model."""
    from course_lib.tasks.image_classification import save_classifier
    from course_lib.training import run_record

    counts = tested(images, model)
    lines = [*progress(history, batches), *matrix(images.classes, counts), *report(images, counts)]
    result = train_settings.told(lines)
    save_classifier(out / "model", model, images.classes)
    write_confusion(out / run_record.CONFUSION, images.classes, counts)
    run_record.finish(out, result)
    print(f"The model is in {out / 'model'}, the confusion matrix in {out / run_record.CONFUSION}.")


def progress(history, batches):
    """The accuracies after each epoch, and how long it took."""
    for one in history.evaluations:
        epoch = one["step"] / len(batches)
        yield f"after {epoch:.1f} epochs: validation accuracy {100 * one['accuracy']:.2f}%"
    yield train_settings.summary(history, "images")


def tested(images, model):
    """Confusion matrix on the test images: rows are true classes, columns predicted ones."""
    from course_lib.tasks.image_classification import confusion_matrix, predict

    predicted = predict(model, images.test.pixels).argmax(-1)
    return confusion_matrix(images.test.labels, predicted, len(images.classes))


def matrix(classes, counts):
    """The confusion matrix as lines of text, for at most PRINTED classes."""
    if len(classes) > PRINTED:
        return
    width = max(len(str(counts.max().item())), *map(len, classes)) + 1
    yield "confusion matrix (rows: true classes, columns: predicted):"
    yield " " * (width + 1) + "".join(f"{name:>{width}}" for name in classes)
    for name, row in zip(classes, counts.tolist(), strict=True):
        yield f" {name:>{width}}" + "".join(f"{count:{width}}" for count in row)


def write_confusion(path, classes, counts):
    """Write the confusion matrix as CSV, with the classes in the first line and the first column."""
    import csv

    from course_lib.utils.files import atomic_path

    with atomic_path(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        rows = ([name, *row] for name, row in zip(classes, counts.tolist(), strict=True))
        csv.writer(file).writerows([["true class", *classes], *rows])


def report(images, counts):
    """Accuracy on the test images of each class, and in all."""
    for name, row, right in zip(images.classes, counts, counts.diagonal(), strict=True):
        yield f"  {name:12} {100 * right / row.sum():6.2f}%"
    right, all_ = counts.diagonal().sum().item(), len(images.test)
    yield f"test accuracy: {100 * right / all_:.2f}% of {all_:,} images"
