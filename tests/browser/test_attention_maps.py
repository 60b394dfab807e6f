"""Attention maps in both front ends: hover, click, arrow keys; and nothing grows while one is used."""

import re
from collections.abc import Iterator

import pytest
from helpers.browser.memory import MOVES, Growth
from helpers.browser.moves import Frame
from helpers.browser.pages import FRONT_ENDS, opened, page_of
from playwright.sync_api import Page, expect

from course_lib.chapters.ch03_heads.head_task_model import look
from course_lib.chapters.ch03_heads.heads_widget import SENTENCE
from course_lib.chapters.ch08_images.class_attention_widget import least_sure
from course_lib.chapters.ch08_images.class_attention_widget import look as look_at
from course_lib.chapters.ch08_images.confusion_widget import CHANGES, outcome
from course_lib.chapters.ch08_images.digits_vit import digits, digits_model
from course_lib.chapters.gallery import exhibits

WORDS = SENTENCE.split()


class Map:
    """One of the maps of a widget on the page."""

    def __init__(self, frame: Frame, index: int, rows: int, columns: int):
        self.frame, self.rows, self.columns = frame, rows, columns
        self.root = frame.place.locator(".attention-map").nth(index)
        self.cells = self.root.locator(".attention-map-cells")

    def at(self, row: int, column: int) -> dict[str, float]:
        """The middle of a cell, from the upper left corner of the map."""
        box = self.cells.bounding_box()
        x, y = (column + 0.5) / self.columns, (row + 0.5) / self.rows
        return {"x": x * box["width"], "y": y * box["height"]}

    def click(self, row: int, column: int) -> None:
        self.cells.click(position=self.at(row, column))


@pytest.fixture(scope="module", params=FRONT_ENDS)
def front_end(request, browser) -> Iterator[tuple[str, Page]]:
    server, open_page = FRONT_ENDS[request.param]
    with page_of(browser) as (page, trouble):
        open_page(page, request.getfixturevalue(server))
        yield request.param, page
        assert not trouble.errors


def line(frame: Frame):
    return frame.place.locator('[role="status"]')


def test_a_word_is_followed_through_the_heads(front_end) -> None:
    _, page = front_end
    frame = opened(page, *exhibits("heads"))
    second = Map(frame, 1, 6, 6)
    expect(frame.place.locator("img")).to_be_hidden()  # the maps are there in its place
    second.cells.hover(position=second.at(2, 0))
    weight = look(4, WORDS)[0][1, 2, 0].item()
    expect(second.root.locator(".attention-map-tip")).to_have_text(f"query is, key your: weight {weight:.3f}")
    second.click(1, 3)
    expect(line(frame)).to_contain_text("Largest weights for the query cat (word 2)")
    expect(second.root.locator(".attention-map-words")).to_contain_text("query cat, key a: weight")
    page.keyboard.press("ArrowDown")
    expect(line(frame)).to_contain_text("the query is (word 3)")
    expect(frame.place.locator(".attention-map-rows .chosen").first).to_have_text("is")
    page.keyboard.press("Escape")
    expect(line(frame)).not_to_contain_text("Largest weights")
    frame.place.locator(".attention-map-rows span").nth(4).click()
    expect(line(frame)).to_contain_text("the query lovely (word 5)")


def test_cells_are_masked_by_a_click_and_by_the_space_bar(front_end) -> None:
    _, page = front_end
    frame = opened(page, *exhibits("mask"))
    scores = Map(frame, 1, 5, 5)
    scores.click(4, 0)
    expect(line(frame)).to_contain_text("1 cell changed by hand: 11 of 25")
    expect(scores.root.locator(".attention-map-numbers span").nth(20)).to_have_text("-∞")
    page.keyboard.press("Space")
    expect(line(frame)).to_contain_text("12 of 25")


def test_an_entry_of_a_product_is_chosen_by_a_click(front_end) -> None:
    _, page = front_end
    frame = opened(page, *exhibits("bmm"))
    Map(frame, 2, 3, 5).click(2, 4)
    expect(line(frame)).to_contain_text("scores[1, 2, 4] =")
    expect(frame.place.locator(".attention-map").nth(0).locator(".chosen")).to_have_text("2")


def test_a_patch_of_the_image_is_chosen_by_a_click(front_end) -> None:
    _, page = front_end
    frame = opened(page, *exhibits("class_attention"))
    image, weights = Map(frame, 0, 4, 4), Map(frame, 1, 4, 4)
    images = least_sure(digits_model(), digits().test)
    weight = look_at(digits_model(), images[:1]).weights(3, "mean")[2, 1].item()
    image.cells.hover(position=image.at(2, 1))
    expect(image.root.locator(".attention-map-tip")).to_have_text(f"row 3, column 2: weight {weight:.3f}")
    image.click(2, 1)
    expect(line(frame)).to_contain_text(f"in row 3, column 2, gets {weight:.3f}")
    expect(weights.root.locator(".attention-map-cell")).to_be_visible()  # framed on both maps
    page.keyboard.press("ArrowLeft")
    expect(line(frame)).to_contain_text("in row 3, column 1, gets")


def test_a_click_in_the_confusion_matrix_shows_its_images(front_end) -> None:
    _, page = front_end
    frame = opened(page, *exhibits("confusion"))
    matrix, images = Map(frame, 0, 10, 10), Map(frame, 1, 3, 5)
    matrix.cells.hover(position=matrix.at(7, 7))
    tip = matrix.root.locator(".attention-map-tip")
    expect(tip).to_have_text(re.compile(r"true class 7, predicted class 7: \d+ \(\d+\.\d% of the class\)"))
    matrix.click(7, 7)
    expect(images.root.locator(".attention-map-title")).to_contain_text("7 predicted as 7: ")
    images.cells.hover(position=images.at(1, 2))
    shown = outcome(digits_model(), digits().test, CHANGES["original"])
    probability = f"7: {shown.probabilities[shown.behind(7, 7)[7], 7]:.2f}, "
    expect(images.root.locator(".attention-map-tip")).to_contain_text(probability)
    images.click(1, 2)
    expect(line(frame)).to_contain_text(f"Image 8 of these: {probability}")
    matrix.click(0, 9)
    expect(images.cells).to_be_hidden()  # no image is there
    for _ in range(3):  # faster than the kernel answers
        matrix.cells.press("ArrowLeft")
    expect(line(frame)).to_contain_text("No image of class 0 is predicted as 6.")


def test_nothing_grows_while_it_is_used(front_end, capsys) -> None:
    name, page = front_end
    cells = Map(opened(page, *exhibits("heads")), 0, 6, 6)
    how = {"JupyterLab": "keys", "Voilà": "clicks"}[name]
    cells.click(0, 0)
    move(page, cells, how, 50)
    growth = Growth(page)
    move(page, cells, how, MOVES)
    with capsys.disabled():
        growth.check(f"{name}, {how}")


def move(page: Page, cells: Map, how: str, times: int) -> None:
    """Select other cells, by the arrow keys or by clicks."""
    for i in range(times):
        if how == "keys":
            page.keyboard.press("ArrowDown" if i % 10 < 5 else "ArrowUp")
        else:
            cells.click(i % 6, (i // 6) % 6)
        page.wait_for_timeout(15)
