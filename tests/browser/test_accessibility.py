"""axe-core finds nothing serious in the site, notebooks as pages, slides and widgets; names and keys."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.browser.moves import HANDLE, Frame
from helpers.browser.pages import load_axe, open_lab, open_voila, opened, page_of

from course_lib.__main__ import main
from course_lib.chapters.gallery import EXHIBITS, Exhibit, exhibits
from course_lib.cli.environment import ROOT
from course_lib.cli.slides import TEMPLATES

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
SITE = [  # of each kind but the maps and the explorer, whose files have tests of their own
    "index.html",
    "docs/results.html",
    "notebooks/03_multi_head_attention.html",
    "notebooks/08_vision_transformer.html",
    "api/layers.html",
]
STANDS_OUT = """part => {
  const light = (color) => {
    const parts = color.match(/[\\d.]+/g).slice(0, 3).map(Number).map((c) => c / 255)
      .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const back = getComputedStyle(document.body).backgroundColor;
  const page = back.endsWith(", 0)") ? "255 255 255" : back;
  const [low, high] = [getComputedStyle(part).borderTopColor, page].map(light).sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}"""  # contrast of a border with the page
CELLS = "jupyterapp.shell.currentWidget.content.model.cells.length"
RUN = """async levels => {
  const resultTypes = ["violations", "passes", "incomplete"];
  const found = await axe.run(document, {runOnly: levels, resultTypes});
  const bad = found.violations.filter(v => ["serious", "critical"].includes(v.impact));
  const inCode = kind => found[kind].filter(rule => rule.id === "color-contrast").flatMap(rule => rule.nodes)
    .filter(node => document.querySelector(node.target[0])?.closest(".highlight")).length;
  return {
    bad: bad.map(v => `${v.id}, ${v.nodes.length} times: ${v.help}; first ` +
      `${v.nodes[0].html.slice(0, 300)} ${v.nodes[0].failureSummary.slice(0, 300)}`),
    readable: inCode("passes"), unsure: inCode("incomplete"),
  };
}"""  # unsure: a single character, or a text at the edge of what scrolls
CODE = "page => page.querySelectorAll('.jp-InputArea .highlight, pre').forEach(part => part.remove())"
UNFOLD = "() => document.querySelectorAll('details').forEach(details => details.open = true)"


def serious(page) -> dict:
    """What axe-core calls serious or critical, a line for each rule, and how much code it has measured."""
    load_axe(page)
    return page.evaluate(RUN, LEVELS)


def check_page(page) -> None:
    """Nothing serious in the whole page, and the contrast of its code, if it has any, was measured."""
    found = serious(page)
    assert not found["bad"]
    assert found["readable"] > 2 * found["unsure"] or not page.locator(".highlight span[class]").count()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", SITE)
def test_a_page_of_the_site_has_nothing_serious(browser, site, name: str, scheme: str) -> None:
    with page_of(browser, offline=True, color_scheme=scheme) as (page, _):
        page.goto(f"{site}/{name}")
        page.evaluate(UNFOLD)
        page.wait_for_timeout(500)  # the theme fades its colors
        check_page(page)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_as_a_page_has_nothing_serious(browser, notebook: Path, tmp_path) -> None:
    """Code and printed text, which look the same in all of them and take axe-core most time, only once."""
    from nbconvert import HTMLExporter

    html, _ = HTMLExporter().from_filename(str(notebook))
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    with page_of(browser) as (page, _):
        page.route(re.compile("^https?:"), lambda route: route.abort())  # nothing here comes from a network
        page.goto((tmp_path / "page.html").as_uri())
        page.add_style_tag(path=TEMPLATES / "contrast.css")  # as the slides have it
        if notebook != NOTEBOOKS[0]:
            page.locator("body").evaluate(CODE)
        check_page(page)


def test_slides_have_nothing_serious(browser, tmp_path) -> None:
    notebook = ROOT / "notebooks" / "03_multi_head_attention.ipynb"
    assert main(["slides", str(notebook), "--to", str(tmp_path)]) == 0
    with page_of(browser, offline=True) as (page, _):
        page.goto((tmp_path / f"{notebook.stem}.slides.html").as_uri())
        page.wait_for_function("window.Reveal && Reveal.isReady()", timeout=60_000)
        page.evaluate("Reveal.configure({transition: 'none'})")
        slides = page.evaluate("Reveal.getTotalSlides() + document.querySelectorAll('.fragment').length")
        readable = 0
        for _ in range(slides):
            page.evaluate("document.getAnimations().forEach((one) => one.finish())")  # fragments fade in
            found = serious(page)
            assert not found["bad"]
            readable += found["readable"]
            page.keyboard.press("Space")
        assert page.evaluate("Reveal.isLastSlide()") and readable > 10 * slides


@pytest.fixture(scope="module")
def presented(browser, voila) -> Iterator:
    """The page of `present`."""
    with page_of(browser) as (page, _):
        open_voila(page, voila)
        yield page


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda one: one.widget)
def test_a_widget_on_the_page_of_present_has_nothing_serious(presented, exhibit: Exhibit) -> None:
    frame = named(presented, exhibit)
    assert not serious(presented)["bad"]
    for handle in frame.place.locator(HANDLE).all():
        name, value = (handle.get_attribute(f"aria-{which}") for which in ("label", "valuetext"))
        row = handle.locator("xpath=ancestor::*[contains(@class, 'widget-inline-hbox')]").first
        assert name and name in row.inner_text()
        assert value == row.locator(".widget-readout").inner_text()
        assert handle.evaluate(STANDS_OUT) >= 3
        assert handle.locator("xpath=ancestor::*[contains(@class, 'noUi-target')]").evaluate(STANDS_OUT) >= 3
    for picture in frame.place.locator("img:not(.course-photos)").all():  # which lie on the picture
        assert picture.get_attribute("alt") == frame.place.locator('[role="status"]').inner_text().strip()


def test_a_value_is_read_as_it_is_shown(presented) -> None:
    frame = named(presented, exhibits("sampler")[0])
    temperature = frame.place.locator(HANDLE).first
    for _ in range(4):
        temperature.press("ArrowLeft")
    presented.wait_for_function("handle => handle.ariaValueText === '0.6'", arg=temperature.element_handle())
    line = frame.place.locator('[role="status"]')
    presented.wait_for_function(
        "([picture, line]) => picture.alt === line.textContent.trim()",
        arg=[frame.place.locator("img").first.element_handle(), line.element_handle()],
    )


def test_a_key_pressed_inside_a_widget_does_not_cut_the_cell(browser, lab) -> None:
    with page_of(browser) as (page, _):
        open_lab(page, lab)
        frame = named(page, exhibits("schedule")[0])
        cells = page.evaluate(CELLS)
        for control in (frame.place.locator(HANDLE).first, frame.place.locator("button").first):
            control.focus()
            page.keyboard.press("x")
            page.wait_for_timeout(500)
            assert page.evaluate(CELLS) == cells
        page.evaluate("Event.prototype.stopPropagation = () => {}")
        page.evaluate(
            "addEventListener('keydown', e => e.target.removeAttribute('data-lm-suppress-shortcuts'), true)"
        )
        page.keyboard.press("x")
        page.wait_for_function(f"{CELLS} === {cells - 1}")  # what would happen otherwise


def named(page, exhibit: Exhibit) -> Frame:
    """The widget, drawn, with the names that it gets."""
    frame = opened(page, exhibit)
    frame.place.locator('[aria-label], [aria-pressed], img[alt]:not([alt=""])').first.wait_for()
    return frame


def test_a_violation_would_be_found(browser) -> None:
    with page_of(browser) as (page, _):
        page.set_content('<html lang="en"><title>t</title><p style="color: #bbb">pale</p><img src="x.png">')
        found = " ".join(serious(page)["bad"])
        assert "color-contrast" in found and "image-alt" in found
