"""What `train` does for every kind of model, and lines about data that several kinds share."""

import csv
from itertools import chain
from statistics import median

from course_lib.cli.scoring import SCORERS
from course_lib.training import run_record
from course_lib.utils.files import atomic_path


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
