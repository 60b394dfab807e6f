"""Installing the course on Colab changes nothing that is there, judged by a stored list of its packages."""

import importlib.metadata
import re

import pytest
from helpers.colab_packages import carried, rows, twins
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from course_lib.cli.requirements import project, requirements

AT_LEAST = {"scikit-learn": "1.6", "tqdm": "4.67"}  # on Colab in August 2026: these versions or newer ones


def changed(asked: list[str], have: dict[str, str], needs=importlib.metadata.requires) -> list[str]:
    """What pip would change of `have` for the requirements `asked`, those of new packages included.

    needs: the requirements of a package by its name; here those of the newest version that was tested.
    """
    problems, seen, waiting = [], set(), list(asked)
    while waiting:
        one = Requirement(waiting.pop())
        name = canonicalize_name(one.name)
        if one.marker and not one.marker.evaluate({"extra": "", "python_version": "3.13"}):
            continue
        if name not in have:
            waiting += (needs(name) or []) if name not in seen else []
            seen.add(name)
        elif have[name] and not one.specifier.contains(have[name]):
            problems.append(f"{one} (Colab has {have[name]})")
    return problems


def test_the_list_holds_facts_alone():
    names = [row["name"] for row in rows()]
    assert len(set(names)) == len(names) and [canonicalize_name(name) for name in names] == names
    for row in rows():
        assert re.fullmatch(r"(\d+(\.\d+)+)?", row["version"]) and re.fullmatch(r"20\d\d-\d\d", row["seen"])


def test_the_set_up_cell_changes_no_package_of_colab():
    assert changed(requirements(), carried() | AT_LEAST) == []


def test_a_requirement_that_is_too_new_is_seen():
    have = {"numpy": "2.1.3", "matplotlib": "3.10.0"}
    assert changed(["numpy>=2.0", "matplotlib>=3.10"], have) == []
    assert changed(["numpy>=2.2"], have) == ["numpy>=2.2 (Colab has 2.1.3)"]
    needs = {"new": ["below>=1", "other; extra == 'all'"], "below": ["numpy>2.3"]}
    assert changed(["new>=0.1"], have, needs.get) == ["numpy>2.3 (Colab has 2.1.3)"]


def test_colabs_python_will_do():
    python = next(row["version"] for row in rows() if row["name"] == "python")
    assert SpecifierSet(project()["requires-python"]).contains(python)


@pytest.mark.parametrize("name", sorted(carried()))
def test_the_twin_has_colabs_version(name):
    version, of_twin = carried()[name], twins().get(name)
    if version and of_twin:
        assert (of_twin + ".").startswith(version + ".")


def test_the_twin_holds_what_a_kernel_of_colab_has_loaded():
    loaded = ("ipywidgets", "ipython", "ipykernel", "jupyter-client", "traitlets", "numpy", "matplotlib")
    for name in (*loaded, "torch"):
        assert twins()[name] == carried()[name]
