"""A small translator that ships with the course, for where no one has just trained one.

`cd tests && python -m benchmarks.stored_translator` remakes it, in about a minute of one processor.
"""

from functools import cache
from pathlib import Path

from course_lib.seq2seq import Seq2Seq
from course_lib.tokens import Tokens
from course_lib.translation import load_translator

STORED = Path(__file__).with_name("models") / "translator"
EXAMPLES = [  # of the validation set: none was seen in training
    "She often sleeps in the kitchen.",
    "The cat is older than that mouse.",
    "Diego sometimes drives our trucks.",
    "Don't fill that big suitcase, please.",
    "My photo was next to my bag.",
    "Did his mother talk with them on Wednesday?",
]


@cache
def stored_translator() -> tuple[Seq2Seq, Tokens]:
    """The model, from English to Spanish as the course's grammar makes them, and its vocabulary."""
    model, tokens = load_translator(STORED)
    return model.requires_grad_(False), tokens
