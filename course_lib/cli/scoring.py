"""What trained models are scored on: the test part of a data set, or the whole of your own files.

A class for each task says how its data are read, which part is held out, and how to see what was trained on.
The scores come as lines: BLEU and some translations, losses of a text, a confusion matrix.
"""

import torch

from course_lib import datasets
from course_lib.datasets.own_data import labeled_rows
from course_lib.datasets.own_images import image_files
from course_lib.datasets.text_files import TextFiles, own_path
from course_lib.experiments import recipes
from course_lib.tasks.image_classification import check_fits, confusion_matrix, predict
from course_lib.tasks.language_modeling import bits_per_character, mean_loss, perplexity
from course_lib.tasks.runs import logits_of, read_images
from course_lib.tasks.translation import translate
from course_lib.text.bleu import held_out_scores
from course_lib.text.preparation import clean
from course_lib.text.tokenizers import UNK
from course_lib.training import run_record

BEAM, SAMPLES = 4, 8  # width; translations that are shown
SCORED = 400_000  # tokens of a text, at most
PRINTED = 20  # most classes for which the confusion matrix is printed; it is always saved


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
    try:
        trained = set(keys).intersection(scorer.keys(scorer.load(run, run.settings["data"]).train))
    except (KeyError, ValueError, OSError, datasets.DataSetUnavailable):
        return
    if known := sum(key in trained for key in keys):
        yield f"warning: {known:,} of the {len(keys):,} {scorer.unit} were trained on"


class Pairs:
    """Sentence pairs."""

    unit = "pairs"

    def checksum(self, data):
        return {"pairs": run_record.checksum([data.train, data.test])}

    def load(self, run, data):
        return datasets.load_translation(data, max_words=run.settings.get("max_words") or None)

    def test(self, split):
        return split.test

    def whole(self, run, data):
        return datasets.load_pairs(data)

    def keys(self, pairs):
        return pairs

    def report(self, run, pairs, data):
        return translation_report(run.model, run.tokenizer, pairs)


class Text:
    """A text, a string or in files."""

    unit = "lines"

    def checksum(self, data):
        own = getattr(data, "checksum", None)
        return {"texts": own or run_record.checksum([data.train, data.validation, data.test])}

    def load(self, run, data):
        return TextFiles(path, recipes.HELD_OUT) if (path := own_path(data)) else datasets.load_text(data)

    def test(self, split):
        return split.test or split.validation

    def whole(self, run, data):
        return TextFiles(data, recipes.HELD_OUT).all

    def keys(self, text):
        pieces = [text] if isinstance(text, str) else text
        return (line for piece in pieces for line in piece.splitlines() if line.strip())

    def report(self, run, text, data):
        ids = recipes.encoded(run.tokenizer, text)
        yield unknown([ids])
        part = "test" if isinstance(text, str) else str(text)
        yield from text_report(run.model, part, ids, len(text))


class Images:
    """Images with labels."""

    unit = "images"

    def checksum(self, data):
        images = [t for part in (data.train, data.validation, data.test) for t in (part.pixels, part.labels)]
        return {"images": run_record.checksum(images)}

    def load(self, run, data):
        if recipes.is_own(data):
            return datasets.load_image_folder(data, run.model.config.image_size)
        return datasets.load_images(data)

    def test(self, split):
        return split.test, split.classes

    def whole(self, run, data):
        files, names = image_files(data)
        split = datasets.ImageSplit(read_images(run, files), torch.tensor(indices(run, names, data)))
        return split, run.classes

    def keys(self, examples):
        images = examples[0] if isinstance(examples, tuple) else examples
        return [one.numpy().tobytes() for one in images.pixels]

    def report(self, run, examples, data):
        images, classes = examples
        check_fits(run.model, images)
        return counted(run, predict(run.model, images.pixels), images.labels, classes, data, "images")


