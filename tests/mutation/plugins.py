"""What pytest is told: to watch the near tests once without a fault, and then to run chosen ones."""

import signal
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest

SLOW = 5  # seconds of computing: a slower test is not used


class Baseline:
    """A pytest plugin: how long each test takes, which fail, and which functions of the library each runs.

    What runs while a test is set up counts for its whole file: fixtures and caches are shared there.
    """

    def __init__(self, package: Path):
        self.package = str(package)
        self.seconds: Counter[str] = Counter()
        self.functions: defaultdict[str, set[str]] = defaultdict(set)
        self.failed: set[str] = set()

    def _run(self, where: str):
        found, package, before = self.functions[where], self.package, time.process_time()

        def look(frame, event, _):
            if event == "call" and frame.f_code.co_filename.startswith(package):
                name = frame.f_code.co_qualname.replace(".<locals>", "").partition(".<")[0]
                found.add(f"{frame.f_code.co_filename[len(package) - len('course_lib') :]}:{name}")

        def stop(*_):
            raise TimeoutError(f"a test of more than {SLOW} s")

        signal.signal(signal.SIGPROF, stop)
        signal.setitimer(signal.ITIMER_PROF, SLOW)
        sys.setprofile(look)
        try:
            return (yield)
        finally:
            sys.setprofile(None)
            signal.setitimer(signal.ITIMER_PROF, 0)
            self.seconds[where] += time.process_time() - before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item):
        return (yield from self._run(item.nodeid.partition("::")[0]))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        return (yield from self._run(item.nodeid))

    def pytest_runtest_logreport(self, report):
        if report.outcome != "passed":
            self.failed.add(report.nodeid)


class Chosen:
    """A pytest plugin: only these tests, in this order; `failed` is the first that fails."""

    def __init__(self, names: list[str]):
        self.order = {name: i for i, name in enumerate(names)}
        self.failed: str | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = sorted((i for i in items if i.nodeid in self.order), key=lambda i: self.order[i.nodeid])

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_collectreport(self, report):
        if report.failed:
            self.failed = self.failed or report.nodeid
