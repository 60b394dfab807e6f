"""Train the small models behind the widgets again, and store their weights.

    python -m course_lib.chapters.train_models

takes less than two minutes on one CPU thread.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import nn

from course_lib.chapters.ch03_heads import head_task_model
from course_lib.chapters.ch03_heads.heads_widget import HEADS
from course_lib.chapters.ch09_classification import toy_sentiment
from course_lib.widgets import stored, toy_lm

MODELS: dict[Path, Callable[[], nn.Module]] = {
    toy_lm.FILE: lambda: toy_lm.train()[0],
    **{
        toy_sentiment.file_of(kind): partial(toy_sentiment.train_critic, kind) for kind in toy_sentiment.HEADS
    },
    **{head_task_model.file_of(heads): partial(head_task_model.train, heads) for heads in HEADS},
}


def main() -> None:
    torch.set_num_threads(1)
    for file, make in MODELS.items():
        stored.save(make(), file)
        print(file, flush=True)


if __name__ == "__main__":
    main()
