"""Exercises as Markdown: what a file means, and what is said about one that is wrong."""

import re
from pathlib import Path

import pytest
import torch

from course_lib.exercises import grade
from course_lib.exercises.table import read_exercises

FILE = """
# Scaling

    HALF = 0.5

    def scaled(by):
        return lambda x, y: x * by

## 01.half

tolerance: 0.01
run: without("mean")
minutes: 7
now: You can halve: anything.

    def half(x, y=1):
        return x * HALF

Inputs:

    (torch.ones(2), 1),
    (numbered(2, 2), 1),

### your code doubles
Divide by 2,
do not multiply.

    return x / HALF
    # or
    z = x + x

    return z
    # or
    answer = scaled(2)

### your code scales by another number
Use 1/2.

    answers = [scaled(by) for by in (3, 4)]

# Values

## 01.number

    HALF + 3.5

### your answer forgets the half
Add it.

    3.5
    # or
    answers = [3, 2 + 1.25]
"""


@pytest.fixture
def written(tmp_path: Path):
    def write(text: str) -> Path:
        path = tmp_path / "01.md"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_file_becomes_exercises(written) -> None:
    half, number = read_exercises(written(FILE))
    assert (half.id, half.tolerance, len(half.inputs)) == ("01.half", 0.01, 2)
    assert (half.minutes, half.now, number.minutes) == (7, "You can halve: anything.", 0)
    assert [(m.name, m.why, len(m.wrong)) for m in half.mistakes] == [
        ("your code doubles", "Divide by 2, do not multiply.", 3),
        ("your code scales by another number", "Use 1/2.", 2),
    ]
    assert [float(wrong(torch.ones(1), 1)) for m in half.mistakes for wrong in m.wrong] == [2, 2, 2, 3, 4]
    assert grade(half, lambda x, y: x / 2).state == "passed"
    assert "does without mean" in grade(half, lambda x, y: x.mean()).text
    assert number.inputs == ((),) and number.reference() == 4.0  # a later section knows HALF, too
    assert [wrong() for wrong in number.mistakes[0].wrong] == [3.5, 3, 3.25]


def test_a_line_of_the_file_is_the_line_of_an_error(written) -> None:
    (half, _), lines = read_exercises(written(FILE)), FILE.splitlines()
    assert lines[half.reference.__code__.co_firstlineno - 1] == "    def half(x, y=1):"
    first = half.mistakes[0].wrong[1].__code__.co_firstlineno
    assert lines[first] == "    z = x + x"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    return x / HALF\n", "    return x / (\n", "line 28: '(' was never closed"),
        ("Divide by 2,\ndo not multiply.\n", "", "line 24: the mistake 'your code doubles' needs a reason"),
        ("    answers = [scaled(by) for by in (3, 4)]\n", "", "'your code scales by another number' needs"),
        ("Inputs:\n", "", "line 16: invalid syntax: (def half"),
        ("    HALF + 3.5\n", "", "01.number needs its solution"),
        ("## 01.half\n", "", "line 23: a mistake (###) needs an exercise (##) above it"),
        ("    HALF + 3.5\n", "    def number():\n        return 4\n", "a function has Inputs:"),
        ("    HALF + 3.5\n", "    HALF + 3.5\n\nInputs:\n\n    (1,),\n", "a value has none"),
        ("(numbered(2, 2), 1),", "(numbered(2, 2), 1", "line 21: '(' was never closed"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(written, old: str, new: str, said: str) -> None:
    assert old in FILE
    with pytest.raises(ValueError, match=re.escape(said)) as error:
        read_exercises(written(FILE.replace(old, new, 1)))
    assert re.match(r"01\.md, line \d+: ", str(error.value))
