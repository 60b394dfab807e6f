"""A small translation data set for the systems of the lectures."""

from functools import cache

from course_lib.datasets import TranslationData, grammar


@cache
def few_pairs():
    """The embedded grammar, undivided: 400 pairs for training, 3000 for tests."""
    pairs = grammar.pairs()
    named = {"name": "grammar", "source": "English", "target": "Spanish", "max_words": None}
    return TranslationData(**named, train=pairs[:400], validation=[], test=pairs[400:3400], left_out=[])
