"""Each exercise accepts its solution and names the mistake in each known wrong answer."""

import ast
import inspect
import re
from pathlib import Path

import pytest
import torch
from helpers.solutions import NOTEBOOKS, asked, room_of

from course_lib.exercises import Exercise, answer_or_reference, catalogue, check, grade
from course_lib.exercises.comparing import call
from course_lib.exercises.exercise import mistake

EXERCISES = catalogue()


def name_of(case: object) -> str | None:
    return getattr(case, "id", None) or getattr(case, "name", None) or getattr(case, "stem", None)


def chapter(name: str) -> str:
    return re.split(r"[._]", name)[0]


# ---- every exercise


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=name_of)
def test_the_reference_passes(exercise: Exercise) -> None:
    assert grade(exercise, exercise.reference).state == "passed"
    errors = [call(exercise.reference, arguments, exercise.run).error for arguments in exercise.inputs]
    assert not any(isinstance(error, TypeError) for error in errors)  # of wrong annotations, for example


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=name_of)
def test_stubs_and_answers_of_an_unknown_kind(exercise: Exercise) -> None:
    def stub(*arguments): ...

    assert grade(exercise, stub).state == grade(exercise, ...).state == "not tried"
    verdict = grade(exercise, lambda *arguments: {"none": "of this"})
    assert (verdict.state, verdict.mistake) == ("wrong", None)


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=name_of)
def test_each_mistake_is_called_by_its_name(exercise: Exercise) -> None:
    names = [known.name for known in exercise.mistakes]
    assert len(set(names)) == len(names) >= 3, f"{exercise.id}: needs three mistakes, each with its own name"
    for known in exercise.mistakes:
        assert known.why.endswith((".", "?"))
        for wrong in known.wrong:
            verdict = grade(exercise, wrong)
            assert (verdict.state, verdict.mistake) == ("mistake", known.name)
            assert known.name in " ".join(verdict.text.split())


def test_every_exercise_says_how_long_and_how_hard_it_is() -> None:
    assert all(0 < one.minutes <= 30 and one.difficulty in (1, 2, 3) for one in EXERCISES.values())
    said = EXERCISES["01.softmax"]
    assert f"About {said.minutes} minutes, difficulty {said.difficulty} of 3." in grade(said, ...).text


def test_passed_says_what_is_possible_now() -> None:
    said = EXERCISES["01.attention"]
    first, now = grade(said, said.reference).text.splitlines()
    assert "passed" in first and said.now == now


# ---- what the check says about other answers


HALVE = Exercise(
    id="00.halve",
    reference=lambda x, by: x / by,
    inputs=((torch.tensor([2.0, 4.0]), 2.0), (torch.arange(24.0).reshape(4, 6), 2.0)),
    mistakes=(mistake("your code multiplies", "Divide.", lambda x, by: x * by),),
)


def in_place(x, by):
    x /= by
    return x


def forgets_return(x, by):
    x / by


def half_written(x, by):
    y = x / ...
    return y


def broken(x, by):
    return x.divided(by)


@pytest.mark.parametrize(
    ("answer", "state", "said"),
    [
        (lambda x, by: x / by, "passed", r"^00\.halve: passed \(2 inputs\)\.$"),
        (lambda x, by: (x / by).double(), "passed", "passed"),
        (half_written, "not tried", "not tried yet"),
        (lambda x, by: ..., "not tried", r"^00.halve: not tried yet. Replace the \.{3} with your answer.$"),
        (lambda x, by: x * (...).real, "not tried", "not tried yet"),
        (lambda x, by: x / by if x.ndim == 1 else ..., "wrong", "This part is not tried yet"),
        (lambda x, by: x / by if x.ndim == 1 else x / ..., "wrong", "This part is not tried yet"),
        (None, "not tried", "not tried yet"),
        (lambda x, by: x * by, "mistake", r"^Not yet \(00\.halve\): your code multiplies\.\nDivide\."),
        (lambda x, by: x - 1, "wrong", r"With x = \[2, 4\], by = 2:\nYour answer is \[1, 3\]; expected"),
        (lambda x, by: (x / by).clamp(max=11), "wrong", r"At \[3, 5\], your answer is 11; expected 11.5"),
        (lambda x, by: (x / by)[0], "wrong", r"has shape \(\); expected \(2,\)"),
        (lambda x, by: x / 0 * 0, "wrong", "contains NaN"),
        (lambda x, by: x / by > 0, "wrong", "has dtype torch.bool; expected torch.float32"),
        (lambda x, by: (x / by).tolist(), "wrong", "has type list; expected a tensor"),
        (lambda x, by: (x / by).numpy(), "wrong", "has type ndarray; expected a tensor"),
        (forgets_return, "wrong", r"returns None; expected a tensor\. Is a `return` missing"),
        (in_place, "wrong", "changes its arguments in place"),
        (broken, "wrong", r"Your function raised AttributeError.*\non this line: return x\.divided\(by\)"),
        (lambda x: x, "wrong", "raised TypeError"),
        (torch.tensor([1.0]), "wrong", "asks for a function. Pass it by name"),
    ],
)  # fmt: skip
def test_what_the_check_says(answer: object, state: str, said: str) -> None:
    verdict = grade(HALVE, answer)
    assert verdict.state == state
    assert re.search(said, re.sub(r"(?<=\w) ?\n(?=\w)", " ", verdict.text)) or re.search(said, verdict.text)
    assert max(map(len, verdict.text.splitlines())) <= 88