class LabeledTexts:
    """Texts with labels."""

    unit = "texts"
    test = Images.test

    def checksum(self, data):
        return {"texts": run_record.checksum([[*part] for part in (data.train, data.validation, data.test)])}

    def load(self, run, data):
        return datasets.load_labelled(data)

    def whole(self, run, data):
        texts, names = labeled_rows(data)
        return datasets.LabelledSplit(list(map(clean, texts)), indices(run, names, data)), run.classes

    def keys(self, examples):
        return (examples[0] if isinstance(examples, tuple) else examples).sentences

    def report(self, run, examples, data):
        texts, classes = examples
        return counted(run, logits_of(run, texts.sentences), texts.labels, classes, data, "texts")


SCORERS = {"translation": Pairs(), "gpt": Text(), "vision": Images(), "classification": LabeledTexts()}


def indices(run, names, data):
    """The labels of classes by name. Raises ValueError for a name that the model does not know."""
    if strange := [name for name in names if name not in run.classes]:
        raise ValueError(f"{data}: {strange[0]!r} is none of the classes {', '.join(run.classes)}")
    return list(map(list(run.classes).index, names))


def unknown(rows) -> str:
    """How many of the tokens of held-out texts the tokenizer does not know."""
    rows = [torch.as_tensor(row, dtype=torch.int32) for row in rows]
    share = sum((row == UNK).sum() for row in rows) / sum(map(len, rows))
    return f"{100 * share:.2f}% of the held-out tokens are unknown"


def counted(run, logits, labels, classes, data, unit):
    """Confusion matrix and accuracies. Raises ValueError if data and model have different classes."""
    if list(classes) != list(run.classes):
        raise ValueError(f"{data} has the classes {', '.join(classes)}, the model {', '.join(run.classes)}")
    counts = confusion_matrix(torch.as_tensor(labels), logits.argmax(-1), len(run.classes))
    return confusion_report(run.classes, counts, unit)


def translation_report(model, tokenizer, pairs):
    """Scores on held-out sentences, both ways of decoding, and some of the beam's translations."""
    sources, references = zip(*pairs, strict=True)
    for way, width in (("greedy", 1), (f"beam of {BEAM}", BEAM)):
        translations = translate(model, tokenizer, sources, width=width, precision="auto", progress=True)
        scores = held_out_scores(translations, list(references))
        yield f"held-out, {way}: BLEU {scores.bleu:.1f}, chrF {scores.chrf:.1f} on {len(sources):,} sentences"
    yield f"({scores.signature})"
    for row in range(0, len(sources), max(1, len(sources) // SAMPLES))[:SAMPLES]:
        yield f"  {sources[row]}\n    → {translations[row]}\n    = {references[row]}"


def text_report(model, part, ids, characters):
    """Loss, perplexity and bits per character of a text, every token counted once; a long one: its start."""
    context, of = model.config.max_tokens, f"on {len(ids):,} tokens"
    if len(ids) > SCORED:
        of = f"on the first {SCORED:,} of {len(ids):,} tokens"
    for way, stride in (
        (f"non-overlapping windows of {context}", context),
        ("windows that overlap by half", max(1, context // 2)),
    ):
        loss = mean_loss(model, ids[:SCORED], stride=stride)
        bits = bits_per_character(loss, len(ids), characters)
        yield (
            f"{part}, {way}: loss {loss:.4f}, perplexity {perplexity(loss):,.2f}, "
            f"{bits:.3f} bits per character {of}"
        )


def confusion_report(classes, counts, unit):
    """The confusion matrix, of at most PRINTED classes, and the accuracies: of each class, and in all."""
    if len(classes) <= PRINTED:
        width = max(len(str(counts.max().item())), *map(len, classes)) + 1
        yield "confusion matrix (rows: true classes, columns: predicted):"
        yield " " * (width + 1) + "".join(f"{name:>{width}}" for name in classes)
        for name, row in zip(classes, counts.tolist(), strict=True):
            yield f" {name:>{width}}" + "".join(f"{count:{width}}" for count in row)
    for name, row, right in zip(classes, counts, counts.diagonal(), strict=True):
        share = f"{100 * right / row.sum():6.2f}%" if row.sum() else "no examples"
        yield f"  {name:12} {share}"
    right, all_ = counts.diagonal().sum().item(), counts.sum().item()
    yield f"test accuracy: {100 * right / all_:.2f}% of {all_:,} {unit}"
