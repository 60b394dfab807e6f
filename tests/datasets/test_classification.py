"""Labeled sentences: splits, files, and the built-in reviews; offline."""

import pytest
import torch

from course_lib import datasets
from course_lib.datasets import BrokenArchive, LabelledData, LabelledSplit, check_labels, load_labelled
from course_lib.datasets.classification import split_by_words, words_of
from course_lib.datasets.grammar import reviews
from course_lib.datasets.splits import normalize

FILES = {
    "train": b"a fine film\t1\nnot funny\t0\nLong , dull\t0\ntwice\t1\ntwice\t1",
    "dev": b"long dull\t0\nso funny\t1\n",
    "test": b"a dreadful film\t0\nfine\t1\n",
}
pytestmark = pytest.mark.usefixtures("cache")


def test_the_files_are_downloaded_and_read(small) -> None:
    small("sst2", FILES)
    data = load_labelled("sst2")
    assert list(data.test) == [("a dreadful film", 0), ("fine", 1)]
    assert data.validation.sentences == ["long dull", "so funny"] and data.classes == ("negative", "positive")
    # "Long , dull" is the sentence "long dull" of the validation set, but for its marks
    assert list(data.train) == [("a fine film", 1), ("not funny", 0), ("twice", 1), ("twice", 1)]
    assert datasets.find_set("sst2").check(*datasets.locate_files("sst2")) == "SHA-256 of each of its 3 files"


@pytest.mark.parametrize(
    "line", [b"no label\n", b"one\t2\n", b"one\tgood\n", b" \t1\n", b"one\t1\tmore\n", b"one\t1\n\n"]
)
def test_a_line_of_another_form_is_named(line: bytes, small) -> None:
    small("sst2", {**FILES, "test": FILES["test"] + line})
    with pytest.raises(BrokenArchive, match=r"sst2/test\.tsv, line [34] is not a sentence.*labels 0, 1"):
        load_labelled("sst2")


@pytest.mark.parametrize(("labels", "found"), [([0, 3, 5], "0 to 5"), ([4, -1, 2], "-1 to 4")])
@pytest.mark.parametrize("kind", [list, torch.tensor])
def test_labels_without_a_class_are_refused(labels, found, kind) -> None:
    with pytest.raises(ValueError, match=f"^labels run from {found}, but classes=5 takes 0 to 4"):
        check_labels(kind(labels), 5)
    check_labels(kind([0, 4]), 5)


def test_sentences_and_labels_belong_together() -> None:
    with pytest.raises(ValueError, match="2 sentences and 1 labels"):
        LabelledSplit(["a", "b"], [1])
    with pytest.raises(ValueError, match="0 sentences and 0 labels"):
        LabelledSplit([], [])
    some, other = LabelledSplit(["a", "b", "c"], [1, 0, 1]), LabelledSplit(["d"], [2])
    assert len(some) == 3 and some[1:].sentences == ["b", "c"] and some[1:].labels == [0, 1]
    with pytest.raises(ValueError, match="x: labels run from 2 to 2, but classes=2 takes 0 to 1"):
        LabelledData(name="x", classes=("n", "p"), train=some, validation=some, test=other)


# ---- splits


def test_the_same_words_are_on_one_side() -> None:
    data = load_labelled()
    parts = (data.train, data.validation, data.test)
    assert [len(part) for part in parts] == [9200, 1000, 2000]
    words = [set(map(words_of, part.sentences)) for part in parts]
    assert not words[0] & words[1] and not words[0] & words[2] and not words[1] & words[2]
    assert all(0.45 < sum(part.labels) / len(part) < 0.55 for part in parts)
    assert data == load_labelled("reviews")


def test_groups_go_whole_where_there_is_room() -> None:
    some = [(f"{first} {second} x{n}", 0) for n in range(20) for first, second in (("a", "b"), ("b", "a"))]
    train, validation, test = split_by_words(some, validation=5, test=7)
    assert (len(train), len(validation), len(test)) == (30, 4, 6)  # pairs: none is torn apart
    assert sorted(train + validation + test) == sorted(some)
    assert split_by_words(some[::-1], 5, 7)[2] != [] and {*split_by_words(some[::-1], 5, 7)[2]} == {*test}
    with pytest.raises(ValueError, match="12 sentences are too few for validation=5 and test=7"):
        split_by_words(some[:12], 5, 7)


# ---- reviews


def test_the_opinions_are_distinct_and_balanced() -> None:
    some = reviews.reviews()
    assert len(some) == sum(reviews.WANTED.values()) == 12_200
    assert len({normalize(sentence) for sentence, _ in some}) == len(some)
    assert 0.48 < sum(label for _, label in some) / len(some) < 0.52
    assert max(len(sentence.split()) for sentence, _ in some) <= 16
    assert all(sentence[0].isupper() and sentence.endswith(".") for sentence, _ in some)


def test_every_plain_opinion_follows_the_rule() -> None:
    good = {word for _, positive in reviews.QUALITIES.values() for word in positive.split()}
    bad = {word for negative, _ in reviews.QUALITIES.values() for word in negative.split()}
    assert not good & bad
    checked = 0
    for sentence, label in reviews.reviews():
        words = sentence.lower().rstrip(".")
        if words.startswith("the ") and "," not in words and words.split()[-1] in good | bad:
            denied = any(f" {no} " in words for no in reviews.NEGATIONS)
            assert label == (words.split()[-1] in good) ^ denied, sentence
            checked += 1
    assert checked >= 1000


def test_the_same_words_may_say_the_opposite() -> None:
    """So no bag-of-words model can be right about all of them."""
    labels: dict[str, set[int]] = {}
    for sentence, label in reviews.reviews():
        labels.setdefault(words_of(sentence), set()).add(label)
    assert sum(len(both) == 2 for both in labels.values()) > 100


def test_a_sentence_with_both_labels_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(reviews, "WANTED", {lambda dice, verdict: "the same": 5})
    monkeypatch.setattr(reviews, "_reviews", reviews._reviews.__wrapped__)
    for pattern in reviews.WANTED:
        pattern.__name__ = "same"
    with pytest.raises(ValueError, match="'The same.' is both 1 and 0"):
        reviews.reviews()
