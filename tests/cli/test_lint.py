"""Each rule for notebooks finds its own offence and no other; the course's notebooks offend against none."""

import copy
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from course_lib.cli import notebook_io
from course_lib.cli.colab import setup_cell
from course_lib.cli.environment import ROOT
from course_lib.cli.front_page import colab_badge
from course_lib.cli.github import Repository
from course_lib.cli.lint import problems
from course_lib.viz.figures import WIDGET_VIEW

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
TITLE, SET_UP, PREDICT, FIGURE, WIDGET, ASK, ANSWER = range(7)
LAST_ANSWER, SOURCES = 12, 13
ALT = "A line that rises."
NAME = f'<abbr role="img" title="{ALT}">&hairsp;</abbr>'
PNG = "iVBO/tmp/Rw0KGgo="

Change = Callable[[NotebookNode], object]


def display(**data: str) -> NotebookNode:
    kinds = {"html": "text/html", "plain": "text/plain", "png": "image/png", "svg": "image/svg+xml"}
    return new_output("display_data", data={kinds[kind]: value for kind, value in data.items()})


def picture(alt: str) -> list[NotebookNode]:
    return [display(png=PNG, plain=alt), display(html=NAME.replace(ALT, alt))]


def a_chapter() -> NotebookNode:
    """The least that a chapter needs."""
    title = colab_badge(Repository("owner/name", "main"), "07_x.ipynb")
    cells = [
        new_markdown_cell(f"{title}\n\n# Numbers\nAfterwards you can add.\n\nAbout 20 minutes."),
        new_code_cell(setup_cell(Repository("some/fork", "a-branch"))),
        new_markdown_cell("## Predict first\nWhat is 1 + 1? ![two](two.png)"),
        new_code_cell("show(fig, alt='A line that rises.')", outputs=picture(ALT)),
        new_code_cell("sliders()", outputs=picture("Widget: a slider.")),
    ]
    for name in ("one", "two", "three", "four"):
        printed = new_output("stream", name="stdout", text=f"{name}: not tried yet\n")
        cells.append(new_code_cell(f'check("07.{name}", ...)', outputs=[printed]))
        answer = f"```python\n{name} = 1\n```"
        cells.append(new_markdown_cell(f"<details><summary>Solution</summary>\n\n{answer}\n\n</details>"))
    cells.append(new_markdown_cell("## Sources\nA book."))
    nb = nbformat.v4.new_notebook(cells=cells)
    for count, cell in enumerate((cell for cell in nb.cells if cell.cell_type == "code"), start=1):
        cell.execution_count = count
    notebook_io.clean(nb)
    return nb


def found(nb: NotebookNode, folder: Path, name: str = "07_numbers.ipynb") -> list[str]:
    (folder / name).write_text(nbformat.v4.writes(nb), encoding="utf-8")
    return problems(folder / name)


def source(cell: int, text: str) -> Change:
    return lambda nb: nb.cells[cell].update(source=text)


def replace(cell: int, old: str, new: str) -> Change:
    return lambda nb: nb.cells[cell].update(source=nb.cells[cell].source.replace(old, new))


def replace_output(cell: int, old: str, new: str) -> Change:
    """In the alt text that a screen reader finds."""
    return lambda nb: nb.cells[cell].outputs[1].data.update({"text/html": NAME.replace(old, new)})


def output(new: NotebookNode) -> Change:
    return lambda nb: nb.cells[FIGURE].outputs.append(new)


def prints(text: str) -> Change:
    return output(new_output("stream", name="stdout", text=text))


def error(nb: NotebookNode) -> None:
    nb.cells[FIGURE].outputs.append(new_output("error", ename="E", evalue="no", traceback=["E: no"]))


