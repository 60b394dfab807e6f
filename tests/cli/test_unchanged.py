"""What `refresh` leaves as stored: cells whose code and outputs are the same, up to what varies."""

import base64
import copy
import io

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image

from course_lib.cli.unchanged import counts, keep_unchanged


def png(color: str, size: tuple[int, int] = (3, 2), level: int = 9) -> str:
    file = io.BytesIO()
    Image.new("RGB", size, color).save(file, format="png", compress_level=level)
    return base64.b64encode(file.getvalue()).decode()


def text(printed: str) -> NotebookNode:
    return new_output("stream", name="stdout", text=printed)


def picture(data: str, alt: str = "A line.") -> NotebookNode:
    return new_output("display_data", data={"image/png": data, "text/plain": alt})


def notebook(*outputs: NotebookNode) -> NotebookNode:
    cells = [new_code_cell(f"cell_{i}()", id=f"c{i}", execution_count=i + 1, outputs=[output])
             for i, output in enumerate(outputs)]  # fmt: skip
    return new_notebook(cells=[new_markdown_cell("# Title", id="title"), *cells])


SAME = {
    "numbers behind ≈": (text("≈ 1.20 s, 3,000 tokens\n4\n"), text("≈ 0.95 s, 3,100 tokens\n4\n")),
    "bytes of a picture": (picture(png("red")), picture(png("red", level=0))),
}
DIFFERENT = {
    "a number": (text("loss 1.20\n"), text("loss 1.21\n")),
    "a number beside ≈": (text("a ≈ 1.20\n"), text("a ≈ 1.21\n")),
    "far behind ≈": (text("≈ 93 %\n"), text("≈ 40 %\n")),
    "from zero": (text("≈ 0 right\n"), text("≈ 3 right\n")),
    "words behind ≈": (text("≈ 2 cats\n"), text("≈ 2 dogs\n")),
    "a line more": (text("≈ 2\n"), text("≈ 2\n≈ 2\n")),
    "a sign": (text("≈ -2\n"), text("≈ 2\n")),
    "a pixel's color": (picture(png("red")), picture(png("blue"))),
    "a picture's size": (picture(png("red")), picture(png("red", size=(2, 3)))),
    "no picture": (picture("AAAA"), picture(png("red"))),
    "alt text": (picture(png("red")), picture(png("red"), "Another line.")),
    "where it was printed": (text("2"), new_output("stream", name="stderr", text="2")),
    "kind of output": (text("2"), new_output("execute_result", data={"text/plain": "2"})),
}


@pytest.mark.parametrize(("stored", "new"), [*SAME.values(), *DIFFERENT.values()], ids=[*SAME, *DIFFERENT])
def test_outputs_that_say_the_same_stay_as_stored(stored: NotebookNode, new: NotebookNode) -> None:
    before, after = notebook(stored), notebook(new)
    keep_unchanged(before, after)
    same = any(stored is one for one, _ in SAME.values())
    assert after.cells[1].outputs == [stored if same else new] and stored != new


def test_changed_code_stores_what_it_printed() -> None:
    before, after = notebook(text("≈ 2 s\n")), notebook(text("≈ 3 s\n"))
    after.cells[1].source = "another()"
    keep_unchanged(before, after)
    assert after.cells[1].outputs == [text("≈ 3 s\n")]


def test_three_new_cells_change_no_other() -> None:
    before = notebook(*(new_output("execute_result", data={"text/plain": f"{i}"}) for i in range(5)))
    after = copy.deepcopy(before)
    for place, name in ((6, "last"), (3, "middle"), (1, "first")):
        after.cells.insert(place, new_code_cell(f"{name}()", id=name))
    for count, cell in enumerate(after.cells[1:], start=1):  # as a run leaves them
        cell.execution_count = count
    keep_unchanged(before, after)
    new = [cell for cell in after.cells if cell.id in ("last", "middle", "first")]
    assert [cell for cell in after.cells if cell not in new] == before.cells and len(new) == 3
    assert [cell.execution_count for cell in after.cells[1:]] == [1, 1, 2, 3, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ([None, None], [1, 2]),  # a new notebook
        ([40, 41], [2, 2]),  # never more than there are cells
        ([1, 3, None, 4], [1, 3, 4, 4]),
        ([2, 1, None], [1, 2, 3]),  # moved, or run by hand
        ([0, 1], [1, 2]),
        ([None, 1, 2], [1, 1, 2]),
        ([], []),
    ],
)
def test_counts_are_in_order(kept: list[int | None], expected: list[int]) -> None:
    assert counts(kept) == expected
