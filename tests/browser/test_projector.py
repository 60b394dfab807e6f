"""On the page of `present`, every widget lies in the window of a projector: nothing needs to be scrolled."""

import io
import time
from collections.abc import Iterator

import numpy as np
import psutil
import pytest
from helpers.browser.moves import Frame
from helpers.browser.pages import contrast, open_voila, opened, page_of
from helpers.browser.report import ARTIFACTS
from helpers.browser.servers import Server, presented
from helpers.contrast import contrast as ratio
from matplotlib.colors import to_hex
from PIL import Image

from course_lib.chapters.gallery import BROWSER_DRAWN, EXHIBITS, Exhibit, exhibits
from course_lib.experiments.real_translator import SENTENCES
from course_lib.viz.style import PALETTE
from course_lib.widgets.layout import DARK

SIZES = ((1280, 720), (1920, 1080))
DRAWN = [exhibit for exhibit in EXHIBITS if exhibit.widget not in BROWSER_DRAWN]
SMALLEST = 0.38  # of the window's width: a picture
LETTERS = 1 / 45  # of the window's height: the line of text
OUTSIDE = """frame => [...frame.querySelectorAll("*")].flatMap(part => {
  const {left, top, right, bottom, width, height} = part.getBoundingClientRect();
  if (part.closest(".course-words")?.contains(part.parentElement)) return []; // it may scroll
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
# maps and controls of which the box around them shows only a part; fields and menus may be longer, and text
# may scroll
CUT = """frame => [...frame.querySelectorAll("*")].filter(part => {
  const {overflowX, overflowY, clipPath} = getComputedStyle(part);
  const tall = overflowY !== "visible" && part.scrollHeight > part.clientHeight + 2;
  const wide = overflowX !== "visible" && part.scrollWidth > part.clientWidth + 2;
  const shown = part.clientHeight > 1 && clipPath === "none" && !part.matches("input, select, canvas");
  const scrolls = part.closest(".attention-map-rows, .attention-map-columns, .course-words");
  return shown && (tall || wide) && !scrolls;
}).map(part => `${part.className}: ${part.scrollWidth} in ${part.clientWidth}, ` +
  `${part.scrollHeight} in ${part.clientHeight}`)"""
MODEL_LETTERS = 17 / 720  # of the window's height: every text of the model explorer
SMALLEST_LETTERS = """mx => {
  const written = (part) => [...part.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
  const parts = [...mx.querySelectorAll("*")].filter(part => part.getClientRects().length && written(part));
  return Math.min(...parts.map(part => parseFloat(getComputedStyle(part).fontSize) * mx.style.zoom));
}"""
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
    frame = opened(page, exhibit)
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
    opened(page, *exhibits("model"))
    for name in ("model", "decoder-1", "head-1-1", "enlarge", "tokens-decoder", "next"):
        if name != "model":
            page.locator(f'.mx [data-key="{name}"]').first.click()
        for width, height in sizes(page):
            page.screenshot(path=ARTIFACTS / f"{width}x{height}-model_explorer-{name}.png")
            assert not page.evaluate(SCROLLS), name
            assert page.locator(".mx").evaluate(INSIDE), name
            assert page.locator(".mx").evaluate(SMALLEST_LETTERS) >= MODEL_LETTERS * height, name
            assert page.locator(".mx").evaluate("mx => mx.getBoundingClientRect().width") > 0.9 * width


def test_a_long_text_below_a_map_leaves_it_whole_and_large(projector) -> None:
    page = projector
    frame = opened(page, *exhibits("translation"))
    frame.place.locator("select").first.select_option(index=len(SENTENCES) - 1)  # hypotheses of several lines
    beams = frame.place.locator(".noUi-handle").first
    beams.press("End")
    frame.place.locator("tr").nth(5).wait_for()  # five hypotheses below their heads
    cells = frame.place.locator(".attention-map-cells").first
    for _, height in sizes(page):
        assert frame.place.first.evaluate(CUT) == []
        assert cells.evaluate("cells => cells.getBoundingClientRect().height") >= 0.2 * height
        assert not page.evaluate(SCROLLS)


def test_maps_keep_their_numbers_on_a_small_projector(browser, voila) -> None:
    with page_of(browser, 1024, 768) as (page, _):
        open_voila(page, voila)
        for name in ("mask", "scoring"):
            frame = opened(page, exhibits(name)[0])
            page.wait_for_timeout(500)
            numbers = frame.place.locator(".attention-map-numbers > span")
            assert numbers.evaluate_all(
                "spans => spans.length && spans.every(span => span.offsetWidth > 0)"
            ), name
            assert not page.evaluate(SCROLLS)


def test_the_notes_open_in_a_second_window_and_follow(projector) -> None:
    page = projector
    first, second = exhibits("02")[:2]
    opened(page, first)
    with page.expect_popup() as popup:
        page.get_by_role("button", name="Notes").click()
    window = popup.value
    window.get_by_text(first.seen).wait_for()
    assert page.get_by_text(first.seen).count() == 0
    opened(page, second)
    window.get_by_text(second.seen).wait_for()
    window.close()


def test_a_dark_page_is_readable_on_a_light_system(browser, tmp_path) -> None:
    with presented(tmp_path, "model", dark=True) as server:
        with page_of(browser, *SIZES[0], color_scheme="light") as (page, _):
            open_voila(page, server)
            Frame(page, "model_explorer").appears()
            page.locator(".mx.mx-dark").wait_for()
            assert not contrast(page.locator(".mx"))


def test_pictures_follow_a_dark_page_and_photographs_stay(browser, tmp_path) -> None:
    with presented(tmp_path, "patch", dark=True) as server:
        with page_of(browser, *SIZES[0], color_scheme="light") as (page, _):
            open_voila(page, server)
            Frame(page, "patch_explorer").appears()
            page.locator(".course-explorer.course-dark").wait_for()
            dark = pixels(page.locator("img.course-photos"))
            page.evaluate("for (const e of document.querySelectorAll('.course-dark')) "
                          "e.classList.remove('course-dark')")  # fmt: skip
            light = pixels(page.locator("img.course-photos"))
    same = (dark == light).all(axis=-1)
    assert dark[2, 2].max() < 50 and light[2, 2].min() > 200
    height, width = same.shape
    assert same[height // 4 : height // 2, width // 20 : width // 4].all()  # the photograph


def test_a_light_page_keeps_its_white_pictures_on_a_dark_system(projector) -> None:
    page, exhibit = projector, exhibits("softmax")[0]
    page.emulate_media(color_scheme="dark")
    opened(page, exhibit)
    try:
        assert page.locator(".course-dark").count() == 0
        corner = pixels(page.locator(f".course-{exhibit.widget} img.course-picture").first)[2, 2]
        assert corner.min() == 255
    finally:
        page.emulate_media(color_scheme="light")


def test_colors_that_stand_out_from_white_stand_out_on_a_dark_page(browser) -> None:
    graphics = [color for color in (*PALETTE, "0.6", "0.5") if ratio(color, "white") >= 2.95]
    letters = ["0.15", "0.4", "black"]
    swatch = "<p class='course-words'><b style='background: {0}; width: 20px; height: 20px'></b></p>"
    colors = [to_hex(color) for color in ("white", *graphics, *letters)]
    with page_of(browser, 400, 600) as (page, _):
        page.set_content(
            f"{DARK}<style>b {{ display: block }} p {{ margin: 0 }} body {{ margin: 0; background: #212121 }}"
            f"</style><div class='course-dark'>{''.join(map(swatch.format, colors))}</div>"
        )
        ground, *seen = pixels(page.locator("body"))[10 : 20 * len(colors) : 20, 10] / 255
    assert ground.max() < 0.1
    assert [ratio(one, ground) >= 3 for one in seen[: len(graphics)]] == [True] * len(graphics)
    assert [ratio(one, ground) >= 4.5 for one in seen[len(graphics) :]] == [True] * len(letters)


def pixels(place) -> np.ndarray:
    """What is seen there."""
    return np.asarray(Image.open(io.BytesIO(place.screenshot())).convert("RGB"))


def test_a_page_that_is_reloaded_or_closed_ends_its_kernel(browser, tmp_path, monkeypatch) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "voila.json").write_text('{"Voila": {"base_url": "/elsewhere/"}}')
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "mine"))  # a user's settings change nothing
    with presented(tmp_path, "softmax") as server, page_of(browser, *SIZES[0]) as (page, _):
        open_voila(page, server)
        page.reload(timeout=90_000)
        page.locator(".course-gallery").wait_for(timeout=90_000)
        assert len(kernels(server, most=1)) == 1
        page.close(run_before_unload=True)
        assert kernels(server, most=0) == []


def kernels(server: Server, most: int) -> list[psutil.Process]:
    """The kernels of a server, after waiting until there are no more than `most`."""
    for _ in range(50):
        children = psutil.Process(server.pid).children()
        found = [one for one in children if one.status() != psutil.STATUS_ZOMBIE]
        if len(found) <= most:
            break
        time.sleep(0.2)
    return found


def test_what_lies_outside_is_found(browser) -> None:
    with page_of(browser, *SIZES[0]) as (page, _):
        page.set_content('<div id="frame"><p>in</p><p style="position: absolute; top: 715px">out</p></div>')
        assert len(page.locator("#frame").evaluate(OUTSIDE)) == 1
        assert not page.locator("#frame").evaluate(CUT)
        page.locator("p").first.evaluate("p => p.style = 'height: 8px; overflow: hidden'")
        assert len(page.locator("#frame").evaluate(CUT)) == 1
        assert not page.evaluate(SCROLLS.replace("innerHeight", "800"))