OFFENCES: dict[str, tuple[Change, str]] = {
    "no count": (lambda nb: nb.cells[FIGURE].update(execution_count=None),
        "cell 4 (show(fig, alt='A line that rises.')): execution count None instead of 1 to 7"),
    "count of another run": (lambda nb: nb.cells[ASK].update(execution_count=9), "count 9 instead of 3 to 7"),
    "stderr": (output(new_output("stream", name="stderr", text="careful")), "stderr: careful"),
    "error": (error, "stores an error, E: no"),
    "state of widgets": (lambda nb: nb.metadata.update(widgets={}), "metadata.widgets"),
    "another kernel": (lambda nb: nb.metadata.kernelspec.update(display_name="mine"), "kernelspec"),
    "version": (lambda nb: nb.metadata.language_info.update(version="3.11.7"), "version of Python"),
    "no id": (lambda nb: nb.cells[FIGURE].pop("id"), "no unique id"),
    "id twice": (lambda nb: nb.cells[FIGURE].update(id=nb.cells[ASK].id), "no unique id"),
    "times": (lambda nb: nb.cells[FIGURE].metadata.update(execution={}), "holds times"),
    "widget of a past run": (
        output(new_output("display_data", data={WIDGET_VIEW: {"model_id": "1"}})), "widget of a past run"),
    "semicolon": (source(FIGURE, "x = 1\nx;  # quiet\n"), "semicolon"),
    "raw PNG": (output(display(png="iVBO")), "without alt text"),
    "alt text that nobody hears": (output(display(png=PNG, plain=ALT)), "without alt text"),
    "alt text of another picture": (replace_output(FIGURE, "rises", "falls"), "without alt text"),
    "picture without its words": (lambda nb: nb.cells[FIGURE].outputs[0].data.pop("text/plain"), "alt text"),
    "no alt": (output(display(html='<img src="x.png">')), "without alt text"),
    "empty alt": (output(display(html='<img alt="a"><img alt=" " src="x.png">')), "without alt text"),
    "inside HTML": (output(display(html='<img alt="a" src="data:image/png;base64,iVBO">')), "inside HTML"),
    "widget without a picture": (output(display(plain="Widget: a box.")), "widget without a picture"),
    "SVG": (output(display(svg="x")), "SVG"),
    "SVG in HTML": (output(display(html='<svg width="3"></svg>')), "SVG"),
    "SVG as picture": (output(display(html='<img alt="a" src="data:image/svg+xml;utf8,x">')), "SVG"),
    "picture in the text": (replace(PREDICT, "![two]", "![ ]"), "without alt text"),
    "HTML picture in the text": (replace(PREDICT, "![two](two.png)", "<img src='a'>"), "without alt text"),
    "/tmp": (prints("saved in /tmp/x/model.pt"), "this machine, /tmp/x/model.pt"),
    "/home": (prints("'/home/ada/x'"), "this machine, /home/ada/x"),
    "/root": (output(display(plain="PosixPath('/root/x')")), "this machine, /root/x"),
    "/work": (output(display(html="<b>/work/main</b>")), "this machine, /work/main"),
    "Windows": (prints(r"C:\Users\ada"), r"this machine, C:\Users"),
    "address": (output(display(plain="<object at 0x7f3a12b4>")), "address, 0x7f3a12b4"),
    "bare widget": (output(display(plain="VBox(children=(FloatSlider(value=1.0),))")), "use show_widget"),
    "large": (lambda nb: nb.cells[FIGURE].outputs[0].data.update({"image/png": "A" * 1_000_000}),
        "more than 1,000,000"),
    "long cell": (source(FIGURE, "x = 1\n" * 16), "16 lines of code, more than 15"),
    "empty cell": (lambda nb: nb.cells.append(new_markdown_cell(" ", id="blank")), "cell 15: empty"),
    "plt.show": (source(FIGURE, "plt.show()"), "plt.show"),
    "warning": (source(FIGURE, "import warnings\nwarnings.warn('x')"), "warnings.warn"),
    "tqdm": (source(FIGURE, "from tqdm import tqdm"), "tqdm.auto"),
    "interact": (source(FIGURE, "interact(f, x=3)"), "interact"),
    "interactive_output": (source(FIGURE, "widgets.interactive_output(f, {})"), "interact"),
    "Output": (source(FIGURE, "out = widgets.Output()"), "Output widget"),
    "a timer that warns": (source(FIGURE, "from torch.utils.benchmark import Timer"), "timeit"),
    "autoreload": (source(FIGURE, "%load_ext autoreload"), "autoreload"),
    "comparison off": (source(FIGURE, "# NBVAL_IGNORE_OUTPUT\n1"), "comparison off"),
    "comparison off by tag": (
        lambda nb: nb.cells[FIGURE].metadata.update(tags=["nbval-skip"]), "tag nbval-skip"),
    "no title": (replace(TITLE, "# Numbers", "Numbers"), "title"),
    "no aim": (replace(TITLE, "you can", "one may"), "you can"),
    "no minutes": (replace(TITLE, "20 minutes", "an hour"), "minutes"),
    "begins with code": (
        lambda nb: nb.cells.insert(0, nb.cells.pop(SET_UP)), "first cell is not markdown"),
    "another setup": (source(SET_UP, "import course_lib"), "setup cell"),
    "nothing to predict": (replace(PREDICT, "Predict", "Think"), "predict"),
    "no sources": (replace(SOURCES, "## Sources", "Sources"), "Sources"),
    "no widget": (lambda nb: nb.cells[WIDGET].outputs.clear(), "no widget"),
    "three exercises": (lambda nb: nb.cells.pop(LAST_ANSWER - 1), "3 exercises"),
    "other chapter's exercise": (replace(ASK, "07.", "06."), "number of another chapter"),
    "no solution": (replace(ANSWER, "<details>", "<div>"), "07.one: no solution"),
    "solution without code": (replace(ANSWER, "```python", "```"), "07.one: no solution"),
    "solution elsewhere": (
        lambda nb: nb.cells.insert(ANSWER, new_markdown_cell("Hint.", id="hint")), "07.one: no solution"),
}  # fmt: skip


