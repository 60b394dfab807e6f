"""Slides in Chromium without a network: none overflows, code is large enough, formulas are drawn."""

from pathlib import Path

import pytest
from helpers.browser.pages import page_of

from course_lib.__main__ import main
from course_lib.cli.environment import ROOT
from course_lib.cli.slide_types import HEIGHT, MOST, WIDTH

SHORT = ROOT / "notebooks" / "01_softmax_and_scaling.ipynb"
SIZES = """() => {
  document.body.classList.add("measured");
  const slides = [...document.querySelectorAll(".slides section section")].map(slide => ({
    text: slide.innerText.slice(0, 60), height: slide.scrollHeight, width: slide.scrollWidth,
    code: Math.min(99, ...[...slide.querySelectorAll("pre")].map(
      code => parseFloat(getComputedStyle(code).fontSize))),
  }));
  document.body.classList.remove("measured");
  return slides;
}"""


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("slides")
    assert main(["slides", str(SHORT), "--to", str(folder)]) == 0
    with page_of(browser, WIDTH, HEIGHT, offline=True) as (page, _):
        page.goto((folder / f"{SHORT.stem}.slides.html").as_uri())
        page.wait_for_function("window.Reveal && Reveal.isReady()", timeout=60_000)
        yield page


def test_there_are_not_too_many_slides_and_none_overflows(page):
    slides = page.evaluate(SIZES)
    assert 10 < len(slides) <= MOST
    assert [slide for slide in slides if slide["height"] > HEIGHT or slide["width"] > WIDTH] == []
    assert [slide for slide in slides if slide["code"] < 20] == []


def test_formulas_are_drawn_without_a_network(page):
    assert page.locator("mjx-container svg").count() > 0
    assert page.locator("[data-mml-node=merror]").count() == 0


def test_the_arrow_keys_move_on(page):
    page.keyboard.press("ArrowRight")
    page.wait_for_function("Reveal.getIndices().h === 1")


def test_an_output_appears_after_its_question(page):
    output = page.locator(".fragment").first
    assert output.evaluate("output => getComputedStyle(output).visibility") == "hidden"
    output.evaluate(
        "output => { const {h, v} = Reveal.getIndices(output.closest('section')); Reveal.slide(h, v); }"
    )
    page.keyboard.press("Space")
    page.wait_for_function("getComputedStyle(document.querySelector('.fragment')).visibility === 'visible'")


def test_the_notes_open_in_a_second_window(page):
    with page.expect_popup() as second:
        page.keyboard.press("s")
    second.value.wait_for_load_state()
    notes = page.locator("aside.notes")
    assert notes.count() > 10 and "Goals." in notes.first.inner_text()
