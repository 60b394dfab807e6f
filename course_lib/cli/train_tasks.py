"""What `train` does for translators and language models: data, settings of the record, scores and files.

A task is made from settled arguments. It has `objective`, `batches` and `config` for the training loop, and
`unit`, which the losses are counted in.
"""

import csv
from itertools import chain
from statistics import median

from course_lib import datasets
from course_lib.cli.scoring import SCORERS, text_report, translation_report, unknown
from course_lib.cli.train import is_main
from course_lib.experiments import recipes
from course_lib.tasks import language_modeling, translation
from course_lib.text.bleu import held_out_scores
from course_lib.text.preparation import encode_pairs
from course_lib.text.unigram import unigram_loss
from course_lib.training import run_record
from course_lib.training.early_stopping import KeepBest
from course_lib.utils.files import atomic_path

SAMPLE = 400  # tokens that are written at the end
COUNTED = 10_000_000  # tokens of the training text, for the unigram loss
WATCHED = 20_000  # tokens of the validation text, for early stopping


class Task:
    """What is the same for every task unless it says otherwise."""

    def source(self) -> dict:
        """The data: name or path, and checksum."""
        return {"data": self.args.data, **SCORERS[self.args.what].checksum(self.data)}

    def settings(self) -> dict:
        """All that determines the result."""
        return run_record.settings_of(self.objective, self.config, **self.identity(), batch=self.args.batch)

    def to_compare(self) -> dict:
        """The settings that a checkpoint must share to be scored."""
        return self.settings()

    def answers(self) -> str:
        """The number of answers that the model chooses among."""
        return f"{len(self.tokenizer):,} tokens in the vocabulary"

    def training(self, out) -> dict:
        """More arguments for `train`."""
        return {"device": self.args.device}

    def progress(self, history):
        """Lines about the evaluations during training."""
        return ()


def different(texts):
    """How many characters some texts use."""
    return f"{len(set(chain.from_iterable(texts))):,} different characters"


def lengths(of, numbers, unit):
    """The median and the extremes of some lengths."""
    return f"{of} {median(numbers):g} {unit} (median), from {min(numbers):,} to {max(numbers):,}"


def write_csv(path, rows):
    """Write a table, under a temporary name first."""
    with atomic_path(path) as room, room.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


class Translation(Task):
    """Sentence pairs."""

    unit = "target tokens"

    def __init__(self, args):
        self.args = args
        prepared = recipes.prepare_translation(args)
        self.data, self.tokenizer, self.objective, self.batches, self.config = prepared

    def identity(self):
        about = {**self.source(), "max_words": self.args.max_words}
        return {**about, "tokenizer": self.tokenizer.fingerprint[:16]}

    def about(self):
        train, test = (f"{len(part):,}" for part in (self.data.train, self.data.test))
        return f"{self.data.name}: {train} pairs to train on, {test} held out for testing"

    def look(self):
        data = self.data
        distinct = len(data.train) + len(data.validation) + len(data.test) + len(data.left_out)
        everything = datasets.load_pairs(self.args.data)
        kinds = len(set(everything))
        yield f"{len(everything):,} pairs, {len(everything) - kinds:,} of them repeated; the first:"
        yield f"  {everything[0][0]!r:.100} → {everything[0][1]!r:.100}"
        for side, name in enumerate((data.source, data.target)):
            yield lengths(f"{name}:", [len(pair[side].split()) for pair in everything], "words")
        if kinds > distinct:
            most = f"a sentence of more than {data.max_words} words"
            yield f"{kinds - distinct:,} pairs have {most} and are left out"
        yield f"{len(data.left_out):,} pairs share a sentence with a held-out pair and are left out"
        sizes = (f"{len(getattr(data, part)):,} {part}" for part in ("train", "validation", "test"))
        yield f"pairs, split by sentence: {', '.join(sizes)}"
        yield different(text for pair in everything for text in pair)
        yield unknown(chain(*encode_pairs(self.tokenizer, data.validation + data.test)))

    def training_tokens(self):
        return sum(len(target) - 1 for _, target in self.batches.dataset.ids)

    def training(self, out):
        ids = [i for _, target in self.batches.dataset.ids for i in target[1:]]
        unigram = unigram_loss(ids, self.objective.model.config.vocab, self.objective.label_smoothing)
        return {"unigram": unigram, **super().training(out)}

    def report(self):
        return translation_report(self.objective.model, self.tokenizer, self.data.test)

    def save(self, out):
        translation.save_translator(out / "model", self.objective.model, self.tokenizer)
        return ""

    def scores(self):
        """Loss without label smoothing, BLEU and chrF (greedy) on the validation sentences."""
        model, pairs = self.objective.model, self.data.validation
        sources, references = zip(*pairs, strict=True)
        translations = translation.translate(model, self.tokenizer, sources, precision="auto")
        scores = held_out_scores(translations, list(references))
        loss = translation.mean_loss(model, self.tokenizer, pairs)
        return {"loss": loss, "bleu": scores.bleu, "chrf": scores.chrf}

    def told_of(self, row):
        yield "step {step:,}: loss {loss:.3f}, BLEU {bleu:.1f}, chrF {chrf:.1f}".format(**row)

    def write_scores(self, out, rows):
        """Write the scores of several checkpoints as CSV, and as a picture of scores against steps."""
        from course_lib.viz.figures import png
        from course_lib.viz.shared import checkpoints_figure

        write_csv(out / "scores.csv", [list(rows[0]), *(row.values() for row in rows)])
        steps, losses, *metrics = ([row[key] for row in rows] for key in rows[0])
        figure = checkpoints_figure(steps, losses, dict(zip(("BLEU", "chrF"), metrics, strict=True)))
        with atomic_path(out / "scores.png") as room:
            room.write_bytes(png(figure, 192))
        print(f"The table is in {out / 'scores.csv'}, a plot in {out / 'scores.png'}.")


