"""What the browser tests share: one browser, a server for each front end, and a folder for what they saw.

They run where they are asked for: `python -m course_lib test --browser`.
"""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest

HERE = Path(__file__).parent
ASKED_FOR = os.environ.get("COURSE_BROWSER")
NEEDED = "needs a browser: python -m course_lib test --browser"


class Absent(pytest.Module):
    """A file of tests that cannot be imported here: it is skipped, and the report says why."""

    def collect(self) -> NoReturn:
        pytest.skip(NEEDED, allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Without playwright, no file here can be imported."""
    if find_spec("playwright"):
        return None
    return Absent.from_parent(parent, path=module_path)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip = pytest.mark.skip(reason=NEEDED)
    for item in items:
        if HERE in Path(item.path).parents and not ASKED_FOR:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def browser() -> Iterator["playwright.sync_api.Browser"]:  # noqa: F821 - it is not installed everywhere
    """Chromium without a window."""
    from playwright.sync_api import sync_playwright

    from course_lib.cli.browser import find

    program = find()
    if program is None:
        pytest.skip("there is no Chromium here")
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def report() -> Iterator["Report"]:  # noqa: F821
    """Collects how long pictures took; written at the end."""
    from helpers.browser.report import Report

    found = Report()
    yield found
    found.write()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Server"]:  # noqa: F821
    """JupyterLab on a copy of the instructor's notebook."""
    from helpers.browser.servers import jupyterlab

    with jupyterlab(tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the site, built as for readers; COURSE_SITE names the folder of one just built."""
    from course_lib.__main__ import main

    if built := os.environ.get("COURSE_SITE"):
        folder = Path(built).resolve()
        assert (folder / "index.html").exists(), f"COURSE_SITE={built} holds no site"
    else:
        folder = tmp_path_factory.mktemp("site") / "site"
        assert main(["site", "--to", str(folder)]) == 0
    return folder.as_uri()


@pytest.fixture(scope="session")
def voila(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Server"]:  # noqa: F821
    """What `present` serves."""
    from helpers.browser.servers import presented

    with presented(tmp_path_factory.mktemp("voila")) as server:
        yield server
