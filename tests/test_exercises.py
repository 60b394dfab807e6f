"""Each exercise passes its solution, and calls each wrong answer by its name."""

import ast
import itertools
import json
import re
from pathlib import Path

import pytest
import torch

from course_lib.commands.environment import ROOT
from course_lib.exercises import Exercise, Mistake, catalogue, check, judge
from course_lib.exercises.comparing import alike, call
from course_lib.exercises.exercise import mistake

EXERCISES = catalogue()
MISTAKES = [(exercise, known) for exercise in EXERCISES.values() for known in exercise.mistakes]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SOLUTION = re.compile(r"<details>.*?```python\n(.*?)```.*?</details>", re.DOTALL)


def name_of(case: object) -> str | None:
    return getattr(case, "id", None) or getattr(case, "name", None) or getattr(case, "stem", None)


def chapter(name: str) -> str:
    return re.split(r"[._]", name)[0]


# ---- every exercise


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=name_of)
def test_the_reference_passes(exercise: Exercise) -> None:
    assert judge(exercise, exercise.reference).state == "passed"


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=name_of)
def test_the_stub_is_not_tried_yet(exercise: Exercise) -> None:
    def stub(*arguments): ...

    assert judge(exercise, stub).state == "not tried"
    assert judge(exercise, ...).state == "not tried"


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=name_of)
def test_an_answer_of_an_unknown_kind_gets_a_counterexample(exercise: Exercise) -> None:
    verdict = judge(exercise, lambda *arguments: {"none": "of this"})
    assert (verdict.state, verdict.mistake) == ("wrong", None)


@pytest.mark.parametrize(("exercise", "known"), MISTAKES, ids=name_of)
def test_each_mistake_is_called_by_its_name(exercise: Exercise, known: Mistake) -> None:
    for wrong in known.wrong:
        verdict = judge(exercise, wrong)
        assert (verdict.state, verdict.mistake) == ("mistake", known.name)
        assert known.name in " ".join(verdict.text.split())


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=name_of)
def test_reference_and_mistakes_differ_pairwise(exercise: Exercise) -> None:
    families = [("", exercise.reference)] + [(m.name, wrong) for m in exercise.mistakes for wrong in m.wrong]
    outcomes = [(name, [call(f, arguments) for arguments in exercise.inputs]) for name, f in families]
    for (name, mine), (other, theirs) in itertools.combinations(outcomes, 2):
        same = all(alike(a, b, exercise.tolerance) for a, b in zip(mine, theirs, strict=True))
        assert name == other or not same, f"{name!r} and {other!r} come to the same"


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=name_of)
def test_an_exercise_knows_three_mistakes_and_one_sentence_for_each(exercise: Exercise) -> None:
    assert len({known.name for known in exercise.mistakes}) == len(exercise.mistakes) >= 3
    assert all(known.why.endswith((".", "?")) for known in exercise.mistakes)


# ---- the same mistakes, written as a learner would


def softmax_columns(scores):
    out = torch.empty_like(scores)
    if scores.ndim == 1:
        return torch.softmax(scores, 0)
    for column in range(scores.shape[1]):
        out[:, column] = torch.softmax(scores[:, column], 0)
    return out


def softmax_unshifted(scores):
    return (scores.exp().transpose(0, -1) / scores.exp().sum(-1).transpose(0, -1)).transpose(0, -1)


def attention_outside(q, k, v):
    weights = torch.nn.functional.softmax(torch.einsum("...qd,...kd->...qk", q, k), dim=-1)
    return torch.einsum("...qk,...kd->...qd", weights, v) * q.size(-1) ** -0.5


def scores_by_d(q, k):
    return torch.einsum("...qd,...kd->...qk", q / q.size(-1), k)


def scores_swapped(q, k):
    return torch.einsum("...qd,...kd->...kq", q, k) / q.size(-1) ** 0.5


def attention_unscaled(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=1.0)


def gradient_in_loops(weights):
    n = len(weights)
    return torch.tensor([[float(i == j) * weights[i] * (1 - weights[i]) for j in range(n)] for i in range(n)])


