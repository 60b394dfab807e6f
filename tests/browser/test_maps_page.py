"""The page of attention maps, from the disk without a network: what it says is what the kernel would say."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from helpers.browser.memory import MOVES, Growth
from helpers.browser.pages import contrast, from_disk, page_of, violations
from helpers.browser.report import ARTIFACTS
from playwright.sync_api import Locator, Page, expect

from course_lib.chapters.ch06_translation.translation_trace import write
from course_lib.cli import explorer_page, maps_page
from course_lib.experiments.real_gpt import real_gpt
from course_lib.experiments.real_translator import real_translator
from course_lib.widgets.reading import read

ROOM = """maps => maps.map((map) => {
  const box = (place) => {
    const range = document.createRange();
    range.selectNodeContents(place);
    return range.getBoundingClientRect();
  };
  const [name, cells] = ["row-name", "cells"].map((one) => map.querySelector(`.attention-map-${one}`));
  const labels = [...map.querySelectorAll(".attention-map-rows span")].map(box);
  return {gap: Math.min(...labels.map((label) => label.left)) - box(name).right,
    excess: box(name).height - cells.getBoundingClientRect().height};
})"""  # pixels between the rows' name and their labels, and by which the name is longer than the cells


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    file = tmp_path_factory.mktemp("maps") / "maps.html"
    maps_page.main([str(file)])
    return file.as_uri()


@contextmanager
def opened(browser, address: str, width: int = 1280, **more) -> Iterator[Page]:
    with from_disk(browser, address, width, 900, **more) as page:
        for name in maps_page.CONTROLS:
            page.locator(f"#{name} [role=status]").wait_for()
        yield page


@pytest.fixture
def disk(browser, address) -> Iterator[Page]:
    with opened(browser, address) as page:
        yield page


def at(cells: Locator, row: int, column: int, rows: int, columns: int) -> dict[str, float]:
    """The middle of a cell."""
    box = cells.bounding_box()
    return {"x": (column + 0.5) / columns * box["width"], "y": (row + 0.5) / rows * box["height"]}


def test_a_click_chooses_the_query_token_and_hover_shows_the_librarys_weight(disk) -> None:
    text = maps_page.TEXTS["text_attention_explorer"][1]
    reading, place = read(*real_gpt(), text), disk.locator("#text_attention_explorer")
    n = len(reading.ids)
    place.get_by_label("example").select_option(text)
    for label, steps in (("layer", 1), ("head", 1)):
        slider = place.get_by_label(label, exact=True)
        slider.focus()
        for key in ["Home", *["ArrowRight"] * steps]:
            disk.keyboard.press(key)
    cells = place.locator(".attention-map-cells").first
    cells.click(position=at(cells, 7, 4, n, n))
    weight = reading.maps[1, 0, 7, 4].item()
    words = f"query {reading.pieces[7].strip()}, key {reading.pieces[4].strip()}: weight {weight:.3f}"
    expect(place.locator(".attention-map-words").first).to_have_text(words)
    cells.hover(position=at(cells, 7, 4, n, n))
    expect(place.locator(".attention-map-tip").first).to_have_text(words)
    line = place.locator("[role=status]")
    expect(line).to_contain_text("In layer 2, head 1, token 8 ")
    disk.keyboard.press("ArrowDown")
    expect(line).to_contain_text("In layer 2, head 1, token 9 ")
    expect(place.get_by_label("query token", exact=True)).to_have_value("8")  # the index
    assert place.locator("output").first.inner_text() == "9"


@pytest.mark.parametrize("sentence", [maps_page.SENTENCES[3], maps_page.SENTENCES[9]])
def test_ten_sentences_are_translated_as_by_the_library(disk, sentence) -> None:
    place, written = disk.locator("#translation_explorer"), write(*real_translator(), sentence, 4)
    assert place.get_by_label("example").locator("option").count() == 10
    place.get_by_label("example").select_option(sentence)
    place.get_by_label("beam width", exact=True).focus()
    for _ in range(3):
        disk.keyboard.press("ArrowRight")
    line, step = place.locator("[role=status]"), len(written.target)
    expect(line).to_contain_text(f"{written.texts[0]} — Step {step}: ")  # the last one, as with a kernel
    expect(place.locator("tr")).to_have_count(5)  # four hypotheses below their heads
    cells = place.locator(".attention-map-cells").first
    cells.click(position=at(cells, 1, 0, min(14, step), len(written.source)))
    expect(line).to_contain_text(f"Step 2: after [BOS] {written.target[0]} comes {written.target[1]} ")
    weight = written.maps[-1].mean(0)[1, 0].item()
    expect(place.locator(".attention-map-words").first).to_contain_text(f"weight {weight:.3f}")


@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_the_window(browser, address, width) -> None:
    with opened(browser, address, width) as page:
        page.locator("#heads_explorer .attention-map-cells").last.hover()
        page.screenshot(path=ARTIFACTS / f"maps-{width}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_and_operate_it(browser, address, scheme) -> None:
    with opened(browser, address, color_scheme=scheme) as page:
        page.locator("#heads_explorer .attention-map-cells").first.click()
        assert not violations(page)
        assert not contrast(page.locator("main"))


def test_nothing_grows_while_it_is_used(disk, capsys) -> None:
    cells = disk.locator("#translation_explorer .attention-map-cells").first

    def move(times: int) -> None:
        for i in range(times):
            cells.click(position=at(cells, i % 6, i // 6 % 6, 6, 6))

    move(50)
    growth = Growth(disk)
    move(MOVES)
    with capsys.disabled():
        growth.check("translation_explorer from the disk")


@pytest.mark.parametrize("width", [1280, 600])
def test_the_name_of_the_rows_keeps_off_their_labels(browser, tmp_path, monkeypatch, width: int) -> None:
    monkeypatch.setattr(maps_page, "CONTROLS", {"scoring_explorer": {"hidden": None}})  # narrow, long names
    maps_page.main([str(tmp_path / "maps.html")])
    with opened(browser, (tmp_path / "maps.html").as_uri(), width) as page:
        maps = page.locator(".attention-map").evaluate_all(ROOM)
        assert len(maps) == 3
        assert all(one["gap"] >= 5 and one["excess"] <= 1 for one in maps), maps


@pytest.mark.parametrize("missing", ["DecompressionStream", "Array.prototype.at"])
@pytest.mark.parametrize("make", [maps_page, explorer_page], ids=lambda one: one.__name__)
def test_an_older_browser_is_told_so_in_one_sentence(
    browser, tmp_path, make, missing: str, monkeypatch
) -> None:
    monkeypatch.setattr(maps_page, "CONTROLS", {})  # the pages' data take minutes to compute
    monkeypatch.setattr(explorer_page, "EXAMPLES", {"translator": explorer_page.SENTENCES[:1]})
    make.main([str(tmp_path / "page.html")])
    for old in (False, True):
        with page_of(browser) as (page, _):
            if old:
                page.add_init_script(f"delete {missing}")
            page.goto((tmp_path / "page.html").as_uri())
            told = page.get_by_text("This page needs a newer browser")
            assert told.is_visible() == old
