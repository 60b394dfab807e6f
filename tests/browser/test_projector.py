"""On the page of `present`, every widget lies in the window of a projector: nothing needs to be scrolled."""

from collections.abc import Iterator

import pytest

pytest.importorskip("playwright", reason="needs a browser: python -m course_lib test --browser")

from helpers.browser.moves import Frame  # noqa: E402
from helpers.browser.pages import open_chapter, open_voila, page_of  # noqa: E402
from helpers.browser.report import ARTIFACTS  # noqa: E402

from course_lib.chapters.gallery import BROWSER_DRAWN, EXHIBITS, Exhibit, exhibits  # noqa: E402

SIZES = ((1280, 720), (1920, 1080))
DRAWN = [exhibit for exhibit in EXHIBITS if exhibit.widget not in BROWSER_DRAWN]
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
# texts, maps, and controls of which the box around them shows only a part; fields and menus may be longer
CUT = """frame => [...frame.querySelectorAll("*")].filter(part => {
  const {overflowX, overflowY, clipPath} = getComputedStyle(part);
  const tall = overflowY !== "visible" && part.scrollHeight > part.clientHeight + 2;
  const wide = overflowX !== "visible" && part.scrollWidth > part.clientWidth + 2;
  const shown = part.clientHeight > 1 && clipPath === "none" && !part.matches("input, select, canvas");
  return shown && (tall || wide) && !part.closest(".attention-map-rows, .attention-map-columns");
}).map(part => `${part.className}: ${part.scrollWidth} in ${part.clientWidth}, ` +
  `${part.scrollHeight} in ${part.clientHeight}`)"""
INSIDE = "mx => mx.getBoundingClientRect().bottom <= innerHeight"
SCROLLS = "[...document.querySelectorAll('html, body')].some(page => page.scrollHeight > innerHeight)"


@pytest.fixture(scope="module")
def projector(browser, voila) -> Iterator:
    with page_of(browser, *SIZES[0]) as (page, _):
        open_voila(page, voila)
        yield page


def sizes(page) -> Iterator[tuple[int, int]]:
    """Give the window each size in turn."""
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(300)  # the maps follow the text, which arrives after them
        yield width, height


@pytest.mark.parametrize("exhibit", DRAWN, ids=lambda one: one.widget)
def test_it_fits_without_scrolling(projector, exhibit: Exhibit) -> None:
    page = projector
    open_chapter(page, exhibit)
    frame = Frame(page, exhibit.widget)
    frame.appears()
    place, line = frame.place.first, frame.place.locator('[role="status"]').first
    for width, height in sizes(page):
        page.screenshot(path=ARTIFACTS / f"{width}x{height}-{exhibit.widget}.png")
        assert place.evaluate(OUTSIDE) == []
        assert place.evaluate(CUT) == []
        assert not page.evaluate(SCROLLS)
        assert place.evaluate(PICTURE) >= SMALLEST * width
        assert line.evaluate("line => parseFloat(getComputedStyle(line).fontSize)") >= LETTERS * height


def test_the_model_explorer_fills_the_window_without_scrolling(projector) -> None:
    page = projector
    open_chapter(page, exhibits("model")[0])
    Frame(page, "model_explorer").appears()
    for name in ("model", "decoder-1", "head-1-1", "tokens-decoder", "next"):
        if name != "model":
            page.locator(f'.mx [data-key="{name}"]').first.click()
        for width, height in sizes(page):
            page.screenshot(path=ARTIFACTS / f"{width}x{height}-model_explorer-{name}.png")
            assert not page.evaluate(SCROLLS), name
            assert page.locator(".mx").evaluate(INSIDE), name
            assert page.locator(".mx").evaluate("mx => mx.getBoundingClientRect().width") > 0.9 * width


def test_a_long_text_below_a_map_leaves_it_whole(projector) -> None:
    open_chapter(projector, exhibits("translation")[0])
    frame = Frame(projector, "translation_explorer")
    frame.appears()
    beams = frame.place.locator(".noUi-handle").first
    beams.press("End")
    frame.place.locator("tr").nth(5).wait_for()  # five hypotheses below their heads
    for size in sizes(projector):
        assert frame.place.first.evaluate(CUT) == [], size


def test_what_lies_outside_is_found(browser) -> None:
    with page_of(browser, *SIZES[0]) as (page, _):
        page.set_content('<div id="frame"><p>in</p><p style="position: absolute; top: 715px">out</p></div>')
        assert len(page.locator("#frame").evaluate(OUTSIDE)) == 1
        assert not page.locator("#frame").evaluate(CUT)
        page.locator("p").first.evaluate("p => p.style = 'height: 8px; overflow: hidden'")
        assert len(page.locator("#frame").evaluate(CUT)) == 1
        assert not page.evaluate(SCROLLS.replace("innerHeight", "800"))