WRITTEN_DIFFERENTLY = {
    ("01.softmax", "works along the wrong axis"): softmax_columns,
    ("01.softmax", "has no max-shift"): softmax_unshifted,
    ("01.softmax", "loses the summed axis"): lambda s: (e := (s - s.amax(-1, True)).exp()) / e.sum(dim=-1),
    ("01.softmax", "never divides by the sum"): lambda s: s.exp(),
    ("01.softmax", "takes one maximum for the whole table"): lambda s: torch.einsum(
        "...k,...->...k", (e := (s - torch.max(s)).exp()), 1 / e.sum(-1)
    ),
    ("01.temperature", "multiplies by the temperature"): lambda s, t: torch.exp(torch.log_softmax(t * s, -1)),
    ("01.temperature", "divides the weights instead of the scores"): lambda s, t: 1 / t * s.softmax(-1),
    ("01.temperature", "is the same at every temperature"): lambda s, t: torch.softmax(s - t, dim=-1),
    ("01.temperature", "divides by √T"): lambda s, t: torch.softmax(s / t**0.5, dim=-1),
    ("01.spread", "is the factor of the variance"): torch.tensor(16.0),
    ("01.scores", "divides by d instead of √d"): scores_by_d,
    ("01.scores", "does not scale"): lambda q, k: (q[..., :, None, :] * k[..., None, :, :]).sum(-1),
    ("01.scores", "swaps queries and keys"): scores_swapped,
    ("01.attention", "puts √d outside the softmax"): attention_outside,
    ("01.attention", "does not scale"): attention_unscaled,
    ("01.gradient", "leaves out the effect on the other weights"): gradient_in_loops,
}  # fmt: skip


@pytest.mark.parametrize(
    ("key", "answer"), WRITTEN_DIFFERENTLY.items(), ids=lambda one: getattr(one, "__name__", str(one))
)
def test_a_mistake_is_known_however_it_is_written(key: tuple[str, str], answer: object) -> None:
    assert judge(EXERCISES[key[0]], answer).mistake == key[1]


# ---- what the check says about other answers


HALVE = Exercise(
    id="00.halve",
    reference=lambda x, by: x / by,
    inputs=((torch.tensor([2.0, 4.0]), 2.0), (torch.arange(24.0).reshape(4, 6), 2.0)),
    mistakes=(mistake("multiplies", "Divide.", lambda x, by: x * by),),
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
        (lambda x, by: ..., "not tried", "not tried yet"),
        (None, "not tried", "not tried yet"),
        (lambda x, by: x * by, "mistake", "It multiplies.\nDivide."),
        (lambda x, by: x - 1, "wrong", r"With x = \[2, 4\], by = 2:\nYour answer is \[1, 3\], expected"),
        (lambda x, by: (x / by).clamp(max=11), "wrong", r"At \[3, 5\] your answer is 11, expected 11.5"),
        (lambda x, by: (x / by)[0], "wrong", r"the shape \(\), expected \(2,\)"),
        (lambda x, by: x / 0 * 0, "wrong", "holds NaN"),
        (lambda x, by: x / by > 0, "wrong", "holds torch.bool, expected torch.float32"),
        (lambda x, by: (x / by).tolist(), "wrong", "of type list, expected a tensor"),
        (lambda x, by: (x / by).numpy(), "wrong", "of type ndarray, expected a tensor"),
        (forgets_return, "wrong", "returns None, expected a tensor: is a `return` missing"),
        (in_place, "wrong", "changes its arguments in place"),
        (broken, "wrong", r"Your function raised AttributeError.*\nin the line: return x\.divided\(by\)"),
        (lambda x: x, "wrong", "raised TypeError"),
        (torch.tensor([1.0]), "wrong", "Hand over the function itself"),
    ],
)  # fmt: skip
def test_what_the_check_says(answer: object, state: str, said: str) -> None:
    verdict = judge(HALVE, answer)
    assert verdict.state == state
    assert re.search(said, re.sub(r"(?<=\w) ?\n(?=\w)", " ", verdict.text)) or re.search(said, verdict.text)
    assert max(map(len, verdict.text.splitlines())) <= 88


