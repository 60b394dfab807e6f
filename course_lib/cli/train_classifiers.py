"""What `train` does for classifiers of images and of texts."""

from dataclasses import asdict, replace
from math import prod

import torch

from course_lib.cli.scoring import SCORERS, confusion_report, unknown
from course_lib.cli.train_tasks import Task, different, lengths, write_csv
from course_lib.datasets.own_images import image_files, size_of
from course_lib.experiments import recipes
from course_lib.tasks import image_classification, text_classification
from course_lib.training import run_record


class Classification(Task):
    """What images and texts with labels have in common."""

    def about(self):
        train, test = (f"{len(part):,}" for part in (self.data.train, self.data.test))
        return f"{self.data.name}: {train} {self.unit} to train on, {test} for testing"

    def answers(self):
        return f"{len(self.data.classes)} classes"

    def look(self):
        parts = (self.data.train, self.data.validation, self.data.test)
        keys = [key for part in parts for key in SCORERS[self.args.what].keys(part)]
        yield f"{len(keys):,} {self.unit}, {len(keys) - len(set(keys)):,} of them repeated"
        yield f"{self.unit} for training, validation and test, by class:"
        labels = [torch.as_tensor(part.labels).bincount(minlength=len(self.data.classes)) for part in parts]
        for name, *counts in zip(self.data.classes, *labels, strict=True):
            yield f"  {name:12} " + ", ".join(f"{count:,}" for count in counts)

    def training_tokens(self):
        return len(self.data.train)

    def training(self, out):
        return {"evaluate": self.accuracy, **super().training(out)}

    def accuracy(self):
        right = self.predicted("validation") == torch.as_tensor(self.data.validation.labels)
        return {"accuracy": right.float().mean().item()}

    def progress(self, history):
        for one in history.evaluations:
            epoch = one["step"] / len(self.batches)
            yield f"after {epoch:.1f} epochs: validation accuracy {100 * one['accuracy']:.2f}%"

    def scores(self):
        """Confusion matrix on the test examples: rows are true classes, columns predicted ones."""
        labels = torch.as_tensor(self.data.test.labels)
        self.counts = image_classification.confusion_matrix(
            labels, self.predicted("test"), len(self.data.classes)
        )
        return {"counts": self.counts}

    def told_of(self, row):
        return confusion_report(self.data.classes, row["counts"], self.unit)

    def report(self):
        return self.told_of(self.scores())

    def save(self, out):
        """The confusion matrix, too, as CSV, with the classes in the first line and the first column."""
        self.save_model(out / "model")
        classes, path = self.data.classes, out / run_record.CONFUSION
        rows = zip(classes, self.counts.tolist(), strict=True)
        write_csv(path, [["true class", *classes], *([name, *row] for name, row in rows)])
        return f", the confusion matrix in {path}"


class ImageClassification(Classification):
    """Images with labels."""

    unit = "images"

    def __init__(self, args):
        self.args = args
        self.data, self.objective, self.batches, self.config = recipes.prepare_vision(args)

    def identity(self):
        return self.source()

    def settings(self):
        return {**super().settings(), "augment": self.args.augment}

    def to_compare(self):
        return {**self.identity(), **asdict(self.objective.model.config)}

    def look(self):
        yield from super().look()
        channels, side, _ = self.data.train.pixels.shape[1:]
        small, *_, large = sorted(map(size_of, image_files(self.args.data)[0]), key=prod)
        before = f"{small[0]}×{small[1]} to {large[0]}×{large[1]} pixels"
        yield f"of {before}, scaled to {side}×{side} pixels, {'in color' if channels == 3 else 'gray'}"

    def training(self, out):
        return {**super().training(out), "device": self.batches.device}

    def predicted(self, part):
        return image_classification.predict(self.objective.model, getattr(self.data, part).pixels).argmax(-1)

    def save_model(self, folder):
        image_classification.save_classifier(folder, self.objective.model, self.data.classes)


class TextClassification(Classification):
    """Texts with labels."""

    unit = "texts"

    def __init__(self, args):
        self.args = args
        prepared = recipes.prepare_classification(args)
        self.data, self.tokenizer, self.ids, self.objective, self.batches, self.config = prepared
        self.config = replace(self.config, evaluate_every=max(1, len(self.batches)))

    def identity(self):
        about = self.source()
        about |= {"pooling": self.args.pooling, "tokenizer": self.tokenizer.fingerprint[:16]}
        return {**about, **asdict(self.objective.model.encoder.config)}

    def look(self):
        yield from super().look()
        data = self.data
        rows = [row for part in self.ids.values() for row in part]
        yield lengths("length:", list(map(len, rows)), "tokens")
        yield different(text for part in (data.train, data.validation, data.test) for text in part.sentences)
        most = self.args.context - 1
        yield f"{sum(len(row) == most for row in rows):,} texts have {most} tokens or were cut to them"
        yield unknown(self.ids["validation"] + self.ids["test"])

    def predicted(self, part):
        return text_classification.predict(self.objective.model, self.ids[part]).argmax(-1)

    def save_model(self, folder):
        model, classes = self.objective.model, self.data.classes
        text_classification.save_text_classifier(folder, model, self.tokenizer, classes)
