"""What trained models are scored on: the test part of a data set, or the whole of your own files.

A class for each task says how its data are read, which part is held out, and how to see what was trained on.
The lines themselves are in `score_lines`.
"""

import torch

from course_lib.cli.score_lines import counted, text_report, translation_report, unknown
from course_lib.datasets import TextFiles
from course_lib.datasets.text_files import own_path
from course_lib.experiments import recipes
from course_lib.training import run_record


def evaluation(run, data):
    """The scores of a run, as lines: on the test part of its own data or of a named set, or on all of a file.

    Raises ValueError if the run's own data has changed: what is its test part now may have been trained on.
    """
    if isinstance(data, str):
        own_path(data)  # which says what there is if there is no such data
    scorer, same = SCORERS[run.task], data == run.settings.get("data")
    try:
        split = scorer.load(run, data)
    except ValueError:
        if same or not recipes.is_own(data):
            raise
        split = None  # too small to be split
    known = split and all(run.settings.get(key) == value for key, value in scorer.checksum(split).items())
    if same and not known:
        raise ValueError(f"{data} has changed since the run was trained: its test part may be known to it")
    if split and (known or not recipes.is_own(data)):
        yield from scorer.report(run, scorer.test(split), data)
        return
    examples = scorer.whole(run, data)
    yield from seen(run, scorer, list(scorer.keys(examples)))
    yield from scorer.report(run, examples, data)


def seen(run, scorer, keys):
    """A warning if a run was trained on some of these examples; none if its data are no longer there."""
    from course_lib.datasets import DataSetUnavailable

    try:
        trained = set(keys).intersection(scorer.keys(scorer.load(run, run.settings["data"]).train))
    except (KeyError, ValueError, OSError, DataSetUnavailable):
        return
    if known := sum(key in trained for key in keys):
        yield f"warning: {known:,} of the {len(keys):,} {scorer.unit} were trained on"


class Pairs:
    """Sentence pairs."""

    unit = "pairs"

    @staticmethod
    def checksum(data):
        return {"pairs": run_record.checksum([data.train, data.test])}

    @staticmethod
    def load(run, data):
        from course_lib.datasets import load_translation

        return load_translation(data, max_words=run.settings.get("max_words") or None)

    @staticmethod
    def test(split):
        return split.test

    @staticmethod
    def whole(run, data):
        from course_lib.datasets import load_pairs

        return load_pairs(data)

    @staticmethod
    def keys(pairs):
        return pairs

    @staticmethod
    def report(run, pairs, data):
        return translation_report(run.model, run.tokenizer, pairs)


class Text:
    """A text, a string or in files."""

    unit = "lines"

    @staticmethod
    def checksum(data):
        own = getattr(data, "checksum", None)
        return {"texts": own or run_record.checksum([data.train, data.validation, data.test])}

    @staticmethod
    def load(run, data):
        from course_lib.datasets import load_text

        return TextFiles(path, recipes.HELD_OUT) if (path := own_path(data)) else load_text(data)

    @staticmethod
    def test(split):
        return split.test or split.validation

    @staticmethod
    def whole(run, data):
        return TextFiles(data, recipes.HELD_OUT).all

    @staticmethod
    def keys(text):
        pieces = [text] if isinstance(text, str) else text
        return (line for piece in pieces for line in piece.splitlines() if line.strip())

    @staticmethod
    def report(run, text, data):
        ids = recipes.encoded(run.tokenizer, text)
        yield unknown([ids])
        part = "test" if isinstance(text, str) else str(text)
        yield from text_report(run.model, part, ids, len(text))


class Images:
    """Images with labels."""

    unit = "images"

    @staticmethod
    def checksum(data):
        images = [t for part in (data.train, data.validation, data.test) for t in (part.pixels, part.labels)]
        return {"images": run_record.checksum(images)}

    @staticmethod
    def load(run, data):
        from course_lib.datasets import load_image_folder, load_images

        if recipes.is_own(data):
            return load_image_folder(data, run.model.config.image_size)
        return load_images(data)

    @staticmethod
    def test(split):
        return split.test, split.classes

    @staticmethod
    def whole(run, data):
        from course_lib.datasets import ImageSplit
        from course_lib.datasets.own_images import image_files
        from course_lib.tasks.runs import read_images

        files, names = image_files(data)
        return ImageSplit(read_images(run, files), torch.tensor(indices(run, names, data))), run.classes

    @staticmethod
    def keys(examples):
        images = examples[0] if isinstance(examples, tuple) else examples
        return [one.numpy().tobytes() for one in images.pixels]

    @staticmethod
    def report(run, examples, data):
        from course_lib.tasks.image_classification import check_fits, predict

        images, classes = examples
        check_fits(run.model, images)
        return counted(run, predict(run.model, images.pixels), images.labels, classes, data, "images")


class LabeledTexts:
    """Texts with labels."""

    unit = "texts"
    test = Images.test

    @staticmethod
    def checksum(data):
        return {"texts": run_record.checksum([[*part] for part in (data.train, data.validation, data.test)])}

    @staticmethod
    def load(run, data):
        from course_lib.datasets import load_labelled

        return load_labelled(data)

    @staticmethod
    def whole(run, data):
        from course_lib.datasets import LabelledSplit
        from course_lib.datasets.own_data import labeled_rows
        from course_lib.text.preparation import clean

        texts, names = labeled_rows(data)
        return LabelledSplit(list(map(clean, texts)), indices(run, names, data)), run.classes

    @staticmethod
    def keys(examples):
        return (examples[0] if isinstance(examples, tuple) else examples).sentences

    @staticmethod
    def report(run, examples, data):
        from course_lib.tasks.runs import logits_of

        texts, classes = examples
        return counted(run, logits_of(run, texts.sentences), texts.labels, classes, data, "texts")


SCORERS = {"translation": Pairs, "gpt": Text, "vision": Images, "classification": LabeledTexts}


def indices(run, names, data):
    """The labels of classes by name. Raises ValueError for a name that the model does not know."""
    if strange := [name for name in names if name not in run.classes]:
        raise ValueError(f"{data}: {strange[0]!r} is none of the classes {', '.join(run.classes)}")
    return list(map(list(run.classes).index, names))
