"""Runs in the twin alone (`python -m course_lib colab-test`): widgets in JupyterLab, drawn by ipywidgets 7.

Colab has no JupyterLab. What it has in common with this page is ipywidgets 7, in kernel and browser: its
controls, and the sliders of jQuery.
"""

from collections.abc import Iterator

import pytest
from helpers.browser.moves import BY_KEYS, BY_MOUSE, HANDLE, every_move
from helpers.browser.pages import Trouble, open_lab, opened, page_of
from helpers.browser.report import ARTIFACTS

from course_lib.chapters.gallery import EXHIBITS, Exhibit

CHOSEN = {"softmax_explorer", "mask_explorer", "bleu_explorer"}  # among them every kind of control
# jupyterlab_widgets 1.1.11 asks for MathJax 2, and finds that of JupyterLab 4; no widget here needs any
MATHJAX = "Cannot read properties of undefined (reading 'Queue')"


@pytest.fixture(scope="module")
def page(browser, lab) -> Iterator[tuple["playwright.sync_api.Page", Trouble]]:  # noqa: F821
    """JupyterLab with the gallery, and its troubles."""
    with page_of(browser) as (page, trouble):
        open_lab(page, lab)
        yield page, trouble


@pytest.mark.parametrize("exhibit", [e for e in EXHIBITS if e.widget in CHOSEN], ids=lambda one: one.widget)
def test_every_control_moves_the_picture_and_the_text(page, lab, exhibit: Exhibit) -> None:
    page, trouble = page
    frame = opened(page, exhibit)
    frame.place.screenshot(path=ARTIFACTS / f"ipywidgets 7-{exhibit.widget}.png")
    kinds = [frame.place.locator(one).count() > 0 for one in HANDLE.split(", ")]
    assert kinds == [False, True], "these are not the sliders of ipywidgets 7"
    seen = [*every_move(frame, BY_KEYS), *every_move(frame, BY_MOUSE)]
    assert not [move for move, one in seen if not one.everything]
    assert not [error for error in trouble.errors if error != MATHJAX] and not trouble.foreign
    assert "Traceback" not in lab.log.read_text()
