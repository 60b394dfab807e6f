"""What all tests share: a drawing backend without a screen, the markers, the order, and no silent skips."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import hypothesis
import jaxtyping
import matplotlib
import pytest

matplotlib.use("Agg")
hypothesis.settings.register_profile("the same examples in each run", derandomize=True, deadline=None)
hypothesis.settings.load_profile("the same examples in each run")
os.environ["COURSE_PROGRESS"] = ""  # exercises that tests pass are not the user's
# Processes that tests start import the library under test, wherever they run and whatever is installed;
# those that run a program of tests/helpers import its neighbors, too.
TESTS, LIBRARY = Path(__file__).parent, Path(find_spec("course_lib").origin).parents[1]
PATHS = [str(LIBRARY), str(TESTS), os.environ.get("PYTHONPATH")]
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, PATHS))

EXPECTED_SKIPS = re.compile(
    r"no CUDA device|COURSE_DATA is not set|Windows cannot|test --browser"
    r"|only glibc is asked|this system (has no|cannot|knows no)|only Linux says|could not be downloaded"
)
FIRST = ("test_real_translation.py",)  # the longest, so that no process is left alone with it in the end
LAST = ("test_lint.py",)


def pytest_configure(config: pytest.Config) -> None:
    """With COURSE_REQUIRE_CUDA set, it is an error that there is no CUDA device, not a reason to skip."""
    if os.environ.get("COURSE_REQUIRE_CUDA", "0") not in ("", "0") and not _cuda():
        raise pytest.UsageError("COURSE_REQUIRE_CUDA is set, but PyTorch finds no CUDA device here.")


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Unit tests first, then the notebook lint, then the notebooks; skip what the machine cannot run."""
    items.sort(key=_place)
    for item in items:
        if item.get_closest_marker("real_data"):
            item.add_marker("slow")
            if not os.environ.get("COURSE_DATA"):
                item.add_marker(pytest.mark.skip(reason="COURSE_DATA is not set"))
        if item.get_closest_marker("cuda") and not _cuda():
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))


def _place(item: pytest.Item) -> int:
    path = Path(item.path)
    if path.name in FIRST:
        return -1
    return 2 if path.suffix == ".ipynb" else 1 if path.name in LAST else 0


def _cuda() -> bool:
    import torch

    return torch.cuda.is_available()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> pytest.TestReport:
    return _refuse_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> pytest.CollectReport:
    return _refuse_skip((yield))


def _refuse_skip(report):
    """With COURSE_STRICT_SKIPS set, a skip for any reason but an expected one is a failure."""
    expected_failure = hasattr(report, "wasxfail")  # pytest files these under "skipped" too
    if report.skipped and not expected_failure and os.environ.get("COURSE_STRICT_SKIPS"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not EXPECTED_SKIPS.search(reason):
            report.outcome = "failed"
            report.longrepr = f"{report.nodeid}: skipped where nothing may be skipped ({reason})"
    return report


@pytest.fixture(scope="session", autouse=True)
def grammar_without_type_checks() -> None:
    """Make the grammar's pairs without checking types: it has no shapes, and millions of small calls."""
    from course_lib.datasets import grammar

    checked = grammar._pairs

    @cache
    def pairs_without_checks() -> tuple[tuple[str, str], ...]:
        with without_type_checks():
            return checked()

    grammar._pairs = pairs_without_checks


@contextmanager
def without_type_checks() -> Iterator[None]:
    """Within the `with` block, shapes are not checked, as outside of tests."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Wrong arguments reach the library, as they do outside of tests."""
    with without_type_checks():
        yield


@pytest.fixture(scope="module", autouse=True)
def the_style_of_figures() -> Iterator[None]:
    """What the tests of one file change in figures is undone there: the next file would read it."""
    before = dict(matplotlib.rcParams)
    yield
    changed = sorted(key for key, value in matplotlib.rcParams.items() if before[key] != value)
    matplotlib.rcParams.update(before)
    assert not changed, f"a test has left figures with another style: {changed}"


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Small trainings are quickest on one thread, and no two of them compete for the cores."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def devices() -> list[Any]:
    """The devices of the tests: CPU and CUDA, or with COURSE_SECOND_DEVICE the one made of CPU memory."""
    if os.environ.get("COURSE_SECOND_DEVICE"):
        from helpers import second_device

        return [second_device.DEVICE]
    return ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]


@pytest.fixture(params=devices())
def device(request: pytest.FixtureRequest) -> str:
    """Each device that the library must work on."""
    return request.param
