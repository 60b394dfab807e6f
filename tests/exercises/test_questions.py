"""Multiple-choice questions: what a file means, and that those of the chapters are sound."""

import re
from collections import Counter

import pytest

from course_lib.exercises import answers, catalogue, chapters, conclude, my_prediction, quiz, recall
from course_lib.exercises.questions import LETTERS, find_question, parse, read
from course_lib.utils import progress

CHAPTERS = chapters()
EXERCISES = catalogue()
QUESTIONS = [question for chapter in CHAPTERS for question in read(chapter).questions]
FILE = """Recall: 00.1, 00.2

# In writing
- a norm,
  and a sum

# 1. One and one?
- [ ] 3
  *adding 1 twice* Add it
  once.
- [x] 2
  Right.
"""


@pytest.fixture(autouse=True)
def new_session(monkeypatch) -> None:
    """Nothing is saved yet, and nothing that a test saves remains."""
    monkeypatch.setattr(progress, "_session", {})


def test_a_file_becomes_questions() -> None:
    found = parse("01", FILE)
    (question,) = found.questions
    assert (found.recall, found.points) == (["00.1", "00.2"], ["a norm, and a sum"])
    assert (question.id, question.text, question.right) == ("01.1", "One and one?", "b")
    wrong = question.options[0]
    assert (wrong.text, wrong.mistake, wrong.why) == ("3", "adding 1 twice", "Add it once.")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("- [x] 2\n  Right.", "- [ ] 2\n  *none* None.", "One and one?': a question has one right"),
        ("*adding 1 twice* ", "", "below `- [ ] 3`"),
        ("  Right.", "  *both* Right.", "below `- [x] 2`"),
        ("  Right.", "", "below `- [x] 2`"),
        ("  Right.", "Right.", "neither an option nor its feedback: Right."),
    ],
)
def test_a_wrong_file_is_refused(old: str, new: str, said: str) -> None:
    assert old in FILE
    with pytest.raises(ValueError, match="chapter 01") as error:
        parse("01", FILE.replace(old, new))
    assert said in str(error.value)


def test_answers_are_marked_one_by_one() -> None:
    right = "".join(question.right for question in read("05").questions)
    wrong = "".join("b" if letter == "a" else "a" for letter in right)
    assert quiz("05", right).count(" is right.") == quiz("05", right.upper()).count("\n") + 1 == 5
    marked = quiz("05", ", ".join(wrong)).splitlines()
    for line, letter, question in zip(marked, wrong, read("05").questions, strict=True):
        option = question.options[LETTERS.index(letter)]
        assert f"{letter} is not right (chapter 5)" in line and option.why in line
        assert option.mistake.split(": ")[-1] in line


@pytest.mark.parametrize(("answers", "said"), [(..., "Not answered"), ("ab", "five"), ("abcde", "a to d")])
def test_what_is_no_answer_is_said(answers: object, said: str) -> None:
    assert said in quiz("05", answers)


def test_a_conclusion_needs_words_and_then_shows_the_points() -> None:
    points = read("05").points
    assert points and not any(point in conclude("05", text) for point in points for text in (..., "", "Yes."))
    written = conclude("05", "A block needs skip connections, norms and two sublayers.")
    assert all(point in written for point in points)


@pytest.mark.parametrize(
    "asked", [lambda: recall("99"), lambda: my_prediction(5, 1), lambda: find_question("05.9")]
)
def test_what_does_not_exist_is_refused(asked) -> None:
    with pytest.raises(ValueError, match=r"99|chapter 5;|05\.9"):
        asked()


# ---- the questions of the chapters


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_has_five_questions_of_four_options_and_points(chapter: str) -> None:
    found = read(chapter)
    assert [question.id for question in found.questions] == [f"{chapter}.{i}" for i in range(1, 6)]
    assert len(found.points) >= 2
    for question in found.questions:
        assert len({option.text for option in question.options}) == len(question.options) == 4
        assert len({option.mistake for option in question.options}) == 4


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_recall_asks_three_questions_of_earlier_chapters(chapter: str) -> None:
    asked = read(chapter).recall
    assert len(set(asked)) == len(asked) == (0 if chapter == "00" else 3)
    assert all(one.partition(".")[0] < chapter and find_question(one) for one in asked)


def test_the_right_answers_are_spread_over_the_letters() -> None:
    counts = Counter(question.right for question in QUESTIONS)
    assert min(counts[letter] for letter in LETTERS) > 0.15 * len(QUESTIONS)
    together = ["".join(question.right for question in read(chapter).questions) for chapter in CHAPTERS]
    assert all(len(set(letters)) >= 3 for letters in together)


def test_the_right_option_is_not_always_the_longest() -> None:
    longest = [max(question.options, key=lambda one: len(one.text)) for question in QUESTIONS]
    assert sum(not option.mistake for option in longest) < 0.3 * len(QUESTIONS)  # chance: a quarter


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_mistake_that_names_an_exercise_is_known_there(chapter: str) -> None:
    options = [option for question in read(chapter).questions for option in question.options]
    named = [one.mistake.split(": ", 1) for one in options if re.match(r"\w+\.\w+: ", one.mistake)]
    assert named
    for key, name in named:
        assert key.partition(".")[0] <= chapter  # a student has met it
        assert name in [mistake.name for mistake in EXERCISES[key].mistakes], (key, name)


def test_answers_and_conclusions_count_as_progress_and_return_the_next_day(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path))
    first, *others = (question.right for question in read("05").questions)
    quiz("05", first + "".join("b" if letter == "a" else "a" for letter in others))
    recall("05", "abc")
    assert "Not predicted yet" in my_prediction("05", ...)
    my_prediction("05", 3)
    assert "> 3" in conclude("05", "nine words are enough for an answer in writing")
    monkeypatch.setattr(progress, "_session", {})  # a new kernel
    found = progress.entries()
    assert found["05.1"] == {"state": "right", "answer": first} and found["05.2"]["state"] == "wrong"
    line = progress.answered()
    assert "of 8 answered right" in line and "predictions: 1" in line and "written answers: 1" in line
    assert '"abc"' in recall("05", ...) and "saved prediction: 3" in my_prediction("05", ...)
    again = conclude("05", "")
    assert "> nine words" in again and "> 3" in again and all(point in again for point in read("05").points)
    assert "Only 2 words" in conclude("05", "too short") and "> nine" in conclude("05", "")
    shown = answers("05")
    assert "05.prediction (predicted)\n3" in shown and "nine words" in shown


@pytest.mark.parametrize("which", ["05b", "05.conclusion", "05.2"])
def test_that_nothing_is_saved_is_said(which: str) -> None:
    with pytest.raises(ValueError, match=f"nothing is saved of {which} yet"):
        answers(which)
