"""The mutation script: the faults it finds, the tests it takes for near, and faults in a small library."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mutation.answers import mutants
from mutation.faults import faults_in, sample
from mutation.nearest import nearest_tests

SOURCE = '''
def grow(x: int | float = 0.1, *, width: int = 4) -> bool:
    """A docstring is no fault's place."""
    if not x < width and scale(x, width, bias=2):
        raise ValueError("x" + f"{x + 1}")
    total -= -x * 2
    return dropout(x)
'''
WHOLE = "not x < width and scale(x, width, bias=2)"


def test_faults_by_hand():
    found = {(f.operator, f.before, f.after) for f in faults_in(SOURCE, "course_lib/one.py")}
    assert found == {
        ("default", "0.1", "1.0"),
        ("default", "4", "5"),
        ("and/or", WHOLE, "not x < width or scale(x, width, bias=2)"),
        ("condition", WHOLE, f"not ({WHOLE})"),
        ("no not", "not x < width", "x < width"),
        ("comparison", "x < width", "x <= width"),
        ("call dropped", "scale(x, width, bias=2)", "x"),
        ("arguments swapped", "scale(x, width, bias=2)", "scale(width, x, bias=2)"),
        ("keyword dropped", "scale(x, width, bias=2)", "scale(x, width)"),
        ("constant", "2", "3"),
        ("arithmetic", "total -= -x * 2", "total += -x * 2"),
        ("arithmetic", "-x * 2", "-x / 2"),
        ("operand dropped", "-x * 2", "-x"),
        ("sign", "-x", "x"),
        ("call dropped", "dropout(x)", "x"),
    }  # fmt: skip


def test_a_fault_changes_one_place_and_keeps_the_rest():
    (fault,) = (f for f in faults_in(SOURCE, "course_lib/one.py") if f.operator == "no not")
    assert fault.source == SOURCE.replace("not x < width", "(x < width)")
    assert fault.key == ("one", "grow", "no not", "not x < width -> x < width")


def test_equal_faults_of_a_function_are_numbered():
    keys = [f.key[3] for f in faults_in("def f(x):\n    return x[0], x[0]\n", "one.py")]
    assert keys == ["0 -> 1", "0 -> 1 #2"]


def test_a_sample_depends_on_its_seed_alone_and_takes_every_operator():
    faults = faults_in(SOURCE, "course_lib/one.py")
    few = sample(faults, 9, seed=0)
    assert few == sample(faults[::-1], 9, seed=0) != sample(faults, 9, seed=1)
    assert len({f.operator for f in few}) == 9 == len(few)
    assert len(sample(faults, 99, seed=0)) == len(faults)


def test_slips_in_a_solution_by_hand():
    solution = "def f(x):\n    y = x.amax(dim=-1) - 2\n    return y @ x\n"
    found = {(f.operator, f.before, f.after) for f in mutants(solution, "00.f")}
    assert found == {
        ("statement dropped", "y = x.amax(dim=-1) - 2", "pass"),
        ("arithmetic", "x.amax(dim=-1) - 2", "x.amax(dim=-1) + 2"),
        ("operand dropped", "x.amax(dim=-1) - 2", "x.amax(dim=-1)"),
        ("sides swapped", "x.amax(dim=-1) - 2", "2 - x.amax(dim=-1)"),
        ("keyword dropped", "x.amax(dim=-1)", "x.amax()"),
        ("another function", "x.amax", "x.amin"),
        ("sign", "-1", "1"),
        ("constant", "1", "2"),
        ("constant", "1", "0"),
        ("constant", "2", "3"),
        ("constant", "2", "1"),
        ("sign", "2", "-2"),
        ("sides swapped", "y @ x", "x @ y"),
    }
    assert mutants(solution, "00.f")[0].key[:2] == ("00.f", "f")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_every_listed_equivalent_is_a_fault_of_the_core():
    from mutation.__main__ import EQUIVALENT, ROOT, core_modules

    with EQUIVALENT.open(newline="", encoding="utf-8") as file:
        listed = {(row["module"], *list(row.values())[1:4]) for row in csv.DictReader(file)}
    paths = {Path(name).stem: name for name in core_modules(ROOT)}
    assert {key[0] for key in listed} <= paths.keys()
    named = [paths[name] for name in {key[0] for key in listed}]
    faults = [fault for name in named for fault in faults_in((ROOT / name).read_text(encoding="utf-8"), name)]
    assert listed <= {fault.key for fault in faults}


@pytest.fixture
def tiny(tmp_path):
    """A library of two modules with their tests."""
    files = {
        "pyproject.toml": "[tool.pytest.ini_options]\n",
        "course_lib/__init__.py": "",
        "course_lib/twice.py": "def twice(x):\n    return 2 * x\n",
        "course_lib/four.py": "from course_lib.twice import twice\n\ndef four(x):\n    return 2 * twice(x)\n",
        "tests/helper.py": "from course_lib.twice import twice\n",
        "tests/test_a.py": "from course_lib.four import four\n\n\ndef test_a():\n    assert four(1) == 4\n",
        "tests/test_b.py": "from helper import twice\n\n\ndef test_b():\n    assert twice(0) == 0\n",
        "tests/test_c.py": "def test_c():\n    pass\n",
    }
    for name, text in files.items():
        (tmp_path / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / name).write_text(text)
    return tmp_path / "root"


def test_near_are_tests_that_import_its_names_themselves_or_through_others(tiny):
    assert nearest_tests(tiny, "course_lib/twice.py", 9) == ["tests/test_b.py", "tests/test_a.py"]
    assert nearest_tests(tiny, "course_lib/four.py", 9) == ["tests/test_a.py"]
    assert nearest_tests(tiny, "course_lib/twice.py", 1) == ["tests/test_b.py"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_faults_are_planted_in_a_copy_and_reported(tiny):
    (tiny / "course_lib" / "layers").mkdir()
    module = tiny / "course_lib" / "layers" / "sums.py"
    module.write_text("def add(x, y, unused=0):\n    return x + y\n")
    test = "from course_lib.layers.sums import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
    (tiny / "tests" / "test_sums.py").write_text(test)
    before = {path: path.read_bytes() for path in tiny.rglob("*.py")}
    command = [sys.executable, str(Path(__file__).with_name("mutation")), "--root", str(tiny)]
    done = subprocess.run(command, cwd=tiny, capture_output=True, text=True)
    assert {path: path.read_bytes() for path in tiny.rglob("*.py")} == before
    said, place = done.stdout.splitlines(), "course_lib/layers/sums.py"
    assert f"SURVIVED: {place}:1 add: default: 0 -> 1" in said, done.stdout + done.stderr
    assert f"caught by test_sums.py::test_add: {place}:2 add: arithmetic: x + y -> x - y" in said
    assert f"caught by test_sums.py::test_add: {place}:2 add: operand dropped: x + y -> x" in said
    assert "sums 3 2 0 1".split() in [line.split() for line in said]
    assert "caught: 66.7% of those with an effect" in said and done.returncode == 1
