"""One pass over all widgets on a page as wide as a phone, and one in the dark theme."""

from collections.abc import Iterator

import pytest
from helpers.browser.moves import Frame
from helpers.browser.pages import contrast, open_lab, open_voila, opened, page_of
from helpers.browser.report import ARTIFACTS

from course_lib.chapters.gallery import BROWSER_DRAWN, EXHIBITS, Exhibit

EXPLORERS = [exhibit for exhibit in EXHIBITS if exhibit.widget not in BROWSER_DRAWN]
PHONE = 390  # pixels across


@pytest.fixture(scope="module")
def phone(browser, voila) -> Iterator:
    with page_of(browser, PHONE, 844, has_touch=True, device_scale_factor=2) as (page, _):
        open_voila(page, voila)
        yield page


@pytest.fixture(scope="module")
def dark(browser, lab) -> Iterator:
    with page_of(browser) as (page, _):
        open_lab(page, lab)
        page.evaluate(
            "() => { jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'}); }"
        )
        page.locator('body[data-jp-theme-light="false"]').wait_for(state="attached", timeout=30_000)
        yield page


def pictured(page, exhibit: Exhibit, look: str) -> Frame:
    """The widget, drawn, and a picture of it."""
    frame = opened(page, exhibit)
    frame.place.screenshot(path=ARTIFACTS / f"{look}-{exhibit.widget}.png")
    return frame


@pytest.mark.parametrize("exhibit", EXPLORERS, ids=lambda one: one.widget)
def test_a_phone_shows_it_in_its_width(phone, exhibit: Exhibit) -> None:
    frame = pictured(phone, exhibit, "phone")
    assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE
    for part in frame.place.locator("img, select, input, .widget-slider").all():
        box = part.bounding_box()
        assert box is None or box["x"] + box["width"] <= PHONE, part


@pytest.mark.parametrize("exhibit", EXPLORERS, ids=lambda one: one.widget)
def test_dark_text_is_readable(dark, exhibit: Exhibit) -> None:
    frame = pictured(dark, exhibit, "dark")
    assert not contrast(frame.place)
