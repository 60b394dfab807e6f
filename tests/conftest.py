"""What all tests share: a drawing backend without a screen, the markers, the order, and no silent skips."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import hypothesis
import jaxtyping
import matplotlib
import pytest

# The shape checks change the bytecode of course_lib. What a test process compiles is not stored: with several
# threads, jaxtyping can store it in the place where processes without these checks look.
sys.dont_write_bytecode = True
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
    r"COURSE_DATA is not set|Windows cannot|test --browser"
    r"|only glibc is asked|this system (has no|cannot|knows no)|only Linux says|could not be downloaded"
)
FIRST = (  # the longest of their kind, so that no process is left alone with one in the end
    "test_real_translation.py",
    "06c_measuring_translation.ipynb",
    "A3_the_d2l_system.ipynb",
    "07_gpt_pretraining.ipynb",
)
LAST = ("test_lint.py",)


# `test --device` runs only the tests with the fixture `device`, on this one, and at least so many.
DEVICE, LEAST = os.environ.get("COURSE_TEST_DEVICE"), int(os.environ.get("COURSE_LEAST_TESTS", "0"))
if DEVICE == "second:0":
    os.environ["COURSE_SECOND_DEVICE"] = "1"  # for the notebooks, which other processes run
    from helpers import second_device  # noqa: F401, before course_lib
elif DEVICE:
    os.environ["COURSE_DEVICE"] = DEVICE


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """With `test --device`, files without tests of devices are not imported: most of them."""
    if not DEVICE or not collection_path.match("test_*.py"):
        return None
    uses = re.search(r"def \w+\([^)]*\bdevice\b", collection_path.read_text(encoding="utf-8"))
    return None if uses else True


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Unit tests first, then the notebook lint, then the notebooks; skip what the machine cannot run."""
    items.sort(key=_place)
    if DEVICE:
        config.hook.pytest_deselected(items=[item for item in items if not _uses_device(item)])
        items[:] = filter(_uses_device, items)
    for item in items:
        if item.get_closest_marker("real_data"):
            item.add_marker("slow")
            if not os.environ.get("COURSE_DATA"):
                item.add_marker(pytest.mark.skip(reason="COURSE_DATA is not set"))


def _uses_device(item: pytest.Item) -> bool:
    return "callspec" in vars(item) and item.callspec.params.get("device") == DEVICE


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Too few tests on a device are a failure: the others were left out because something is missing."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")  # xdist's workers have none
    if reporter and (passed := len(reporter.stats.get("passed", ()))) < LEAST:
        reporter.write_line(f"\nonly {passed} tests passed on {DEVICE}; it must be at least {LEAST}")
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


def _place(item: pytest.Item) -> tuple[int, bool]:
    path = Path(item.path)
    return 2 if path.suffix == ".ipynb" else 1 if path.name in LAST else 0, path.name not in FIRST


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> pytest.TestReport:
    return _refuse_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> pytest.CollectReport:
    report = yield
    absent = re.search(r"ModuleNotFoundError: (No module named '(?!course|helpers).*')", str(report.longrepr))
    if DEVICE and report.failed and absent:  # a machine with a GPU may have PyTorch, and not all the rest
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, f"Skipped: {absent[1]}")
    return _refuse_skip(report)


def _refuse_skip(report):
    """With COURSE_STRICT_SKIPS set, a skip for any reason but an expected one is a failure."""
    expected_failure = hasattr(report, "wasxfail")  # pytest files these under "skipped" too
    if report.skipped and not expected_failure and os.environ.get("COURSE_STRICT_SKIPS"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not EXPECTED_SKIPS.search(reason):
            report.outcome = "failed"
            report.longrepr = f"{report.nodeid}: skipped where nothing may be skipped ({reason})"
    return report


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


def devices() -> list[str]:
    """The devices of the tests: CPU, and CUDA where there is one; or what `test --device` names."""
    from course_lib.utils.device import devices_here

    return [DEVICE] if DEVICE else ["cpu", *(name for name in devices_here() if name == "cuda:0")]


@pytest.fixture(scope="session", params=devices())
def device(request: pytest.FixtureRequest) -> str:
    """Each device that the library must work on."""
    return request.param
