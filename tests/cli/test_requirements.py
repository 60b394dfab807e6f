"""pyproject.toml, constraints.txt and environment.yml say the same, and what is installed is whole."""

import importlib
import re
import subprocess
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from course_lib import __main__ as command_line
from course_lib.cli.requirements import pinned, project, release, requirements

ROOT = Path(__file__).resolve().parents[2]
ON_CONDA = {"torch": "pytorch", "matplotlib": "matplotlib-base"}


def split(requirement: str) -> tuple[str, str]:
    name, _, bound = requirement.partition(">=")
    return name, bound


def constraints() -> list[str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_a_requirement_is_a_name_and_a_lower_bound():
    for requirement in requirements(("dev", "browser", "site")):
        assert re.fullmatch(r"[a-z][a-z0-9-]*>=\d+(\.\d+)*", requirement), requirement


def test_conda_gets_the_same_packages_with_the_same_bounds():
    lines = (ROOT / "environment.yml").read_text(encoding="utf-8").split("dependencies:")[1].splitlines()
    listed = {line.strip().removeprefix("- ") for line in lines if line.strip().startswith("- ")}
    wanted = {f"{ON_CONDA.get(name, name)}>={bound}" for name, bound in map(split, requirements(("dev",)))}
    assert listed == wanted | {f"python{project()['requires-python']},<3.14", "pip"}


def test_the_console_script_starts_the_commands():
    module, _, function = project()["scripts"]["course"].partition(":")
    assert importlib.import_module(module) is command_line and function == command_line.start.__name__


def test_a_wheel_has_every_file_of_the_package_and_the_tables_where_the_library_looks():
    command = ["git", "ls-files", "-z", "course_lib", "data"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, encoding="utf-8")
    names = done.stdout.rstrip("\0").split("\0")
    packed = {one.path: one.distribution_path for one in WheelBuilder(str(ROOT)).recurse_included_files()}
    places = {name: packed.get(str(ROOT / name)) for name in names}
    assert places == {name: f"course_lib/{name.removeprefix('course_lib/')}" for name in names}


def test_every_requirement_is_pinned_within_its_bound():
    for name, bound in map(split, requirements(("dev", "browser", "site"))):
        assert release(pinned(name).partition("==")[2]) >= release(bound), name


def test_constraints_are_exact_versions_of_any_build():
    for line in constraints():
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[\w.]+", line), line
    names = [line.partition("==")[0].lower().replace("_", "-") for line in constraints()]
    assert len(names) == len(set(names))


def test_d2l_is_installed_by_itself():
    every = [
        *requirements(("dev",)),
        *constraints(),
        (ROOT / "environment.yml").read_text().split("name:")[1],
    ]
    assert not [line for line in every if re.search(r"\bd2l\b", line)]


@pytest.mark.parametrize(
    "version, numbers",
    [("2.11.0+cpu", (2, 11)), ("3.10", (3, 10)), ("2.1rc1", (2, 1)), ("1.0.0", (1,)), ("0", ())],
)
def test_release_reads_the_numbers_of_a_version(version, numbers):
    assert release(version) == numbers


def test_pinned_names_the_package_it_does_not_find():
    with pytest.raises(ValueError, match="no-such-package"):
        pinned("no-such-package")
