"""The next day in JupyterLab: a notebook that was run, saved and closed shows the pictures of its widgets."""

import json
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from helpers.browser.moves import HANDLE
from helpers.browser.pages import IDLE, do, page_of
from helpers.browser.report import ARTIFACTS

from course_lib.cli import notebook_io
from course_lib.cli.saving import WIDGET_VIEW

CELLS = (
    "from course_lib.chapters.ch01_softmax import softmax_explorer\nsoftmax_explorer()",
    "from course_lib.widgets import model_explorer\nmodel_explorer(tour=True)",
)
SAVED = "() => !jupyterapp.shell.currentWidget.context.model.dirty"
CUT = "jupyterapp.shell.currentWidget.content.model.cells.length"


def opened(page, server, name: str) -> None:
    page.goto(server.url(f"lab/tree/{name}") + "&reset")
    page.wait_for_function("() => !!window.jupyterapp", timeout=60_000)
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
    do(page, "application:toggle-left-area")


@pytest.fixture(scope="module")
def saved(browser, lab) -> Iterator[str]:
    """A notebook that was run and saved by Ctrl+S with the focus in a widget, and whose kernel is gone."""
    name, folder = "second_day.ipynb", lab.log.parent
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    nb = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": notebook_io.KERNEL})
    (folder / name).write_text(nbformat.v4.writes(nb), encoding="utf-8")
    with page_of(browser) as (page, _):
        opened(page, lab, name)
        page.wait_for_function(IDLE, timeout=60_000)
        do(page, "notebook:run-all-cells")
        card = page.locator(".mx-card").first
        card.wait_for(timeout=120_000)
        page.wait_for_function(IDLE, timeout=60_000)  # later output would make the saved notebook dirty again
        for control in (page.locator(f".course-explorer :is({HANDLE})").first, card):
            page.evaluate("jupyterapp.shell.currentWidget.context.model.dirty = true")
            control.focus()
            page.keyboard.press("x")  # which would cut the cell
            page.keyboard.press("Control+s")
            page.wait_for_function(SAVED, timeout=60_000)
            assert page.evaluate(CUT) == len(CELLS)
        page.screenshot(path=ARTIFACTS / "next-day-before.png")
    sessions = f"{lab.address}/api/sessions"
    for session in json.load(urllib.request.urlopen(f"{sessions}?token={lab.token}")):
        address = f"{sessions}/{session['id']}?token={lab.token}"
        urllib.request.urlopen(urllib.request.Request(address, method="DELETE"))
    yield name


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "untrusted"])
@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_the_pictures_are_seen(browser, lab, saved: str, trusted: bool, theme: str) -> None:
    folder, name = lab.log.parent, saved
    if not trusted:  # as from another computer: the signature is that of other bytes
        name = f"copied_{saved}"
        shutil.copy(folder / saved, folder / name)
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace("Widget: ", "Widget:  "), encoding="utf-8")
    with page_of(browser) as (page, trouble):
        opened(page, lab, name)
        page.evaluate("theme => { jupyterapp.commands.execute('apputils:change-theme', {theme}); }", theme)
        light = "true" if theme.endswith("Light") else "false"
        page.locator(f'body[data-jp-theme-light="{light}"]').wait_for(state="attached")
        pictures = page.locator(".jp-OutputArea-output img")
        pictures.nth(1).wait_for(timeout=30_000)
        page.wait_for_timeout(2500)  # JupyterLab looks two seconds for a widget
        page.screenshot(path=ARTIFACTS / f"next-day-{theme[11:].lower()}-{trusted}.png", full_page=True)
        assert pictures.evaluate_all("all => all.every(one => one.naturalWidth > 400)")
        assert "Error displaying widget" not in page.locator(".jp-Notebook").inner_text()
        cells = "jupyterapp.shell.currentWidget.content.widgets"
        assert page.evaluate(f"{cells}.every(one => one.model.trusted === {str(trusted).lower()})")
        assert not trouble.errors


def test_the_file_has_no_live_view_and_keeps_the_rest(lab, saved: str) -> None:
    nb = nbformat.read(Path(lab.log.parent, saved), 4)
    bundles = [output.data for cell in nb.cells for output in cell.outputs]
    assert [sorted(data) for data in bundles] == [["image/png", "text/plain"], ["text/html"]] * len(CELLS)
    assert WIDGET_VIEW not in str(nb.cells)
