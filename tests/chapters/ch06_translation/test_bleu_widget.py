"""The BLEU bench: its numbers are those of `course_lib.text.bleu`, and every run has its mark."""

import html
import re

import pytest
from matplotlib.colors import to_rgb

from course_lib.chapters.ch06_translation import bleu_explorer
from course_lib.chapters.ch06_translation import bleu_widget as bleu_bench
from course_lib.chapters.ch06_translation.bleu_widget import (
    CLIPPED,
    COUNTED,
    EXAMPLES,
    LONGEST,
    REFERENCE,
    UNMATCHED,
    runs,
    words_of,
)
from course_lib.text.bleu import corpus_bleu, matches


@pytest.fixture
def explorer():
    return bleu_explorer()


def text_of(explorer) -> str:
    return html.unescape(explorer.text.value)


def rows_of(explorer) -> list[list[str]]:
    """Each listed n-gram with how many of it are counted, and how many there are."""
    listed = explorer.text.value.split("counted:")[1]
    pairs = re.findall(r">([^<]*)</span><span[^>]*> (\d+) of (\d+)</span>", listed)
    return [[html.unescape(words), counted, many] for words, counted, many in pairs]


def test_the_runs_by_hand() -> None:
    """Of a word that comes too often, the first occurrences are counted."""
    found = runs(["a", "b", "a", "b", "a", "c"], ["a", "b", "d", "a"], 1)
    assert [run.kind for run in found] == [COUNTED, COUNTED, COUNTED, CLIPPED, CLIPPED, UNMATCHED]
    found = runs(["a", "b", "a", "b", "a", "c"], ["a", "b", "d", "a"], 2)
    assert [run.kind for run in found] == [COUNTED, UNMATCHED, CLIPPED, UNMATCHED, UNMATCHED]
    assert runs(["a"], ["a", "b"], 2) == []


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("n", range(1, LONGEST + 1))
def test_as_many_are_counted_as_bleu_counts(example: str, n: int) -> None:
    candidate, reference = words_of(EXAMPLES[example]), words_of(REFERENCE)
    counted = sum(run.kind == COUNTED for run in runs(candidate, reference, n))
    assert counted == matches(candidate, reference, n)


def test_the_text_and_the_bars_are_bleu(explorer) -> None:
    for example, candidate in EXAMPLES.items():
        explorer.controls["example"].value = example
        assert explorer.controls["candidate"].value == candidate
        for n in (1, 3, 4):
            explorer.controls["n"].value = n
            right = corpus_bleu([candidate.split()], [REFERENCE.split()], max_n=n)
            assert f"BLEU with n-grams of up to {bleu_bench.size(n)}: {right.score:.1f}" in text_of(explorer)
            mean, penalty, product = (bar.get_width() for bar in explorer.figure.axes[1].patches)
            assert penalty == pytest.approx(right.brevity_penalty)
            assert mean * penalty == pytest.approx(product) == pytest.approx(right.score / 100)
    assert "no penalty" in text_of(explorer)


def test_a_short_candidate_pays_and_a_frequent_word_is_clipped(explorer) -> None:
    explorer.controls["n"].value = 1
    assert "Clipped n-grams of 1 word: 3," in text_of(explorer)
    assert rows_of(explorer)[:2] == [["the", "2", "3"], ["cat", "1", "3"]]
    explorer.controls["n"].value = 2
    assert rows_of(explorer)[0] == ["the cat", "1", "3"]
    explorer.controls["example"].value = "too short"
    assert "4 words against 7, brevity penalty 0.47" in text_of(explorer)


def test_each_word_is_marked_without_colour_too(explorer) -> None:
    explorer.controls["candidate"].value = "the the cat naps"
    explorer.controls["reference"].value = "the cat sleeps"
    explorer.controls["n"].value = 1
    line = next(part for part in explorer.text.value.split("<div") if "Candidate:" in part)
    marks = re.findall(r'<span style="([^"]*)">([^<]*)</span>', line)[1:]
    assert [word for _, word in marks] == ["the", "the", "cat", "naps"]
    for (style, _), kind in zip(marks, (COUNTED, CLIPPED, COUNTED, UNMATCHED), strict=True):
        assert style == bleu_bench.LOOKS[kind]
    looks = bleu_bench.LOOKS.values()
    assert len({re.sub(r"(background|color): #\w+(; )?", "", look) for look in looks}) == 3
    assert bleu_bench.BARS[CLIPPED][1] and bleu_bench.BARS[UNMATCHED][0] == "white"


def test_letters_stand_out_from_their_marks() -> None:
    def luminance(colour: str) -> float:
        channels = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), channels, strict=True))

    for look in bleu_bench.LOOKS.values():
        behind, letters = re.findall(r"(?:background|color): (#\w+)", look)
        assert (luminance(behind) + 0.05) / (luminance(letters) + 0.05) > 4.5


def test_it_opens_with_the_given_length() -> None:
    four = bleu_explorer(longest=4)
    assert four.controls["n"].value == 4
    assert "BLEU with n-grams of up to 4 words" in text_of(four)


def test_repeating_a_word_helps_only_if_the_reference_has_it_more_often() -> None:
    """The answer in chapter 6."""

    def bleu(candidate: str, reference: str) -> float:
        return corpus_bleu([candidate.split()], [reference.split()]).score

    whole, good = "the cat sat on the mat", "she reads a very good book"
    assert bleu("the cat sat on the a mat", whole) > bleu("the cat sat on a mat", whole) + 5
    assert bleu("she reads a very old book book", good) < bleu("she reads a very old book", good)


@pytest.mark.parametrize("longest", [0, LONGEST + 1])
def test_a_length_that_the_slider_lacks_is_refused(longest: int) -> None:
    with pytest.raises(ValueError, match=f"longest={longest} is outside 1 to {LONGEST}"):
        bleu_explorer(longest=longest)


def test_lengths_that_are_left_out_say_so(explorer) -> None:
    explorer.controls["n"].value = 3
    texts = [text.get_text() for text in explorer.figure.axes[0].texts]
    assert texts[3] == "not used" and texts[0] == "5 of 8 = 0.62"


@pytest.mark.parametrize(("candidate", "reference"), [("", "a b"), ("a b", ""), ("", ""), ("  ", " ")])
def test_without_words_it_asks_for_them(explorer, candidate: str, reference: str) -> None:
    explorer.controls["candidate"].value = candidate
    explorer.controls["reference"].value = reference
    assert "Type a candidate and a reference" in text_of(explorer)


def test_of_a_long_sentence_the_first_words_are_read(explorer) -> None:
    explorer.controls["candidate"].value = " ".join(f"w{i}" for i in range(bleu_bench.WORDS + 1))
    assert f"Only the first {bleu_bench.WORDS} words of a sentence are used." in text_of(explorer)
    assert len(rows_of(explorer)) == bleu_bench.SHOWN


def test_marks_are_words_of_their_own() -> None:
    assert words_of("Yes, it's 2 €.") == ["Yes", ",", "it", "'", "s", "2", "€", "."]
