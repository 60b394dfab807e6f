"""Imports only point down, every package exports what it lists, and a bare Python can start the commands.

Test files import helpers, never one another.
"""

import ast
import graphlib
import importlib
import re
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent
PACKAGE = TESTS.parent / "course_lib"

LAYERS = [  # from the bottom to the top; a package imports only from those above it in this list
    "utils",
    "layers",
    "text",
    "datasets",
    "training",
    "generation",
    "models",
    "pretrained",
    "tasks",
    "viz",
    "lectures",
    "experiments",
    "widgets",
    "exercises",
    "chapters",
    "benchmarks",
    "cli",
]
LEVEL = {name: level for level, name in enumerate(LAYERS)}
STANDARD_LIBRARY_ONLY = ["__init__.py", "__main__.py", "utils/__init__.py", "utils/lazy.py"] + [
    f"cli/{name}.py" for name in ("__init__", "environment", "test")
]
FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if path.parent != PACKAGE]


def package_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0]


def module_of(path: Path) -> str:
    parts = ["course_lib", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(nodes) -> set[str]:
    """The modules, or names of modules, that these statements import."""
    names = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


def imported_packages(source: str) -> set[str]:
    """The packages of course_lib that some code imports, wherever in the code the import is."""
    parts = (name.split(".") for name in imported(ast.walk(ast.parse(source))))
    return {part[1] for part in parts if part[0] == "course_lib" and len(part) > 1 and part[1] in LEVEL}


PAGE = (PACKAGE.parent / "docs" / "library.md").read_text(encoding="utf-8")
ON_PAGE = re.findall(r"(?m)^\| `(\w+)/` \|.*\| (`.+`) \|$", PAGE)


def test_the_page_of_the_library_lists_the_packages_in_this_order():
    assert [name for name, _ in ON_PAGE] == LAYERS


def test_one_module_asks_about_gpus():
    """What PyTorch offers differs between CUDA, MPS and XPU: one place knows that."""
    calls = re.compile(r"torch\.(cuda|mps|xpu|accelerator|backends\.(cuda|cudnn|mps))\b")
    found = {module_of(path) for path in FILES if calls.search(path.read_text(encoding="utf-8"))}
    assert found == {"course_lib.utils.device"}


def test_the_names_that_it_gives_exist():
    for package, names in ON_PAGE:
        module = importlib.import_module(f"course_lib.{package}")
        files = {one for path in (PACKAGE / package).iterdir() for one in (path.name, path.stem)}
        found = re.findall(r"`([\w.]+)`", names)
        assert [name for name in found if name not in files and not hasattr(module, name)] == []


def test_every_package_has_a_level():
    assert {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name[0] not in "_."} == set(
        LAYERS
    )


def test_imports_point_down():
    for path in FILES:
        for other in imported_packages(path.read_text(encoding="utf-8")):
            assert LEVEL[other] <= LEVEL[package_of(path)], f"{path} imports {other}, which is above it"


CHAPTER = re.compile(r"course_lib\.chapters(?:\.| import )(ch\w+)")
MAY_SHOW_CHAPTERS = {  # beside the chapter's notebooks and its tests: the gallery, and what makes the site
    "chapters/gallery.py",
    "chapters/train_models.py",
    "cli/maps_page.py",
}


def test_nothing_uses_a_chapter_but_its_own_files_and_its_notebooks():
    """Only an appendix and the project of chapter 11, which come back to earlier chapters, may use theirs."""
    for path in [*FILES, *PACKAGE.parent.glob("notebooks/*.ipynb")]:
        used = set(CHAPTER.findall(path.read_text(encoding="utf-8")))
        if path.suffix == ".ipynb":
            own = f"ch{path.stem[:2]}_"
        else:
            name = path.relative_to(PACKAGE).as_posix()
            own = "ch" if name in MAY_SHOW_CHAPTERS else path.parent.name
        if own.startswith(("chA", "ch11")):
            own = "ch"
        assert all(chapter.startswith(own) for chapter in used), f"{path} uses {used}"


def test_shapes_are_checked_in_every_module_with_shapes(pytestconfig):
    checked = tuple(f"{one}." for one in pytestconfig.getoption("jaxtyping_packages").split(",")[:-1])
    shape = re.compile(r'\w\[\w*Tensor, "')
    shaped = {module_of(path) for path in FILES if shape.search(path.read_text(encoding="utf-8"))}
    unchecked = {name for name in shaped if not f"{name}.".startswith(checked)}
    assert {name for name in unchecked if not name.startswith("course_lib.exercises.")} == set()
    assert len(shaped) > 50


def test_an_import_upwards_would_be_seen():
    assert imported_packages("def f():\n    from course_lib.training.trainer import train") == {"training"}
    assert imported_packages("from course_lib import text, layers") == {"text", "layers"}
    assert imported_packages("import course_lib.text.bleu") == {"text"}


def test_no_test_file_imports_another():
    for path in TESTS.rglob("*.py"):
        names = imported(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        assert not {part for name in names for part in name.split(".") if part.startswith("test_")}, path


def test_conftest_names_only_files_that_exist():
    named = re.findall(r"\btest_\w+\.py\b", (TESTS / "conftest.py").read_text(encoding="utf-8"))
    assert named and set(named) <= {path.name for path in TESTS.rglob("*.py")}


def test_no_modules_import_each_other():
    modules = {module_of(path): path for path in FILES}
    graph = {}
    for name, path in modules.items():
        names = imported(ast.parse(path.read_text(encoding="utf-8")).body)
        # `from a.b import c` imports the module a.b.c where there is one, else a.b
        found = {one if one in modules else one.rpartition(".")[0] for one in names}
        graph[name] = (found & set(modules)) - {name}
    list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError


def test_packages_offer_what_they_list():
    for package in ("course_lib", *(f"course_lib.{name}" for name in LAYERS)):
        module = importlib.import_module(package)
        offered = {name: getattr(module, name) for name in getattr(module, "__all__", ())}
        assert not [name for name, one in offered.items() if one is None], package
        assert not [name for name, one in offered.items() if isinstance(one, type(sys))], "hidden by a module"
        assert set(offered) <= set(dir(module))


def top_level_imports(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imported(ast.parse(path.read_text(encoding="utf-8")).body)}


def test_the_commands_start_with_the_standard_library_alone():
    for name in STANDARD_LIBRARY_ONLY:
        assert top_level_imports(PACKAGE / name) <= set(sys.stdlib_module_names) | {"course_lib"}, name


def test_importing_the_course_does_not_import_torch():
    code = "import course_lib, course_lib.cli.environment, sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parent)
    assert done.stdout.strip() == "False", done.stderr
