"""axe-core finds nothing serious in the notebooks as pages, nor on the page of `present`."""

import re
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="needs a browser: python -m course_lib test --browser")

from helpers.browser.pages import load_axe, open_voila, page_of  # noqa: E402

from course_lib.cli.environment import ROOT  # noqa: E402

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
THEIRS = [".jp-InputPrompt", ".jp-OutputPrompt", ".highlight"]  # what nbconvert colours by itself
# ipywidgets gives neither slider handles a name nor its images another text; the line below an image says it
THEIRS += [".noUi-handle", ".widget-image"]
RUN = """async ([levels, theirs]) => {
  const place = {exclude: theirs.map(one => [one])};
  const found = await axe.run(place, {runOnly: levels, resultTypes: ["violations"]});
  const bad = found.violations.filter(v => ["serious", "critical"].includes(v.impact));
  return bad.map(v => `${v.id}, ${v.nodes.length} times: ${v.help}; first ` +
    `${v.nodes[0].html.slice(0, 300)} ${v.nodes[0].failureSummary.slice(0, 300)}`);
}"""


def violations(page) -> list[str]:
    """What axe-core calls serious or critical, one line for each rule."""
    load_axe(page)
    return page.evaluate(RUN, [LEVELS, THEIRS])


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_as_a_page_has_nothing_serious(browser, notebook: Path, tmp_path) -> None:
    from nbconvert import HTMLExporter

    html, _ = HTMLExporter().from_filename(str(notebook))
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    with page_of(browser) as (page, _):
        page.route(re.compile("^https?:"), lambda route: route.abort())  # nothing here comes from a network
        page.goto((tmp_path / "page.html").as_uri())
        assert not violations(page)


def test_the_page_of_present_has_nothing_serious(browser, voila) -> None:
    with page_of(browser) as (page, _):
        open_voila(page, voila)
        page.locator(".course-gallery img").first.wait_for(timeout=60_000)
        assert not violations(page)


def test_a_violation_would_be_found(browser) -> None:
    with page_of(browser) as (page, _):
        page.set_content('<html lang="en"><title>t</title><p style="color: #bbb">pale</p><img src="x.png">')
        found = " ".join(violations(page))
        assert "color-contrast" in found and "image-alt" in found
