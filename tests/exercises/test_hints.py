"""Hints for unknown wrong answers, calls that watch how an answer computes, and how values are described."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from helpers.solutions import written

from course_lib.exercises import Exercise, grade
from course_lib.exercises.comparing import describe
from course_lib.exercises.watching import no_tensor_of, without

DOUBLE = Exercise(
    "00.double",
    lambda x: 2 * x,
    ((torch.arange(6.0).reshape(2, 3),), (torch.arange(12.0).reshape(3, 4),)),
    (),
)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda x: 6 * x, "3 times the right ones"),
        (lambda x: -2 * x, "opposite sign"),
        (lambda x: 2 * x - 1.5, "too small by 1.5"),
        (lambda x: 2 * x.T, "transposed"),
        (lambda x: 2 * x.flatten(), "different shape"),
        (lambda x: 2 * x.flip(1), "different order"),
        (lambda x: (2 * x).square(), "squares of the right ones"),
        (lambda x: 2 * x.sum(1), "sums of the right one along its last axis"),
        (lambda x: 2 * x[0], "only the first part of the right one along axis 0"),
        (lambda x: 3 * x - x * x, None),
        (lambda x: x, "0.5 times"),
        (lambda x: 2 * x.abs() + x[:1], "Each column of your answer is off by a constant"),
        (
            lambda x: 2 * x / x.sum(-1, keepdim=True),
            "Each row of your answer is the right one times a factor",
        ),
        (lambda x: torch.rand(x.shape), "Called twice"),
        (lambda x: 7, "never uses `x`"),
        (lambda x: torch.ones(4, x.shape[1]), "Axis 0 of your answer should be as long as axis 0 of `x`"),
        (lambda x: 2 * x.reshape(2, 3), "works on the inputs before"),
    ],
)
def test_a_pattern_in_all_results_is_a_hint(answer, said) -> None:
    text = grade(DOUBLE, answer).text.replace("\n", " ")
    assert said in text if said else "Each" not in text and "On every input" not in text


SQUARES = Exercise(
    "00.squares", lambda n, low: sum(i * i for i in range(n) if i > low), ((4, 1), (7, 2), (9, 0)), ()
)
CHANGES = {
    "return sum(i * i for i in range(n) if i >= low)": "with another comparison in `i >= low`",
    "return sum(i * i for i in range(n + 1) if i > low)": "without `+ 1`",
    "return sum(i * i for i in range(n) if i > 2)": "with something else in place of `2`",
    "return sum(i * i for i in range(low) if i > low)": "in place of `low` in `range(low)`",
    "return sum(i * i for i in range(n) if not i > low)": "without `not`",
    "return sum(i for i in range(n + 1) if i > low + 1)": None,  # three changes
    "i = 0\nwhile i < n:\n    i += 1\nreturn [low]": None,  # some changes of it never end
}


@pytest.mark.parametrize("body", CHANGES)
def test_the_one_change_that_makes_an_answer_right_is_said(body: str) -> None:
    text = grade(SQUARES, written("n, low", body, {})).text.replace("\n", " ")
    assert ("would be right" in text) == bool(CHANGES[body])
    assert (CHANGES[body] or "") in text


def test_the_search_for_a_change_prints_nothing_and_uses_no_random_numbers(capsys) -> None:
    body = "print(n)\nreturn sum(i * i for i in range(int(torch.rand(1) * 0) + n) if i >= low)"
    answer = written("n, low", body, {"torch": torch})
    torch.manual_seed(0)
    assert "another comparison" in grade(SQUARES, answer).text.replace("\n", " ")
    assert capsys.readouterr().out.split() == ["4", "7", "9"]
    after = torch.rand(1)
    torch.manual_seed(0)
    assert after == torch.rand(4)[3]  # three were used by the three calls themselves


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: 2 * x if len(x) == 2 else x,
        lambda x: x.square() + x.exp(),
        lambda x: str(x),
        lambda x: 2 * x + torch.nan,
    ],
)
def test_no_pattern_no_hint(answer) -> None:
    assert "On every input" not in grade(DOUBLE, answer).text


def test_masks_get_no_hint_about_their_order() -> None:
    mask = Exercise("00.mask", lambda n: torch.ones(n, n).tril() > 0, ((2,), (4,)), ())
    assert "transposed" in grade(mask, lambda n: torch.ones(n, n).triu() > 0).text
    assert "On every input" not in grade(mask, lambda n: (torch.ones(n, n).tril() > 0).flip(0)).text


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: x.softmax(-1), lambda x: torch.softmax(x, -1), lambda x: F.softmax(x, -1),
        lambda x: torch.nn.Softmax(-1)(x), lambda x: torch.special.softmax(x, -1),
    ],
)  # fmt: skip
def test_forbidden_functions_are_noticed_in_every_form(answer) -> None:
    names = ("softmax", "special_softmax")
    with pytest.raises(PermissionError, match="softmax"):
        without(*names)(answer, torch.ones(3))
    assert without(*names)(torch.exp, torch.zeros(1)) == 1


def test_large_tensors_are_noticed_also_inside_a_product() -> None:
    run = no_tensor_of(lambda q, k: len(q) * len(k), "scaled_dot_product_attention")
    q, k = torch.ones(5, 2), torch.ones(7, 2)
    with pytest.raises(MemoryError, match="35"):
        run(lambda q, k: (q @ k.T).sum(), q, k)
    with pytest.raises(PermissionError, match="scaled_dot_product_attention"):
        run(lambda q, k: F.scaled_dot_product_attention(q, k, k), q, k)
    assert run(lambda q, k: sum((q @ part.T).sum() for part in k.split(2)), q, k) == 70
    run = no_tensor_of(lambda q, k: 35, no_softmax_over=lambda q, k: len(k))
    for exponentials in (torch.exp, lambda row: row.softmax(-1)):
        with pytest.raises(MemoryError, match="7"):
            run(lambda q, k, of=exponentials: [of(k @ row) for row in q], q, k)


def test_a_number_that_keeps_its_graph_is_refused() -> None:
    total = Exercise("00.total", lambda x: [x.sum().item()], ((torch.ones(3, requires_grad=True),),), ())
    assert ".item()" in grade(total, lambda x: [x.sum()]).text
    assert grade(total, lambda x: [x.sum().detach()]).state == "passed"


def test_arrays_count_as_tensors_only_where_no_tensor_was_given() -> None:
    count = Exercise("00.count", lambda n: torch.arange(n), ((3,), (5,)), ())
    assert grade(count, np.arange).state == "passed"
    assert "has type ndarray" in grade(DOUBLE, lambda x: 2 * x.numpy()).text
    truth = Exercise("00.truth", lambda n: n > 1, ((1,), (2,)), ())
    for kind in (np.bool_, lambda value: torch.tensor(value), bool):
        assert grade(truth, lambda n, kind=kind: kind(n > 1)).state == "passed"
        assert grade(truth, lambda n, kind=kind: kind(n < 2)).state == "wrong"


def test_values_are_described_so_that_one_can_follow_them() -> None:
    assert describe({0.5: [1.0, 2.0]}) == "{0.5: [1, 2]}"
    assert describe(torch.tensor([[0.125, 3.0]] * 4)).startswith("[[0.125, 3]")
    assert describe(torch.full((2, 4), 1 / 3)) == "a tensor of shape (2, 4)"
    assert "and 9 more" in describe([torch.ones(5, 5)] * 10)
    assert describe(SimpleNamespace()) == "SimpleNamespace"
