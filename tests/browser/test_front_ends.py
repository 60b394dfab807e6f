"""Every widget in JupyterLab and on the page of `present`: it appears, and all its controls move it.

In JupyterLab by the keys, of which it takes some for itself, and on the other page by the mouse.
"""

import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

pytest.importorskip("playwright", reason="needs a browser: python -m course_lib test --browser")

from helpers.browser.moves import BY_KEYS, BY_MOUSE, Frame, every_move  # noqa: E402
from helpers.browser.pages import open_chapter, open_lab, open_voila, page_of  # noqa: E402
from helpers.browser.report import ARTIFACTS  # noqa: E402

from course_lib.chapters.gallery import BROWSER_DRAWN, EXHIBITS, Exhibit  # noqa: E402

EXPLORERS = [exhibit for exhibit in EXHIBITS if exhibit.widget not in BROWSER_DRAWN]
OPEN = {"JupyterLab": open_lab, "Voilà": open_voila}
SERVER = {"JupyterLab": "lab", "Voilà": "voila"}
MOVES = {"JupyterLab": BY_KEYS, "Voilà": BY_MOUSE}


@pytest.fixture(scope="module", params=OPEN)
def front_end(request, browser, report) -> Iterator:
    """A page with the gallery, its troubles, and what it is called."""
    server = request.getfixturevalue(SERVER[request.param])
    with page_of(browser) as (page, trouble):
        start = time.perf_counter()
        OPEN[request.param](page, server)
        page.locator(".course-gallery .mx-card").first.wait_for(timeout=60_000)
        report.opened[request.param] = time.perf_counter() - start
        yield request.param, page, trouble, server


@pytest.mark.parametrize("exhibit", EXPLORERS, ids=lambda one: one.widget)
def test_every_control_moves_the_picture_and_the_text(front_end, exhibit: Exhibit, report) -> None:
    name, page, trouble, _ = front_end
    open_chapter(page, exhibit)
    frame = Frame(page, exhibit.widget)
    frame.appears()
    frame.place.screenshot(path=ARTIFACTS / f"{name}-{exhibit.widget}.png")
    idle = []
    for move, seen in every_move(frame, MOVES[name]):
        report.add(name, exhibit.widget, seen.milliseconds)
        if not seen.everything:
            idle.append(f"{move}: {seen.pictures} new pictures, {seen.texts} new texts")
    errors, trouble.errors = trouble.errors, []
    assert not idle
    assert not errors


def test_nothing_raised_in_the_kernel_and_nothing_left_this_machine(front_end) -> None:
    name, _, trouble, server = front_end
    log = server.log.read_text()
    assert "Traceback" not in log, log[-3000:]
    assert not trouble.foreign


@pytest.mark.parametrize("path", ["", "api/kernels"])
def test_present_asks_for_its_token(voila, path: str) -> None:
    try:
        with urllib.request.urlopen(f"{voila.address}/{path}") as answer:
            assert "/login" in answer.url
    except urllib.error.HTTPError as refusal:
        assert refusal.code in (403, 404)
