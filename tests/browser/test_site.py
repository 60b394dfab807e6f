"""The site in Chromium, from the disk and without a network: pages, search, phones, the dark."""

import pytest
from helpers.browser.pages import from_disk, page_of

from course_lib.chapters.ch03_heads.head_task_model import look
from course_lib.chapters.ch03_heads.heads_widget import SENTENCE

CHAPTER = "notebooks/01_softmax_and_scaling.html"


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["index.html", CHAPTER, "api/layers.html", "docs/teaching.html"])
def test_a_page_fits_its_window_and_asks_the_web_for_nothing(browser, site, name, width):
    with from_disk(browser, f"{site}/{name}", width, 900) as page:
        page.wait_for_timeout(500)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        figures = page.locator(".cell_output img").evaluate_all(
            "all => all.filter(one => one.clientWidth).map(one => [one.clientWidth, one.naturalWidth / 2])"
        )
        assert bool(figures) == (name == CHAPTER)
        assert all(shown >= min(own, 500) for shown, own in figures)  # its text can be read


def test_the_front_page_leads_to_the_model_explorer_and_this_to_chapters(browser, site):
    with from_disk(browser, f"{site}/index.html") as page:
        page.get_by_role("link", name="Open the model explorer").click()
        page.locator(".mx-card", has_text="Encoder block 2").click()
        chapter = page.get_by_role("link", name="Chapter 3: Multi-head attention")
        page.goto(f"{site}/{chapter.get_attribute('href')}")
        assert "Multi-head attention" in page.title()


def test_a_map_in_a_chapter_is_alive_from_the_disk(browser, site):
    with from_disk(browser, f"{site}/notebooks/03_multi_head_attention.html", 1280, 900) as page:
        live = page.locator('[data-map="heads_explorer"]')
        maps = live.locator(".attention-map")
        assert maps.count() == 4
        assert live.locator("xpath=ancestor::*[contains(@class, 'cell_output')]//img").is_hidden()
        cells = maps.nth(1).locator(".attention-map-cells")
        box = cells.bounding_box()
        place = {"x": 0.5 / 6 * box["width"], "y": 2.5 / 6 * box["height"]}
        cells.hover(position=place)
        weight = look(4, SENTENCE.split())[0][1, 2, 0].item()
        tip = maps.nth(1).locator(".attention-map-tip").inner_text()
        assert tip == f"query is, key your: weight {weight:.3f}"
        cells.click(position=place)
        assert "the query is (word 3)" in live.locator('[role="status"]').inner_text()


def test_a_map_in_a_chapter_follows_the_theme(browser, site):
    with from_disk(
        browser, f"{site}/notebooks/02_bmm_and_masking.html", 1280, 900, color_scheme="dark"
    ) as page:
        first = page.locator(".attention-map").first
        assert "dark" in first.get_attribute("class")
        page.evaluate("document.documentElement.dataset.theme = 'light'")
        page.wait_for_function("map => !map.classList.contains('dark')", arg=first.element_handle())


def test_formulas_pictures_and_folded_cells(browser, site):
    with from_disk(browser, f"{site}/{CHAPTER}") as page:
        page.locator("mjx-container svg").first.wait_for()
        assert page.locator("[data-mml-node=merror]").count() == 0
        pictures = page.locator(".cell_output img:visible")
        assert pictures.count() >= 4
        for picture in pictures.all():
            assert len(picture.get_attribute("alt")) >= 40
            assert picture.evaluate("picture => picture.naturalWidth") > 0
        code = page.locator("pre", has_text="first_cell.start()").first
        assert not code.is_visible()
        page.locator("details.hide summary", has_text="Setup").click()
        assert code.is_visible()


def test_search_works_from_the_disk(browser, site):
    with page_of(browser, offline=True) as (page, _):
        page.goto(f"{site}/search.html?q=rotary")
        page.locator("#search-results li a", has_text="Positional").first.wait_for()


def test_it_can_be_dark(browser, site):
    with from_disk(browser, f"{site}/{CHAPTER}", 1280, 900, color_scheme="dark") as page:
        red, green, blue = page.evaluate(
            "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
        )
        assert max(red, green, blue) < 60
