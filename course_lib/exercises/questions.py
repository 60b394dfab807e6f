"""Multiple-choice questions, written in Markdown beside the exercises of a chapter: five for each chapter.

    Recall: 01.2, 02.4, 03.1              questions of earlier chapters that this one builds on

    # In writing                          what a written answer to the chapter's question should mention
    - the residual stream

    # 1. Which numbers share one mean in LayerNorm?
    - [x] the features of one token
      One sentence: why it is right.
    - [ ] one feature, over the whole batch
      *confusing LayerNorm with BatchNorm* One sentence of feedback.

The words between asterisks name the misconception: `*05.pre_norm: your code has no norm*` is the mistake
that the exercise calls so. The questions are printed as Markdown, so they need no widget. Answers are saved
for `progress`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from course_lib.utils.chapters import CHAPTER
from course_lib.utils.progress import entries, remember

FOLDER = Path(__file__).parents[1] / "chapters"
ITEM = re.compile(r"(?m)^- (.+)\n?((?:  .+\n?)*)")
LETTERS, FEWEST_WORDS = "abcd", 8


class Text(str):
    """Markdown, which a notebook shows as such, and anything else as it is."""

    __repr__ = str.__str__

    def _repr_markdown_(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Option:
    """Option of a question. why: one sentence. mistake: its misconception; "" for the right option."""

    text: str
    why: str
    mistake: str = ""


@dataclass(frozen=True)
class Question:
    """Multiple-choice question. id: chapter and number, such as "05.1". options: one of them is right."""

    id: str
    text: str
    options: tuple[Option, ...]

    @property
    def right(self) -> str:
        """The letter of the right option."""
        return next(letter for letter, one in zip(LETTERS, self.options, strict=True) if not one.mistake)


@dataclass
class Quiz:
    """Questions of a chapter. recall: ids of earlier ones. points: what a written answer should mention."""

    recall: list[str] = field(default_factory=list)
    points: list[str] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)


def recall(chapter: str, answers: object = None) -> Text:
    """Three closed-book questions from earlier chapters or, given the answers, what is right about them.

    answers: three letters, such as "bca"; with `...`, those that were saved on an earlier day, if any.
    Raises ValueError for a chapter without such questions.

    >>> recall("05", ...)
    Not answered yet. Replace the ... with three letters in quotes, one for each question.
    """
    asked = [find_question(one) for one in read(chapter).recall]
    if not asked:
        raise ValueError(f"chapter {chapter} asks no questions from earlier chapters")
    if answers is None:
        return _asked(asked)
    saved = "".join(_saved(question.id) for question in asked)
    if answers is ... and len(saved) == len(asked):
        return Text(f'Your saved answers: "{saved}".\n\n{_marked(asked, saved)}')
    return _marked(asked, answers)


def my_prediction(chapter: str, answer: object = ...) -> Text:
    """Save what you predict before a chapter begins; `conclude` shows it again at the end.

    answer: a number or a text; with `...`, what was saved is shown. Raises ValueError for an unknown chapter.

    >>> my_prediction("05", ...)
    Not predicted yet. Replace the ... with the number of your answer, or with words in quotes.
    """
    file_of(chapter)
    key = f"{chapter}.prediction"
    given = "" if answer is ... or answer is None else str(answer).strip()
    if given:
        remember(key, "predicted", given)
    if saved := _saved(key):
        return Text(f"{'Saved' if given else 'Your saved prediction'}: {saved}")
    return Text("Not predicted yet. Replace the ... with the number of your answer, or with words in quotes.")


def quiz(chapter: str, answers: object = None) -> Text:
    """The five questions of a chapter or, given the answers (letters), what is right about them.

    >>> "LayerNorm" in quiz("05")
    True
    """
    questions = read(chapter).questions
    return _asked(questions) if answers is None else _marked(questions, answers)


def conclude(chapter: str, text: object) -> Text:
    """What to compare a written answer to the chapter's question with, once there is one.

    text: two or three sentences. Nobody grades them. What was predicted and, without a text, what was
    written on an earlier day are shown as well. Raises ValueError for a chapter without a question.

    >>> conclude("05", "")
    Not written yet. Answer in two or three sentences between the quotes, and run the cell.
    """
    points = read(chapter).points
    if not points:
        raise ValueError(f"chapter {chapter} has no question to answer in writing")
    key = f"{chapter}.conclusion"
    words = len(text.split()) if isinstance(text, str) else 0
    earlier = "" if words else _saved(key)
    if words < FEWEST_WORDS and not earlier:
        said = f"Only {words} words so far. " if words else "Not written yet. "
        return Text(f"{said}Answer in two or three sentences between the quotes, and run the cell.")
    if words:
        remember(key, "written", str(text).strip())
    head = "Which of these does your answer mention? Check it against each, then open our answer below."
    parts = [head, "\n".join(f"- {point}" for point in points)]
    parts[:0] = [f"Your saved answer:\n\n{_quoted(earlier)}"] if earlier else []
    if predicted := _saved(f"{chapter}.prediction"):
        parts.append(f"At the start, you predicted:\n\n{_quoted(predicted)}")
    return Text("\n\n".join(parts))


def find_question(question_id: str) -> Question:
    """The question with this id, such as "05.1". Raises ValueError if there is none."""
    for question in read(question_id.partition(".")[0]).questions:
        if question.id == question_id:
            return question
    raise ValueError(f"no question {question_id!r}; a chapter has five, such as 05.1")


def file_of(chapter: str) -> Path:
    """The file of a chapter's questions. Raises ValueError if the chapter has none."""
    found = list(FOLDER.glob(f"ch*/{chapter}_questions.md")) if re.fullmatch(CHAPTER, str(chapter)) else []
    if not found:
        raise ValueError(f"no questions for chapter {chapter!r}; chapters are written as 05, 05b or A1")
    return found[0]


