"""Frozen test sets: all of the course's results are about the same sentences.

    COURSE_DATA=… python tests/datasets/test_frozen.py

prints the current hashes, for a set that was changed on purpose.
"""

import pytest

from course_lib.datasets import fingerprint, list_datasets, load_translation

FROZEN = {
    ("spa-eng", None): "90825cf90a95d70f201c99e0e6c714e349ad73c93097ae2088bbff3059492880",
    ("spa-eng", 8): "e42e67f3f48391155375e197db1fc5415340677ea35332acfdda4f5d0f9c7bb1",
    ("fra-eng", None): "0a377f264f988dabee5ab84be5cafa36eeb5ca79476109a1f84ed7eeea30e84f",
    ("fra-eng", 8): "46ffbcccb51a6b7e962525a850877df1a096b5f46d0aaff53af2527531290d83",
    ("multi30k", None): "084b8c01ac823457eb2e8e60488dac39abbe5d8fe8b3c2f74865e2ff0f2b7ebe",
    ("grammar", None): "cf3ab0933eedef6954337c78a16bf44ec6bbc1f13ab0f0f66e8cdbe78e4838c8",
}
"""`fingerprint` of the test pairs by name and `max_words`."""


def _case(name: str, max_words: int | None):
    marks = [pytest.mark.real_data] if list_datasets()[name].file else []
    return pytest.param(name, max_words, marks=marks, id=f"{name}-{max_words}")


@pytest.mark.parametrize(("name", "max_words"), [_case(*key) for key in FROZEN])
def test_test_sentences_are_the_frozen_ones(name: str, max_words: int | None) -> None:
    data = load_translation(name, max_words=max_words)
    assert fingerprint(data.test) == FROZEN[name, max_words]


def test_every_set_is_frozen() -> None:
    assert {name for name, _ in FROZEN} == {name for name, entry in list_datasets().items() if entry.target}


if __name__ == "__main__":
    for name, max_words in FROZEN:
        print(
            f'    ("{name}", {max_words}): "{fingerprint(load_translation(name, max_words=max_words).test)}",'
        )
