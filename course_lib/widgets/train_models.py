"""Train the small models behind the widgets again, and store their weights.

    python -m course_lib.widgets.train_models

takes less than two minutes on one CPU thread.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import nn

from course_lib.widgets import head_task_model, stored, toy_lm, toy_sentiment
from course_lib.widgets.heads import HEADS

MODELS: dict[str, Callable[[], nn.Module]] = {
    toy_lm.NAME: lambda: toy_lm.train()[0],
    **{
        toy_sentiment.name_of(kind): partial(toy_sentiment.train_critic, kind) for kind in toy_sentiment.HEADS
    },
    **{head_task_model.name_of(heads): partial(head_task_model.train, heads) for heads in HEADS},
}


def main() -> None:
    torch.set_num_threads(1)
    for name, make in MODELS.items():
        stored.save(make(), name)
        print(name, flush=True)


if __name__ == "__main__":
    main()