@cache
def read(chapter: str) -> Quiz:
    """The questions of a chapter. Raises ValueError, naming the line, for what is none."""
    return parse(chapter, file_of(chapter).read_text(encoding="utf-8"))


def parse(chapter: str, text: str) -> Quiz:
    """The questions in a text of the form above. Raises ValueError, naming the place, for what is none.

    >>> (one,) = parse("01", "# 1. 1 + 1?\\n- [x] 2\\n  Yes.\\n- [ ] 3\\n  *adding twice* Once.").questions
    >>> one.right
    'a'
    """
    head, *parts = re.split(r"(?m)^# (.+)\n", text)
    found = Quiz(recall=re.findall(CHAPTER + r"\.\d", head))
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        place = f"chapter {chapter}, {title!r}: "
        if rest := ITEM.sub("", body).strip():
            raise ValueError(f"{place}neither an option nor its feedback: {rest.splitlines()[0]}")
        items = ITEM.findall(body)
        if title == "In writing":
            found.points += [" ".join(f"{first} {rest}".split()) for first, rest in items]
            continue
        options = tuple(_option(place, *item) for item in items)
        if sum(not option.mistake for option in options) != 1:
            raise ValueError(f"{place}a question has one right option, - [x]")
        number, _, question = title.partition(". ")
        found.questions.append(Question(f"{chapter}.{number}", question, options))
    return found


def _option(place: str, item: str, feedback: str) -> Option:
    mark, text = item[:4], item[4:]
    mistake, why = re.fullmatch(r"(?:\*([^*]+)\* )?(.*)", " ".join(feedback.split())).groups(default="")
    if mark not in ("[x] ", "[ ] ") or (mark == "[x] ") == bool(mistake) or not why:
        raise ValueError(
            f"{place}below `- [ ] {text}` belongs `*its mistake* why`; below `- [x] {text}`, why"
        )
    return Option(text, why, mistake)


def _saved(key: str) -> str:
    """A saved answer; empty if there is none."""
    return entries().get(key, {"answer": ""})["answer"].strip()


def _quoted(text: str) -> str:
    """A student's text as a quotation in Markdown, line by line."""
    return "  \n".join(f"> {line}" for line in text.splitlines())


def _asked(questions: Iterable[Question]) -> Text:
    parts = []
    for number, question in enumerate(questions, start=1):
        options = zip(LETTERS, question.options, strict=True)
        listed = "\n".join(f"- **{letter}** {option.text}" for letter, option in options)
        parts.append(f"**{number}.** {question.text}\n\n{listed}")
    return Text("\n\n".join(parts))


def _marked(questions: list[Question], answers: object) -> Text:
    given = re.sub(r"[\s,;.]", "", answers).lower() if isinstance(answers, str) else ""
    count = {3: "three", 5: "five"}.get(len(questions), str(len(questions)))
    if not given:
        return Text(
            f"Not answered yet. Replace the ... with {count} letters in quotes, one for each question."
        )
    if len(given) != len(questions) or set(given) - set(LETTERS):
        return Text(f"{answers!r} is not {count} letters from a to d, one for each question.")
    for letter, question in zip(given, questions, strict=True):
        remember(question.id, "right" if letter == question.right else "wrong", letter)
    lines = [_feedback(*one) for one in zip(range(1, 10), given, questions, strict=False)]
    return Text("\n".join(f"- {line}" for line in lines))


def _feedback(number: int, letter: str, question: Question) -> str:
    option = question.options[LETTERS.index(letter)]
    if not option.mistake:
        return f"**{number}.** {letter} is right. {option.why}"
    exercise, colon, name = option.mistake.partition(": ")
    known = colon and re.match(CHAPTER, exercise)
    named = f"“{name}” (exercise {exercise})" if known else option.mistake
    where = question.id.partition(".")[0].removeprefix("0")
    return f"**{number}.** {letter} is not right (chapter {where}). The mistake: {named}. {option.why}"
