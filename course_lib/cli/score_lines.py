"""The scores of a model as lines: BLEU and some translations, losses of a text, a confusion matrix."""

import torch

from course_lib.text.tokenizers import UNK

BEAM, SAMPLES = 4, 8  # width; translations that are shown
SCORED = 400_000  # tokens of a text, at most
PRINTED = 20  # most classes for which the confusion matrix is printed; it is always saved


def unknown(rows) -> str:
    """How many of the tokens of held-out texts the tokenizer does not know."""
    rows = [torch.as_tensor(row, dtype=torch.int32) for row in rows]
    share = sum((row == UNK).sum() for row in rows) / sum(map(len, rows))
    return f"{100 * share:.2f}% of the held-out tokens are unknown"


def counted(run, logits, labels, classes, data, unit):
    """Confusion matrix and accuracies. Raises ValueError if data and model have different classes."""
    from course_lib.tasks.image_classification import confusion_matrix

    if list(classes) != list(run.classes):
        raise ValueError(f"{data} has the classes {', '.join(classes)}, the model {', '.join(run.classes)}")
    counts = confusion_matrix(torch.as_tensor(labels), logits.argmax(-1), len(run.classes))
    return confusion_report(run.classes, counts, unit)


def translation_report(model, tokenizer, pairs):
    """Scores on held-out sentences, both ways of decoding, and some of the beam's translations."""
    from course_lib.tasks.translation import translate
    from course_lib.text.bleu import held_out_scores

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
    from course_lib.tasks.language_modeling import bits_per_character, mean_loss, perplexity

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


def matrix(classes, counts):
    """The confusion matrix as lines of text, for at most PRINTED classes."""
    if len(classes) > PRINTED:
        return
    width = max(len(str(counts.max().item())), *map(len, classes)) + 1
    yield "confusion matrix (rows: true classes, columns: predicted):"
    yield " " * (width + 1) + "".join(f"{name:>{width}}" for name in classes)
    for name, row in zip(classes, counts.tolist(), strict=True):
        yield f" {name:>{width}}" + "".join(f"{count:{width}}" for count in row)


def confusion_report(classes, counts, unit):
    """The confusion matrix and the accuracies."""
    return [*matrix(classes, counts), *accuracies(classes, counts, unit)]


def accuracies(classes, counts, unit):
    """Accuracy on the test examples of each class, and in all."""
    for name, row, right in zip(classes, counts, counts.diagonal(), strict=True):
        share = f"{100 * right / row.sum():6.2f}%" if row.sum() else "no examples"
        yield f"  {name:12} {share}"
    right, all_ = counts.diagonal().sum().item(), counts.sum().item()
    yield f"test accuracy: {100 * right / all_:.2f}% of {all_:,} {unit}"
