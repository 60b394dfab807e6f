"""The BLEU bench: its numbers are those of `course_lib.text.bleu`, and every n-gram has its mark."""

import html
import re

import pytest

from course_lib.chapters.ch06_translation import bleu_explorer
from course_lib.chapters.ch06_translation import bleu_widget as bench
from course_lib.chapters.ch06_translation.bleu_widget import (
    CLIPPED,
    COUNTED,
    EXAMPLES,
    LONGEST,
    REFERENCE,
    UNMATCHED,
)
from course_lib.text.bleu import corpus_bleu


@pytest.fixture
def explorer():
    return bleu_explorer()


def set_to(explorer, **values: str | int) -> None:
    for name, value in values.items():
        explorer.controls[name].value = value


def rows_of(explorer) -> list[list[str]]:
    """Each listed n-gram with how many of it are counted, and how many there are."""
    listed = explorer.text.value.split("counted:")[1]
    pairs = re.findall(r">([^<]*)</span><span[^>]*> (\d+) of (\d+)</span>", listed)
    return [[html.unescape(words), counted, many] for words, counted, many in pairs]


def test_the_text_and_the_bars_are_bleu(explorer) -> None:
    for example, candidate in EXAMPLES.items():
        set_to(explorer, example=example)
        assert explorer.controls["candidate"].value == candidate
        for n in (1, 3, 4):
            set_to(explorer, n=n)
            right = corpus_bleu([candidate.split()], [REFERENCE.split()], max_n=n)
            assert f"BLEU with n-grams of up to {bench.size(n)}: {right.score:.1f}" in explorer.line
            mean, penalty, product = (bar.get_width() for bar in explorer.figure.axes[1].patches)
            assert penalty == pytest.approx(right.brevity_penalty)
            assert mean * penalty == pytest.approx(product) == pytest.approx(right.score / 100)
    assert "no penalty" in explorer.line
    set_to(explorer, example=next(iter(EXAMPLES)), n=3)
    texts = [text.get_text() for text in explorer.figure.axes[0].texts]
    assert texts[3] == "not used" and texts[0] == "5 of 8 = 0.62"


def test_a_short_candidate_pays_and_a_frequent_word_is_clipped(explorer) -> None:
    set_to(explorer, n=1)
    assert "Clipped n-grams of 1 word: 3," in explorer.line
    assert rows_of(explorer)[:2] == [["the", "2", "3"], ["cat", "1", "3"]]
    set_to(explorer, n=2)
    assert rows_of(explorer)[0] == ["the cat", "1", "3"]
    set_to(explorer, example="too short")
    assert "4 words against 7, brevity penalty 0.47" in explorer.line


@pytest.mark.parametrize(
    ("n", "kinds"),
    [
        (1, (COUNTED, COUNTED, CLIPPED, UNMATCHED)),
        (2, (COUNTED, COUNTED, UNMATCHED, UNMATCHED)),  # "the cat" matches, "cat the" and "the naps" do not
        (4, (UNMATCHED,) * 4),
    ],
)
def test_each_word_has_its_best_mark_without_colour_too(explorer, n: int, kinds: tuple[str]) -> None:
    set_to(explorer, candidate="the cat the naps", reference="the cat sleeps", n=n)
    line = next(part for part in explorer.text.value.split("<div") if "Candidate:" in part)
    marks = re.findall(r'<span style="([^"]*)">([^<]*)</span>', line)[1:]
    assert marks == [
        (bench.LOOKS[kind], word) for kind, word in zip(kinds, ("the", "cat", "the", "naps"), strict=True)
    ]
    looks = bench.LOOKS.values()
    assert len({re.sub(r"(background|color): #\w+(; )?", "", look) for look in looks}) == 3
    assert bench.BARS[CLIPPED][1] and bench.BARS[UNMATCHED][0] == "white"


def test_repeating_a_word_helps_only_if_the_reference_has_it_more_often() -> None:
    """The answer in chapter 6."""

    def bleu(candidate: str, reference: str) -> float:
        return corpus_bleu([candidate.split()], [reference.split()]).score

    whole, good = "the cat sat on the mat", "she reads a very good book"
    assert bleu("the cat sat on the a mat", whole) > bleu("the cat sat on a mat", whole) + 5
    assert bleu("she reads a very old book book", good) < bleu("she reads a very old book", good)


def test_it_opens_with_the_given_length_if_the_slider_has_it() -> None:
    assert "BLEU with n-grams of up to 4 words" in bleu_explorer(longest=4).line
    for longest in (0, LONGEST + 1):
        with pytest.raises(ValueError, match=f"longest={longest} .* 1 to {LONGEST}"):
            bleu_explorer(longest=longest)


@pytest.mark.parametrize(("candidate", "reference"), [("", "a b"), ("a b", ""), ("  ", " ")])
def test_without_words_it_asks_for_them(explorer, candidate: str, reference: str) -> None:
    set_to(explorer, candidate=candidate, reference=reference)
    assert "Type a candidate and a reference" in explorer.line


def test_of_a_long_sentence_the_first_words_are_read_and_marks_are_words(explorer) -> None:
    set_to(explorer, candidate=" ".join(f"w{i}" for i in range(bench.WORDS + 1)))
    assert f"first {bench.WORDS} words" in explorer.line
    assert len(rows_of(explorer)) == bench.SHOWN
    assert bench.words_of("Yes, it's 2 €.") == ["Yes", ",", "it", "'", "s", "2", "€", "."]
