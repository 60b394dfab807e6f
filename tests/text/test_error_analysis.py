"""Kinds of mistakes, each rule by an example."""

import pytest

from course_lib.text.error_analysis import (
    KINDS,
    error_kind,
    plain_words,
    sort_errors,
)

KNOWN = {"ella", "está", "lista", "listo", "hoy", "no", "cansada"}
RIGHT = "¿Ella está lista?"
EXAMPLES = {
    "ella está listísima": KINDS[0],
    "está ella lista": KINDS[1],
    "está lista": KINDS[2],
    "ella está lista hoy": KINDS[3],
    "ella está listo": KINDS[4],
    "ella está cansada": KINDS[5],
}


@pytest.mark.parametrize(("text", "kind"), EXAMPLES.items(), ids=str)
def test_each_rule(text, kind):
    assert error_kind(plain_words(text), plain_words(RIGHT), KNOWN) == kind


def test_mistakes_are_sorted_by_frequency_and_right_ones_left_out():
    candidates = ["Ella está listo.", "ELLA está lista", "Está lista.", "Está."]
    found = sort_errors(candidates, [RIGHT] * 4, KNOWN)
    assert list(found.items()) == [(KINDS[2], [2, 3]), (KINDS[4], [0])]
    with pytest.raises(ValueError, match="no error: both are 'ella'"):
        error_kind(["ella"], ["ella"], KNOWN)
    with pytest.raises(ValueError):
        sort_errors(candidates, [RIGHT], KNOWN)
