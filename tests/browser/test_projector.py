"""On the page of `present`, every widget lies in the window of a projector: nothing needs to be scrolled."""

from collections.abc import Iterator

import pytest

pytest.importorskip("playwright", reason="needs a browser: python -m course_lib test --browser")

from helpers.browser.moves import Frame  # noqa: E402
from helpers.browser.pages import open_chapter, open_voila, page_of  # noqa: E402
from helpers.browser.report import ARTIFACTS  # noqa: E402

from course_lib.widgets.gallery import BROWSER_DRAWN, EXHIBITS, Exhibit  # noqa: E402

SIZES = ((1280, 720), (1920, 1080))
DRAWN = [exhibit for exhibit in EXHIBITS if exhibit.widget not in BROWSER_DRAWN]  # it has its own tests
SMALLEST = 0.38  # of the window's width: a picture
LETTERS = 1 / 45  # of the window's height: the line of text
OUTSIDE = """frame => [...frame.querySelectorAll("*")].flatMap(part => {
  const {left, top, right, bottom, width, height} = part.getBoundingClientRect();
  const inside = left >= 0 && top >= 0 && right <= innerWidth + 1 && bottom <= innerHeight + 1;
  const name = `${part.tagName} ${part.className}: ${left}-${right}, ${top}-${bottom}`;
  return inside || !width || !height ? [] : [name];
})"""
PICTURE = """frame => {
  const pictures = [...frame.querySelectorAll("img")].map(picture => {
    const {width, height} = picture.getBoundingClientRect();
    return Math.min(width, height * picture.naturalWidth / picture.naturalHeight);
  });
  const maps = [...frame.querySelectorAll("canvas")].map(map => map.getBoundingClientRect());
  const together = Math.max(...maps.map(map => map.right)) - Math.min(...maps.map(map => map.left));
  return Math.max(...pictures, together);
}"""
SCROLLS = "[...document.querySelectorAll('html, body')].some(page => page.scrollHeight > innerHeight)"


@pytest.fixture(scope="module", params=SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def projector(request, browser, voila) -> Iterator:
    with page_of(browser, *request.param) as (page, _):
        open_voila(page, voila)
        yield page, *request.param


@pytest.mark.parametrize("exhibit", DRAWN, ids=lambda one: one.widget)
def test_it_fits_without_scrolling(projector, exhibit: Exhibit) -> None:
    page, width, height = projector
    open_chapter(page, exhibit)
    frame = Frame(page, exhibit.widget)
    frame.appears()
    page.screenshot(path=ARTIFACTS / f"{width}x{height}-{exhibit.widget}.png")
    place = frame.place.first
    assert place.evaluate(OUTSIDE) == []
    assert not page.evaluate(SCROLLS)
    assert place.evaluate(PICTURE) >= SMALLEST * width
    line = place.locator('[role="status"]').first
    assert line.evaluate("line => parseFloat(getComputedStyle(line).fontSize)") >= LETTERS * height


def test_what_lies_outside_is_found(browser) -> None:
    with page_of(browser, *SIZES[0]) as (page, _):
        page.set_content('<div id="frame"><p>in</p><p style="position: absolute; top: 715px">out</p></div>')
        assert len(page.locator("#frame").evaluate(OUTSIDE)) == 1
        assert not page.evaluate(SCROLLS.replace("innerHeight", "800"))