@pytest.mark.parametrize(
    ("expected", "answer", "said"),
    [
        ((1, True), (1, False), "Part 2: Your answer is False, expected True"),
        ((1, True), (1,), "has 1 parts, expected 2"),
        ((1, True), 1, "of type int, expected 2 values"),
        (torch.tensor(2.0), 2, None),
        (torch.tensor([True]), torch.tensor([True]), None),
        (torch.tensor([3]), torch.tensor([3.0]), None),
        (([0, 1], 2), (range(2), 2), None),
        (([0, 1], 2), (torch.arange(2), 2), None),
        ("queries", "keys", "'keys' is not right"),
        (0.5, "a half", "'a half' is not right"),
    ],
)
def test_values_of_every_kind(expected: object, answer: object, said: str | None) -> None:
    returned = isinstance(expected, tuple)  # then the difference is spelt out
    exercise = Exercise("00.kind", lambda *arguments: expected, ((1,) if returned else (),), ())
    verdict = judge(exercise, (lambda x: answer) if returned else answer)
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
        assert "changes its arguments in place" in judge(exercise, answer).text
    assert judge(exercise, lambda parts: [part + part for part in parts]).state == "passed"


def test_the_answer_to_a_question_is_not_given_away() -> None:
    assert "4" not in judge(EXERCISES["01.spread"], 5).text.removeprefix("01.spread")


def test_check_prints_one_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    check("01.spread", 4)
    assert capsys.readouterr().out == "01.spread: passed.\n"


def test_an_unknown_exercise_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no exercise '01.softmaks'.*01\.softmax"):
        check("01.softmaks", ...)


# ---- the notebooks


def cells(notebook: Path) -> list[tuple[str, str]]:
    content = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [(cell["cell_type"], "".join(cell["source"])) for cell in content]


def checks(source: str) -> list[tuple[str, str]]:
    """The exercises a cell checks, each with the expression it hands over."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    calls = [node for node in calls if isinstance(node.func, ast.Name) and node.func.id == "check"]
    return [(ast.literal_eval(node.args[0]), ast.unparse(node.args[1])) for node in calls]


def plain(source: str) -> str:
    """The cell without the lines that only IPython reads."""
    return re.sub(r"(?m)^(\s*)%.*$", r"\1pass", source)


def imports(notebook: Path) -> list[str]:
    """The set-up cell and the other cells that begin with an import."""
    sources = [plain(source) for kind, source in cells(notebook) if kind == "code"]
    return [
        s for s in sources if isinstance(next(iter(ast.parse(s).body), None), ast.Import | ast.ImportFrom)
    ]


def asked(notebook: Path) -> list[tuple[str, str, str]]:
    """Each exercise of a notebook: its id, the expression that is checked, the code of the solution."""
    all_cells = cells(notebook)
    found = []
    for (kind, source), (_, after) in zip(all_cells, [*all_cells[1:], ("", "")], strict=True):
        if kind == "code" and "check(" in source:
            solution = SOLUTION.search(after)
            found += [(key, answer, solution[1] if solution else "") for key, answer in checks(source)]
    return found


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=name_of)
def test_the_solutions_in_the_notebook_pass(notebook: Path) -> None:
    for key, answer, solution in asked(notebook):
        room: dict = {}
        for source in imports(notebook):
            exec(source, room)
        exec(solution, room)
        verdict = judge(EXERCISES[key], eval(answer, room))
        assert verdict.state == "passed", verdict.text


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=name_of)
def test_the_notebook_asks_as_many_exercises_as_it_registers(notebook: Path) -> None:
    keys = [key for key in EXERCISES if chapter(key) == chapter(notebook.name)]
    assert [key for key, _, _ in asked(notebook)] == keys


def test_every_exercise_is_asked_in_some_notebook() -> None:
    assert set(map(chapter, EXERCISES)) <= {chapter(notebook.name) for notebook in NOTEBOOKS}
