"""Mypy finds no error in the packages of pyproject.toml; mypy and editors see what a package exports."""

import ast
import importlib
import shutil
import subprocess
import sys
from pathlib import Path

import jedi
import pytest

ROOT = Path(__file__).resolve().parents[1]
STUBS = sorted((ROOT / "course_lib").rglob("__init__.pyi"))


def mypy(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess:
    """The cache is `.mypy_cache` in the folder: only what has changed is checked again."""
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--no-pretty", *arguments], cwd=folder, capture_output=True, text=True
    )


def test_mypy_finds_no_error():
    done = mypy()
    if done.returncode:
        pytest.fail(f"{done.stdout[-3000:]}{done.stderr[-1000:]}\npython -m mypy", pytrace=False)


def test_mypy_would_find_one(tmp_path):
    """With the settings of pyproject.toml, in a function without annotations, too."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "wrong.py").write_text("def f():\n    return 1 + 'a'\n")
    done = mypy("wrong.py", folder=tmp_path)
    assert done.returncode == 1 and "wrong.py:2: error: Unsupported operand types" in done.stdout


SMALL = """\
from course_lib.layers import MultiHeadAttention, attention
from course_lib.training import TrainConfig
from course_lib.layers import NoSuchLayer
reveal_type(MultiHeadAttention)
reveal_type(attention)
TrainConfig(stepps=3)
"""


def test_mypy_sees_the_types_behind_the_lazy_exports(tmp_path):
    small = tmp_path / "small.py"
    small.write_text(SMALL)
    said: dict[int, str] = {}
    done = mypy(str(small))
    for line in done.stdout.splitlines():
        _, here, rest = line.partition(f"{small.name}:")
        if here:
            number, text = rest.split(":", 1)
            said[int(number)] = said.get(int(number), "") + text
    assert set(said) == {3, 4, 5, 6}, done.stdout + done.stderr
    assert "NoSuchLayer" in said[3] and "attr-defined" in said[3]
    assert "multi_head_attention.MultiHeadAttention" in said[4] and "d_model" in said[4]
    assert "Tensor" in said[5] and "Any" not in said[5]
    assert "stepps" in said[6] and "call-arg" in said[6]


@pytest.mark.parametrize(
    "package, name, file, parameter",
    [
        ("course_lib.layers", "MultiHeadAttention", "layers/multi_head_attention.py", "heads"),
        ("course_lib", "train", "training/trainer.py", "objective"),
    ],
)
def test_an_editor_finds_the_definition_and_the_signature(package, name, file, parameter):
    script = jedi.Script(f"from {package} import {name}\n{name}(", project=jedi.Project(ROOT))
    (definition,) = script.goto(2, 1, follow_imports=True)
    (signature,) = script.get_signatures()
    assert definition.module_path == signature.module_path == ROOT / "course_lib" / file
    source = definition.module_path.read_text(encoding="utf-8").splitlines()
    assert source[definition.line - 1].startswith((f"class {name}", f"def {name}"))
    assert parameter in [one.name for one in signature.params]


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.parent.name)
def test_a_stub_names_exactly_what_the_package_exports(stub):
    package = importlib.import_module(".".join(stub.parent.relative_to(ROOT).parts))
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    imports = [line for line in tree.body if isinstance(line, ast.ImportFrom)]
    origin = [(line.module, alias) for line in imports for alias in line.names]
    assert sorted(alias.name for _, alias in origin) == sorted(package.__all__)  # none is there twice
    for module, alias in origin:
        assert alias.asname == alias.name, "without `as`, a stub does not export the name"
        assert getattr(package, alias.name) is getattr(importlib.import_module(module), alias.name)


def test_every_lazy_package_has_a_stub():
    lazy = [
        file
        for file in (ROOT / "course_lib").rglob("__init__.py")
        if "lazy_exports(" in file.read_text("utf-8")
    ]
    assert sorted(file.with_suffix(".pyi") for file in lazy) == STUBS and len(STUBS) > 5
