"""Every widget in JupyterLab and on the page of `present`: it appears, and all its controls move it.

In JupyterLab by the keys, of which it takes some for itself, and on the other page by the mouse.
"""

import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from helpers.browser.moves import BY_KEYS, BY_MOUSE, every_move
from helpers.browser.pages import FRONT_ENDS, opened, page_of
from helpers.browser.report import ARTIFACTS

from course_lib.chapters.gallery import BROWSER_DRAWN, EXHIBITS, Exhibit

EXPLORERS = [exhibit for exhibit in EXHIBITS if exhibit.widget not in BROWSER_DRAWN]
MOVES = {"JupyterLab": BY_KEYS, "Voilà": BY_MOUSE}


@pytest.fixture(scope="module", params=FRONT_ENDS)
def front_end(request, browser, report) -> Iterator:
    """A page with the gallery, its troubles, and what it is called."""
    name, open_page = FRONT_ENDS[request.param]
    server = request.getfixturevalue(name)
    with page_of(browser) as (page, trouble):
        start = time.perf_counter()
        open_page(page, server)
        page.locator(".course-gallery .mx-card").first.wait_for(timeout=60_000)
        report.opened[request.param] = time.perf_counter() - start
        yield request.param, page, trouble, server


@pytest.mark.parametrize("exhibit", EXPLORERS, ids=lambda one: one.widget)
def test_every_control_moves_the_picture_and_the_text(front_end, exhibit: Exhibit, report) -> None:
    name, page, trouble, _ = front_end
    frame = opened(page, exhibit)
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
