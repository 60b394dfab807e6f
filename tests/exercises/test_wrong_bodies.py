"""Functions that learners wrote wrong (wrong_bodies.txt): none passes, and most are told what is wrong.

What a message says is looked at for every fourth: the search for a change that makes an answer right is slow.
An answer that has the name of a known mistake is told that it is this one.
"""

import inspect
import re
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path

import pytest
from helpers.solutions import NOTEBOOKS, asked, room_of, written

from course_lib.exercises import Verdict, catalogue, checking, grade

EXERCISES = catalogue()
KNOWN = {name: {mistake.name for mistake in exercise.mistakes} for name, exercise in EXERCISES.items()}
NAMED, SAMPLE = 0.87, 4  # of every fourth; the others get only the smallest counterexample
# What a message without a known mistake can say, beyond the counterexample.
SAID = (
    ".item()", "is close", "is of type", "has dtype", "has type", "returns None", "in place",
    "no gradient can flow", "contains NaN", "written **", "add `import", "packed together",
    "Your function would be right", "Each row", "Each column", "Called twice", "never uses",
    "It works on", "Wherever your list", "On every input, your", "Axis ",
)  # fmt: skip
# Of True and False: where is not said.
TOO_VAGUE = "On every input, your answer is {} where it should be, but also in other places."


def answers() -> list[tuple[str, str, str]]:
    """The exercise, what is wrong, and the body of the function."""
    text = Path(__file__).with_name("wrong_bodies.txt").read_text(encoding="utf-8")
    return re.findall(r"^## (\S+): (.*)\n((?:(?!## ).*\n)*)", text, re.MULTILINE)


@cache
def sample() -> list[tuple[str, str]]:
    """Every fourth of the answers whose mistake has no name."""
    return [(name, wrong) for name, wrong, _ in answers() if wrong not in KNOWN[name]][::SAMPLE]


@cache
def verdicts() -> dict[tuple[str, str], Verdict]:
    """Of all answers; only those in the sample are searched for a change that makes them right."""
    found = {}
    for notebook in NOTEBOOKS:
        here = {name for name, _, _ in asked(notebook)}
        with redirect_stdout(StringIO()), room_of(notebook) as room, pytest.MonkeyPatch.context() as patch:
            for name, wrong, body in answers():
                if name in here:
                    patch.undo()
                    if (name, wrong) not in sample():
                        patch.setattr(checking, "repaired", lambda *_: None)
                    found[name, wrong] = graded(name, body, dict(room))
    return found


def graded(name: str, body: str, room: dict) -> Verdict:
    exercise = EXERCISES[name]
    parameters = list(inspect.signature(exercise.reference).parameters)[: len(exercise.inputs[0])]
    answer = written(", ".join(parameters), body, room)
    return grade(exercise, answer() if exercise.inputs == ((),) else answer)


def is_named(verdict: Verdict) -> bool:
    text = verdict.text.replace("\n", " ")
    for state in (True, False):
        text = text.replace(TOO_VAGUE.format(state), "")
    return verdict.state == "mistake" or any(one in text for one in SAID)


@pytest.mark.slow
def test_almost_every_exercise_has_wrong_answers_of_different_kinds() -> None:
    assert len({name for name, _, _ in answers()}) > 0.95 * len(EXERCISES)
    assert len(verdicts()) == len(answers()) >= 900


@pytest.mark.slow
def test_no_wrong_answer_passes_and_a_mistake_is_known_however_it_is_written() -> None:
    meant = [(name, wrong) for name, wrong, _ in answers() if "your " in wrong]
    assert [(name, wrong) for name, wrong in meant if wrong not in KNOWN[name]] == []  # a misspelled name
    assert [key for key, one in verdicts().items() if one.state not in ("mistake", "wrong")] == []
    named = [(wrong, one.mistake) for (name, wrong), one in verdicts().items() if wrong in KNOWN[name]]
    assert len(named) > 10 and [pair for pair in named if pair[0] != pair[1]] == []


@pytest.mark.slow
def test_most_wrong_answers_are_told_what_is_wrong() -> None:
    searched = [verdicts()[key] for key in sample()]
    assert sum(map(is_named, searched)) >= NAMED * len(searched)