class LanguageModel(Task):
    """A text."""

    unit = "tokens"

    def __init__(self, args):
        self.args, self.best = args, None
        prepared = recipes.prepare_gpt(args)
        self.data, self.tokenizer, self.ids, self.objective, self.batches, self.config = prepared

    def identity(self):
        about = {**self.source(), "tokens": self.args.tokens}
        return {**about, "tokenizer": self.tokenizer.fingerprint[:16]}

    def about(self):
        train, validation = (f"{len(self.ids[part]):,}" for part in ("train", "validation"))
        return f"{self.data.name}: {train} tokens to train on, {validation} for validation"

    def look(self):
        data = self.data
        yield (
            f"{data.documents:,} document{'s'[: data.documents != 1]}, {data.duplicates:,} of them repeated; "
            f"{data.characters:,} characters, {data.different_characters:,} different ones"
        )
        if data.documents > 1:
            yield lengths("length of the documents:", data.lengths, "characters")
        sizes = ", ".join(f"{len(ids):,} {part}" for part, ids in self.ids.items())
        way = "by document" if data.by_document else "in one piece each"
        yield f"tokens, split {way}: {sizes}"
        if long := [str(part) for part in (data.train, data.validation, data.test) if part.every > 1]:
            yield f"of this long text, evenly spread parts are used: {', '.join(long)}; more is not needed"
        yield unknown([self.ids["validation"], self.ids["test"]])

    def training_tokens(self):
        return len(self.ids["train"])

    def training(self, out):
        """With early stopping, by the loss on the beginning of the validation text."""
        model, ids = self.objective.model, self.ids["validation"][:WATCHED]
        if self.args.evaluate_every:
            folder = out / "checkpoints" / "best" if is_main() else None
            self.best = KeepBest(model, lambda: language_modeling.mean_loss(model, ids), folder)
        unigram = unigram_loss(self.ids["train"][:COUNTED], len(self.tokenizer))
        return {"evaluate": self.best, "unigram": unigram, **super().training(out)}

    def report(self):
        if self.best:
            loss = self.best.restore()
            yield f"kept: the weights with a loss of {loss:.4f} on a part of the validation text"
        model = self.objective.model
        for part in ("validation", "test"):
            if text := getattr(self.data, part):
                name = part if isinstance(text, str) else str(text)
                yield from text_report(model, name, self.ids[part], len(text))
        prompt = self.tokenizer.decode(self.ids["validation"][:8].tolist())
        text = language_modeling.continue_text(model, self.tokenizer, prompt, SAMPLE, top_p=0.95)
        yield f"After {prompt!r}:\n{text}"

    def save(self, out):
        language_modeling.save_language_model(out / "model", self.objective.model, self.tokenizer)
        return ""
