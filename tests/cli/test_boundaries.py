"""`test --plain`: a number next to a rounding boundary turns its cell red, and no other number does."""

import math
import os
from pathlib import Path

import nbformat
import pytest
from helpers.strict_nbval import nbval

from course_lib.cli import notebook_io, plain
from course_lib.cli.boundaries import readings
from course_lib.cli.refresh import refresh

TESTS = Path(__file__).resolve().parents[1]
ROOT_OF_13 = 1 / math.sqrt(13.00001)  # 0.27734999: some processors print 0.2773, others 0.2774
CASES = {  # the number, how it is shown, and what must show
    "next to a boundary": (ROOT_OF_13, ".4f", "0.2773|0.2774"),
    "between boundaries": (ROOT_OF_13, ".3f", "0.277"),
    "six digits": (0.37289321741, ".6f", "0.372889|0.372897"),
    "a tie": (0.25, ".1f", "0.2|0.3"),
    "a tie that fp64 can only come close to": ((2.871 + 2.87 + 3.094) / 3, ".2f", "2.94|2.95"),
    "nothing rounded": (2.5, ".1f", "2.5"),
    "nothing rounded, of 100": (0.29, ".0%", "29%"),
    "a count": (115_369.0, ",.0f", "115,369"),
    "a whole short number": (0.001, "g", "0.001"),
    "a short number between boundaries": (60_611.4, ",.0f", "60,611"),
    "all digits": (math.pi, "", "3.1415612376632573|3.1416240695163293"),
    "the sign of a rounding error": (-1e-9, ".2f", "-0.00|0.00"),
    "no number": (math.nan, ".2f", "nan"),
    "wide": (ROOT_OF_13, "8.4f", "  0.2773|  0.2774"),
}

CELLS = {  # what a notebook does, and whether that must turn its cell red
    "the number": ("import math, numpy, torch\nx = 1 / math.sqrt(13.00001)", False),
    "f-string": ("print(f'{x:.4f}')", True),
    "f-string, fewer digits": ("print(f'{x:.3f}')", False),
    "line of the machine": ("print(f'≈ {x:.4f}')", False),
    "f-string with a computed width": ("width = 4\nprint(f'{x:8.{width}f}')", True),
    "f-string of a tensor": ("print(f'{torch.tensor(x):.4f}')", True),
    "text": ("print(f'{str(dict)!r:>20} {12:4} {\"a\":3}')", False),
    "round": ("print(round(x, 4), round(2.5), round(x, 3))", True),
    "all digits in a list": ("print([x, 1])", True),
    "short numbers in a list": ("print([0.5, 1.25], {'a': 0.1})", False),
    "tensor": ("print(torch.tensor([1.0, x]))", True),
    "tensor of whole numbers": ("print(torch.arange(3.0), torch.tensor([0.5]))", False),
    "array": ("print(numpy.array([1.0, x]))", True),
    "last value": ("x", True),
    "last value, short": ("[0.5, 2.0]", False),
    "last value, a tensor": ("torch.tensor(x)", True),
    "library": (
        "from types import SimpleNamespace\nfrom course_lib.cli.train import summary\n"
        "print(summary(SimpleNamespace(losses=[1.2345000001], tokens=1, seconds=60.0, steps=1), 'tokens'))",
        True,
    ),
    "optional package": (
        "import importlib.util\nprint(importlib.util.find_spec('timm') is None)",
        True,
    ),
    "real data": ("import os\nprint(os.environ.get('COURSE_DATA'))", True),
}


@pytest.mark.parametrize("case", CASES)
def test_both_readings(case: str) -> None:
    number, spec, text = CASES[case]
    assert readings(number, lambda number: format(number, spec)) == text


@pytest.fixture(scope="module")
def passed(tmp_path_factory: pytest.TempPathFactory) -> list[bool]:
    """A notebook with these cells, stored as this machine shows them, in a plain run."""
    folder = tmp_path_factory.mktemp("boundaries")
    cells = [nbformat.v4.new_code_cell(source) for source, _ in CELLS.values()]
    notebook_io.write(nbformat.v4.new_notebook(cells=cells), folder / "cells.ipynb")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_DATA", str(folder))
        refresh(folder / "cells.ipynb")
        return nbval(folder, plain.variables(dict(os.environ), tmp_path_factory.mktemp("plain")))["cells"]


@pytest.mark.parametrize("name", CELLS)
def test_a_boundary_turns_its_cell_red_and_no_other(name: str, passed: list[bool]) -> None:
    assert passed[list(CELLS).index(name)] != CELLS[name][1]


def test_what_a_plain_run_leaves_out_exists() -> None:
    (name,) = plain.ARGUMENTS
    arguments = (TESTS.parent / name.removeprefix("@")).read_text(encoding="utf-8").splitlines()
    left_out = [one.removeprefix("--ignore=") for one in arguments]
    assert [one for one in left_out if not (TESTS.parent / one).exists()] == []


@pytest.mark.parametrize(
    ("flags", "kernels"), [("avx avx2 avx512f", "avx2"), ("avx avx2", "default"), (None, "default")]
)
def test_a_plain_run_has_kernels_that_this_processor_would_not_choose(
    flags: str | None, kernels: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain, "PROCESSOR", tmp_path / "cpuinfo")
    if flags:
        plain.PROCESSOR.write_text(f"flags : {flags}\n")
    assert plain.variables({}, tmp_path)["ATEN_CPU_CAPABILITY"] == kernels


def test_a_plain_run_has_no_data_no_network_and_one_thread(tmp_path: Path) -> None:
    found = plain.variables(
        {"COURSE_DATA": "/data", "HTTPS_PROXY": "http://proxy", "HOME": "/home"}, tmp_path
    )
    assert "COURSE_DATA" not in found and found["HOME"] == "/home"
    assert found["HTTPS_PROXY"] == found["https_proxy"] == plain.NOWHERE
    assert found["OMP_NUM_THREADS"] == "1"
    assert not Path(found["COURSE_CACHE"]).exists()  # empty