def test_least_chapter_is_clean(tmp_path: Path) -> None:
    assert found(a_chapter(), tmp_path) == []


@pytest.mark.parametrize("name", OFFENCES)
def test_offence_is_named(name: str, tmp_path: Path) -> None:
    change, words = OFFENCES[name]
    nb = a_chapter()
    change(nb)
    lines = found(nb, tmp_path)
    assert any(words in line for line in lines), lines
    assert len(lines) == 1, lines


def test_exercise_twice_is_named(tmp_path: Path) -> None:
    nb = a_chapter()
    nb.cells[ASK].source = nb.cells[ASK].source.replace("one", "two")
    lines = found(nb, tmp_path)
    assert any("07.two appears twice" in line for line in lines)


def test_what_is_allowed(tmp_path: Path) -> None:
    nb = a_chapter()
    nb.cells[FIGURE].source = "from tqdm.auto import tqdm\nx = 'a;'\nprint(interactions, x)  # like this;"
    prints("see https://example.org/home/page, notebooks/tmp/x and 3/4\n")(nb)
    assert found(nb, tmp_path) == []
    error(nb)
    nb.cells[FIGURE].metadata.tags = ["raises-exception"]
    assert found(nb, tmp_path) == []
    nb.cells[SET_UP].source = setup_cell(None)
    nb.cells[FIGURE].execution_count = nb.cells[SET_UP].execution_count  # as where a new cell was added
    assert found(nb, tmp_path) == []


def test_page_that_is_no_chapter_needs_no_exercises(tmp_path: Path) -> None:
    nb = a_chapter()
    nb.cells = copy.deepcopy(nb.cells[:WIDGET])
    assert found(nb, tmp_path, "instructor.ipynb") == []
    assert len(found(nb, tmp_path, "07_numbers.ipynb")) == 3  # no widget, no exercises, no sources


def test_what_is_no_notebook(tmp_path: Path) -> None:
    (tmp_path / "x.ipynb").write_text("{}")
    assert "not a notebook" in problems(tmp_path / "x.ipynb")[0]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook_keeps_to_the_rules(path: Path) -> None:
    assert problems(path) == []


def test_no_formula_in_a_table_has_a_bar() -> None:
    """It would end the table's cell on GitHub and in JupyterLab."""

    def broken(line: str) -> bool:
        return line.startswith("|") and "|" in "".join(line.replace("\\|", "").split("$")[1::2])

    assert broken("| a | $P(x|y)$ |") and not broken("| $a$ | $b$ |")
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            lines = cell.source.splitlines() if cell.cell_type == "markdown" else []
            assert not any(map(broken, lines)), (path.name, cell.id)