@pytest.mark.parametrize(
    ("expected", "answer", "said"),
    [
        ((1, True), (1, False), "Value 2 of 2: Your answer is False; expected True"),
        ((1, True), (1,), "has length 1; expected 2"),
        ((1, True), 1, "has type int; expected 2 values"),
        (([([3], 0.5)], 1), ([([4], 0.5)], 1), "2: Your answer is [([4], 0.5)]; expected [([3], 0.5)]."),
        ((1, True), (1, ...), "Value 2 of 2: This part is not tried yet"),
        ((1, True), ({}, True), "Value 1 of 2: Your answer has type dict; expected a number"),
        (torch.tensor(2.0), 2, None),
        (torch.tensor([True]), torch.tensor([True]), None),
        (torch.tensor([3]), torch.tensor([3.0]), None),
        (([0, 1], 2), (range(2), 2), None),
        (([0, 1], 2), (torch.arange(2), 2), None),
        ("queries", "keys", "'keys' is not right"),
        (0.5, "a half", "'a half' is of type str"),
    ],
)
def test_values_of_every_kind(expected: object, answer: object, said: str | None) -> None:
    returned = isinstance(expected, tuple)  # then the difference is spelt out
    exercise = Exercise("00.kind", lambda *arguments: expected, ((1,) if returned else (),), ())
    verdict = grade(exercise, (lambda x: answer) if returned else answer)
    assert verdict.state == ("passed" if said is None else "wrong")
    assert said is None or said in verdict.text


def test_a_list_that_is_changed_in_place_is_noticed() -> None:
    exercise = Exercise("00.list", lambda parts: [2 * part for part in parts], (([torch.ones(2)],),), ())

    def doubled(parts):
        for part in parts:
            part *= 2
        return parts

    def replaced(parts):
        parts[0] = 2 * parts[0]
        return parts

    for answer in (doubled, replaced):
        assert "changes its arguments in place" in grade(exercise, answer).text
    assert grade(exercise, lambda parts: [part + part for part in parts]).state == "passed"


def test_an_answer_that_is_cut_off_from_its_gradient_is_noticed() -> None:
    exercise = Exercise("00.square", lambda x: x.square().sum(), ((torch.ones(2, requires_grad=True),),), ())
    for answer in (lambda x: (x * x).sum().item(), lambda x: (x * x).sum().detach()):
        assert "no gradient can flow back" in grade(exercise, answer).text
    assert "expected 2" in grade(exercise, lambda x: x.sum().item() + 1).text
    assert grade(exercise, lambda x: (x * x).sum()).state == "passed"


def test_the_answer_to_a_question_is_not_given_away() -> None:
    assert "4" not in grade(EXERCISES["01.standard_deviation"], 5).text


def test_check_prints_one_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    check("01.standard_deviation", 4)
    assert capsys.readouterr().out == "01.standard_deviation: passed.\n"


def test_a_notebook_goes_on_with_the_answer_only_if_it_passes() -> None:
    reference = EXERCISES["01.temperature"].reference

    def mine(scores, temperature):
        return (scores / temperature).softmax(dim=-1)

    assert answer_or_reference("01.temperature", mine) is mine
    for answer in (lambda scores, temperature: scores, lambda scores, temperature: ..., ...):
        assert answer_or_reference("01.temperature", answer) is reference


def test_an_unknown_exercise_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no exercise '01.softmaks'.*01\.softmax"):
        check("01.softmaks", ...)


# ---- the notebooks


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=name_of)
def test_the_solutions_in_the_notebook_pass(notebook: Path) -> None:
    with room_of(notebook) as room:  # one for all: a solution may call an earlier one
        for key, answer, solution in asked(notebook):
            exec(solution, room)
            verdict = grade(EXERCISES[key], eval(answer, room))
            assert verdict.state == "passed", verdict.text


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=name_of)
def test_messages_use_the_argument_names_of_the_notebook(notebook: Path) -> None:
    for key, answer, solution in asked(notebook):
        functions = [node for node in ast.walk(ast.parse(solution)) if isinstance(node, ast.FunctionDef)]
        for names in ([one.arg for one in f.args.args] for f in functions if f.name == answer):
            assert [*inspect.signature(EXERCISES[key].reference).parameters][: len(names)] == names


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=name_of)
def test_the_notebook_asks_as_many_exercises_as_it_registers(notebook: Path) -> None:
    keys = [key for key in EXERCISES if chapter(key) == chapter(notebook.name)]
    assert [key for key, _, _ in asked(notebook)] == keys


def test_every_exercise_is_asked_in_some_notebook() -> None:
    assert set(map(chapter, EXERCISES)) <= {chapter(notebook.name) for notebook in NOTEBOOKS}
