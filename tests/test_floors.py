"""Imports only point down, and what must run on a bare Python imports nothing else."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "course_lib"

FLOORS = [
    {"files", "memory", "torchvision_ops"},
    {"masks", "positions", "tokens", "grammar", "bleu", "mistakes", "show", "precision", "schedules"},
    {"sampling", "muon", "diffusion", "early_stopping", "cache", "divergence"},
    {"datasets", "attention", "scoring", "checkpoints", "optimizers", "course_map", "characters", "patches"},
    {"blocks", "decoding", "recorder", "text_generator"},
    {"training", "seq2seq", "gpt", "text_encoder", "vit", "pixel_attention"},
    {"translation", "language_model", "prefix_translation", "classifier", "vision", "augment", "unet"}
    | {"gpt2", "bert_weights", "vit_weights", "vit_reading"},
    {"pretraining"},
    {"lectures"},
    {"widgets", "exercises", "commands"},
]
FLOOR = {name: height for height, names in enumerate(FLOORS) for name in names}
BARE = ["__init__.py", "__main__.py", "commands/__init__.py", "commands/environment.py", "commands/test.py"]


def room(path: Path) -> str:
    """The module or package right under course_lib that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(source: str) -> set[str]:
    """The rooms of course_lib that some code imports, wherever in it the import stands."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    parts = (name.split(".") for name in names if name.startswith("course_lib."))
    return {part[1] for part in parts if part[1] in FLOOR}


FILES = [p for p in sorted(PACKAGE.rglob("*.py")) if room(p) not in ("__init__", "__main__")]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_imports_point_down(path):
    own = room(path)
    assert own in FLOOR, f"give {own} a floor in {Path(__file__).name}"
    top = len(FLOORS) - 1
    for other in imported_rooms(path.read_text(encoding="utf-8")) - {own}:
        beside = FLOOR[own] == FLOOR[other] == top
        assert FLOOR[other] < FLOOR[own] or beside, f"{own} imports {other}, which is not below it"


def test_an_import_upwards_would_be_seen():
    assert imported_rooms("def f():\n    from course_lib.training import train") == {"training"}
    assert imported_rooms("from course_lib import tokens, blocks") == {"tokens", "blocks"}
    assert imported_rooms("import course_lib.bleu") == {"bleu"}


def top_level_imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name.split(".")[0] for name in names}


@pytest.mark.parametrize("name", BARE)
def test_the_commands_start_with_the_standard_library_alone(name):
    assert top_level_imports(PACKAGE / name) <= set(sys.stdlib_module_names) | {"course_lib"}


def test_importing_the_course_does_not_import_torch():
    code = "import course_lib, course_lib.commands.environment, sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parent)
    assert done.stdout.strip() == "False", done.stderr
