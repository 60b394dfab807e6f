"""The subword widget: its boxes are the tokens, its line counts them."""

import pytest

from course_lib.chapters.ch06_translation import subwords_widget as subwords
from course_lib.widgets.explorer import Explorer


def shown(widget: Explorer) -> list[str]:
    """The labels of the boxes, in order."""
    texts = widget.figure.axes[0].texts
    return [text.get_text() for text in texts if text.get_text()]


def test_without_merges_the_boxes_are_bytes() -> None:
    widget = subwords.subword_explorer("añ 🍎")
    assert shown(widget) == ["a", "C3", "B1", "␣", "F0", "9F", "8D", "8E"]
    assert "4 characters are 8 bytes and 8 tokens" in widget.line


def test_merges_make_fewer_tokens_of_the_same_text() -> None:
    widget = subwords.subword_explorer("Tom comes")
    before = len(shown(widget))
    widget.controls["merges"].value = 3000
    assert len(shown(widget)) < before
    assert "".join(shown(widget)).replace("␣", " ") == "Tom comes"
    assert "a vocabulary of 3256" in widget.line


def test_a_text_that_does_not_fit_says_so() -> None:
    widget = subwords.subword_explorer("word " * 500)
    boxes = len(shown(widget))
    assert f"The last {2500 - boxes} tokens do not fit" in widget.line
    widget.controls["text"].value = "a"
    assert shown(widget) == ["a"] and "1 token." in widget.line


@pytest.mark.parametrize(
    ("piece", "said"), [(b" a", "␣a"), (b"\n", "↵"), (b"\xc3\xb1", "ñ"), (b"\xc3", "C3")]
)
def test_labels(piece: bytes, said: str) -> None:
    assert subwords.label(piece) == said
