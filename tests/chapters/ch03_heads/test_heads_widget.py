"""The heads explorer: layers that have learnt what the text says, for any sentence that can be typed."""

import numpy as np
import pytest
import torch
from matplotlib.text import Text

from course_lib.chapters.ch03_heads import head_task_model as errands
from course_lib.chapters.ch03_heads import heads_explorer
from course_lib.chapters.ch03_heads import heads_widget as heads
from course_lib.chapters.ch03_heads.head_task_model import ERRANDS, WORDS, look, right_words, trained

SENTENCE = "one seven twenty six"  # the third word is the longest


@pytest.fixture
def widget():
    return heads_explorer()


def test_four_heads_run_four_errands_and_fewer_run_fewer() -> None:
    words = "the quick brown fox jumps over lazy dogs".split()
    brought = {n: look(n, words)[1].sum().item() for n in heads.HEADS}
    assert brought[1] < 1.4 and brought[2] < 2.4
    assert brought[1] < brought[2] < brought[3] < brought[4]
    assert brought[4] > 3.8
    assert brought[2] < brought[8] < brought[4]  # heads of three numbers are too narrow for contents of six


def test_the_right_words_by_hand() -> None:
    before, after, first, longest = right_words(torch.tensor([3.0, 5.0, 5.0, 1.0]))
    assert before.tolist() == [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    assert after.tolist() == [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1]]
    assert first.tolist() == [[1, 0, 0, 0]] * 4
    assert longest.tolist() == [[0, 0.5, 0.5, 0]] * 4


def test_what_is_to_be_fetched_is_the_content_of_the_right_words() -> None:
    contents, lengths = (
        torch.randn(2, 5, errands.CONTENT),
        torch.tensor([[1.0, 2, 9, 4, 5], [7.0, 2, 3, 4, 5]]),
    )
    before, after, first, longest = errands.fetched(contents, lengths).chunk(4, dim=-1)
    assert torch.equal(before[:, 1:], contents[:, :-1]) and torch.equal(before[:, 0], contents[:, 0])
    assert torch.equal(after[:, :-1], contents[:, 1:]) and torch.equal(after[:, -1], contents[:, -1])
    assert torch.equal(first, contents[:, :1].expand(-1, 5, -1))
    assert torch.equal(longest[:, 3], torch.stack([contents[0, 2], contents[1, 0]]))


def test_the_same_word_has_the_same_content_whatever_its_capitals() -> None:
    assert torch.equal(errands.content("Cat"), errands.content("cat"))
    assert not torch.equal(errands.content("cat"), errands.content("cats"))


def test_training_leaves_the_random_numbers_of_others_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    layer = errands.train(2)
    assert torch.equal(torch.rand(3), expected)
    assert not any(p.requires_grad for model in (layer, trained(2)) for p in model.parameters())


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(ValueError, match=f"heads=5 .* d_model={errands.D_MODEL}"):
        trained(5)


def test_the_text_says_what_each_head_looks_at(widget) -> None:
    widget.controls["sentence"].value = SENTENCE
    text = widget.line
    for n, errand in enumerate(ERRANDS):
        assert f"attends to {errand} (" in text, n
        assert f"{errand} 9" in text or f"{errand} 100%" in text
    assert "4 heads of width 6: head 1 attends to " in text
    widget.controls["heads"].value = 1
    assert "1 head of width 24: head 1 " in widget.line


def test_a_head_on_target_is_named_and_a_mixed_one_is_not() -> None:
    lengths = [3, 5, 4, 1]
    right = right_words(torch.tensor(lengths).float())
    name, share = heads.habit(0.9 * right[1] + 0.1 * right[3], lengths)
    assert name == "the word after"
    assert share == pytest.approx(0.925)  # word 1 is right for one query by chance
    assert heads.habit(torch.full((4, 4), 0.25), lengths) == ("mixed", 0.25)
    text = heads.in_words([("mixed", 0.3), ("the first word", 0.8)], torch.tensor([0.0, 0.5, 1.0, 0.125]))
    assert text.startswith(
        "2 heads of width 12: head 1 attends to several words; head 2 attends to the first word (0.80)."
    )
    assert text.endswith("the word before 0%, the word after 50%, the first word 100%, the longest word 12%.")


@pytest.mark.parametrize("n", heads.HEADS)
def test_there_is_a_map_for_each_head(widget, n: int) -> None:
    widget.controls["heads"].value = n
    maps, brought = look(n, heads.SENTENCE.split())
    assert torch.allclose(maps.sum(dim=-1), torch.ones(maps.shape[:2]), atol=1e-5)
    assert brought.shape == (len(ERRANDS),) and (brought >= 0).all() and (brought <= 1).all()
    shown = widget.maps.heatmaps
    assert [one.title[:2] for one in shown] == [f"{i + 1}:" for i in range(n)]
    assert all(np.allclose(one.weights, part) for one, part in zip(shown, maps, strict=True))
    assert widget.maps.shared and len(widget.maps.widths) == (n if n <= 3 else n // 2)


@pytest.mark.parametrize("n", heads.HEADS)
def test_panels_lie_inside_the_picture_and_apart(widget, n: int) -> None:
    widget.controls["heads"].value = n
    widget.controls["sentence"].value = " ".join(["wonderful"] * WORDS)
    boxes = [axes.get_position() for axes in widget.figure.axes]
    assert len(boxes) == n
    for i, box in enumerate(boxes):
        assert 0 < box.x0 < box.x1 < 1 and 0 < box.y0 < box.y1 < 1
        assert not any(box.overlaps(other) for other in boxes[:i])
    renderer = widget.canvas.agg.get_renderer()
    for text in widget.figure.findobj(Text):
        if text.get_text():
            box = text.get_window_extent(renderer)
            assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= widget.figure.bbox.x1, text.get_text()


def test_a_selected_word_is_followed_through_all_heads(widget) -> None:
    widget.controls["sentence"].value = SENTENCE
    widget.maps.select(row=3, map=1)
    weights, keys = look(4, SENTENCE.split())[0][:, 3].max(dim=-1)
    for head, (weight, key) in enumerate(zip(weights.tolist(), keys.tolist(), strict=True), start=1):
        assert f"head {head} to {SENTENCE.split()[key]} ({weight:.2f})" in widget.line
    widget.controls["sentence"].value = "one two"  # has no fourth word
    assert "Largest weights" not in widget.line


@pytest.mark.parametrize("typed", ["", "  ", "one"])
def test_too_few_words_get_the_reason(widget, typed: str) -> None:
    widget.controls["sentence"].value = typed
    assert f"{len(typed.split())} word" in widget.line and "type at least two" in widget.line
    widget.controls["sentence"].value = SENTENCE
    assert "head 4" in widget.line


def test_markup_formulas_and_other_scripts_are_read_as_words(widget) -> None:
    for typed in ("<b>one</b> & two", "$one$ _ ^ \\frac", "чай 茶", "one\ntwo"):
        before = widget.image.value
        widget.controls["sentence"].value = typed
        assert widget.image.value != before and "head 4 attends to " in widget.line
        assert widget.maps.heatmaps[0].rows == typed.split()


def test_of_a_long_sentence_the_first_words_are_read(widget) -> None:
    words = [f"w{i}" for i in range(WORDS + 3)]
    widget.controls["sentence"].value = " ".join(words[:WORDS])
    short = widget.image.value
    assert "Only" not in widget.line
    widget.controls["sentence"].value = " ".join(words)
    assert f"Only the first {WORDS} of {WORDS + 3} words are used." in widget.line
    assert widget.image.value == short
