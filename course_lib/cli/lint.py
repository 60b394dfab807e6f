"""The rules that every notebook of the course follows, checked without running it."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from nbformat import NotebookNode

from course_lib.cli.colab import setup_cell
from course_lib.cli.github import Repository
from course_lib.cli.notebook_io import KERNEL, WIDGET_VIEW, Notebook
from course_lib.utils.chapters import CHAPTER

MAX_BYTES = 1_000_000
MAX_LINES = 15
MAX_IMPORT_LINES = 24  # their cell is folded
MIN_EXERCISES = 4

BANNED = {  # in code: how to find it, and what to do instead
    r"\bplt\.show\b": "plt.show hides the alt text: use show(fig, alt=…)",
    r"\bwarnings\.warn\b": "warnings.warn writes to stderr: print the warning",
    r"(?m)^\s*(from tqdm import|import tqdm\s*$|import tqdm as)": "plain tqdm writes to stderr: tqdm.auto",
    r"\binteract(ive|ive_output)?\b *(\(|$)": "interact makes an Output widget: observe the sliders",
    r"\bOutput\(": "an Output widget cannot be compared: write into an Image or HTML widget",
    r"torch\.utils\.(benchmark|cpp_extension)\b": "it warns where CUDA is installed without a GPU: timeit",
    r"autoreload": "autoreload does not work on Colab",
    r"NBVAL_|PYTEST_VALIDATE": "nbval's markers switch the comparison off: begin the line with ≈ instead",
}
MACHINE_PATH = re.compile(
    r"(?<![\w.:/~-])/(home|root|tmp|work|Users|content|private|var|opt|usr)/\S*|\b[A-Za-z]:[\\/]+Users\b\S*"
)
BARE_WIDGET = re.compile(r"[A-Z]\w*\((children|value|description|options|layout)=")
REFERENCE = {"A2", "A4"}  # appendices to look things up in, without exercises
EXERCISE = re.compile(rf"\bcheck\(\s*[\"']({CHAPTER})\.([\w-]+)[\"']")
SOLUTION = re.compile(r"<details>\s*<summary>.*?</summary>.*?```python\n.*?```.*?</details>", re.DOTALL)


def problems(notebook_path: str | Path) -> list[str]:
    """The problems of a stored notebook, one line each."""
    path = Path(notebook_path)
    size = path.stat().st_size
    found = [f"the file has {size:,} bytes, more than {MAX_BYTES:,}"] if size > MAX_BYTES else []
    try:
        notebook = Notebook.load(path)
    except ValueError as error:
        return [*found, str(error)]
    is_chapter = notebook.number and notebook.number not in REFERENCE
    for rule in RULES + (CHAPTER_RULES if is_chapter else ()):
        found += rule(notebook)
    return found


def _code_lines(cell: NotebookNode) -> list[str]:
    lines = (line.strip() for line in cell.source.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def counts(nb: Notebook) -> Iterator[str]:
    """Counts in order: nbval passes a cell without one, comparing nothing, and what ran last is stored last.

    Two may be equal, so that a new cell leaves those of the others alone.
    """
    code, least = nb.of_type("code"), 1
    for place, cell in code:
        count = cell.execution_count
        if count is None or not least <= count <= len(code):
            yield f"{place}: execution count {count} instead of {least} to {len(code)}: refresh it"
        else:
            least = count


def clean_metadata(nb: Notebook) -> Iterator[str]:
    """Nothing is stored that changes from run to run, or from machine to machine."""
    if "widgets" in nb.metadata:
        yield "metadata.widgets holds the state of widgets: refresh the notebook"
    if nb.metadata.get("kernelspec") != KERNEL:
        yield f"metadata.kernelspec is not {KERNEL}: refresh the notebook"
    if "version" in nb.metadata.get("language_info", {}):
        yield "metadata.language_info names a version of Python: refresh the notebook"
    ids = [cell.get("id") for cell in nb.cells]
    if None in ids or len(set(ids)) < len(ids):
        yield "a cell has no unique id: refresh the notebook"
    for place, cell in nb.of_type("code"):
        if "execution" in cell.metadata:
            yield f"{place}: metadata.execution holds times: refresh the notebook"
        if any(WIDGET_VIEW in output.get("data", {}) for output in cell.outputs):
            yield f"{place}: the output names a widget of a past run: refresh the notebook"


def sizes(nb: Notebook) -> Iterator[str]:
    """A cell holds one idea."""
    for number, cell in enumerate(nb.cells, start=1):
        if not cell.source.strip():
            yield f"cell {number}: empty"
    for place, cell in nb.of_type("code"):
        most = MAX_IMPORT_LINES if cell.source.startswith("# @title Imports") else MAX_LINES
        if len(_code_lines(cell)) > most and not is_set_up(cell):
            yield f"{place}: {len(_code_lines(cell))} lines of code, more than {most}"


def banned(nb: Notebook) -> Iterator[str]:
    """Code that cannot be compared, or that fails on Colab."""
    for place, cell in nb.of_type("code"):
        yield from (f"{place}: {why}" for pattern, why in BANNED.items() if re.search(pattern, cell.source))
        last = (_code_lines(cell) or [""])[-1]
        if re.sub(r"#[^'\"]*$", "", last).rstrip().endswith(";"):
            yield f"{place}: ends in a semicolon: end in a statement without a value"
        for tag in cell.metadata.get("tags", []):
            if tag.startswith("nbval-"):
                yield f"{place}: tag {tag} switches the comparison off"


def outputs(nb: Notebook) -> Iterator[str]:
    """No errors, nothing specific to one machine, no picture without alt text."""
    for place, cell in nb.of_type("code"):
        raises = "raises-exception" in cell.metadata.get("tags", [])
        data = [output.get("data", {}) for output in cell.outputs]
        for output, after in zip(cell.outputs, [*data[1:], {}], strict=False):
            if output.output_type == "error" and not raises:
                yield f"{place}: stores an error, {output.ename}: {output.evalue}"
            if output.get("name") == "stderr":
                yield f"{place}: writes to stderr: {output.text.strip()[:80]}"
            yield from (f"{place}: {what}" for what in _picture_problems(output.get("data", {}), after))
            yield from (f"{place}: {what}" for text in _texts(output) for what in _text_problems(text))


def _texts(output: NotebookNode) -> list[str]:
    texts = [output.get("text", ""), output.get("evalue", ""), *output.get("traceback", [])]
    texts += [value for kind, value in output.get("data", {}).items() if not kind.startswith("image/")]
    return [text for text in texts if isinstance(text, str)]


def _text_problems(text: str) -> Iterator[str]:
    if path := MACHINE_PATH.search(text):
        yield f"prints a path on this machine, {path[0]}"
    if address := re.search(r"\b0x[0-9a-fA-F]{6,}", text):
        yield f"prints an address, {address[0]}, that changes at each run"
    if BARE_WIDGET.match(text):
        yield "shows a widget without a description: use show_widget(box, text)"


def _picture_problems(data: dict, after: dict) -> Iterator[str]:
    """What is wrong with the pictures of an output, given the data of the output that comes after it."""
    html, words = data.get("text/html", ""), data.get("text/plain", "").strip()
    found = tags(html)
    if "image/svg+xml" in data or "data:image/svg" in html or any(tag == "svg" for tag, _ in found):
        yield "stores an SVG, which nbval compares byte by byte: use show(fig, alt=…)"
    elif any(values.get("src", "").startswith("data:") for _, values in found):
        yield "a picture inside HTML, which a page that sanitizes it does not show: use show(fig, alt=…)"
    picture = "image/png" in data or "image/jpeg" in data
    spoken = [values for _, values in tags(after.get("text/html", "")) if values.get("role") == "img"]
    named = words and words in [values.get("title", "").strip() for values in spoken]
    if (picture and not named) or _has_no_alt(html):
        yield "a picture without alt text: use show(fig, alt=…)"
    if words.startswith("Widget: ") and not picture:
        yield "a widget without a picture: use show_widget(box, text, picture)"


def _has_no_alt(html: str) -> bool:
    """Whether a picture in a piece of HTML has no alt text."""
    return not all(values.get("alt", "").strip() for tag, values in tags(html) if tag == "img")


def tags(html: str) -> list[tuple[str, dict[str, str]]]:
    """The tags of a piece of HTML, each with its attributes."""
    found: list[tuple[str, dict[str, str]]] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, pairs: found.append(
        (tag, {key: value or "" for key, value in pairs})
    )
    parser.feed(html)
    return found


def words_for_pictures(nb: Notebook) -> Iterator[str]:
    """Pictures in the text have alt text, too."""
    for place, cell in nb.of_type("markdown"):
        if re.search(r"!\[\s*\]", cell.source) or _has_no_alt(cell.source):
            yield f"{place}: a picture without alt text"


def opening(nb: Notebook) -> Iterator[str]:
    """Title, goals, time needed; then the setup cell."""
    first = nb.cells[0] if nb.cells else None
    if first is None or first.cell_type != "markdown":
        yield "the first cell is not markdown"
        return
    lines = [line for line in first.source.splitlines() if line.strip() and not line.startswith("[![")]
    if not lines or not lines[0].startswith("# "):
        yield "the first cell does not begin with a title, '# …', after the badge"
    if not re.search(r"\b(you|readers?) (can|will be able)\b", first.source, re.IGNORECASE):
        yield "the first cell does not say what 'you can' do afterwards"
    if not re.search(r"\d[\d.]*\s*min(ute)?s?\b", first.source):
        yield "the first cell does not say how many minutes it takes"


def set_up(nb: Notebook) -> Iterator[str]:
    """The same setup cell everywhere, except for the repository and the branch it names."""
    code = nb.of_type("code")
    if not code or not is_set_up(code[0][1]):
        yield "the first code cell is not the setup cell: run `python -m course_lib colab`"


def is_set_up(cell: NotebookNode) -> bool:
    """Whether a cell is the setup cell, with any repository and branch."""
    patterns = [re.escape(setup_cell(repo)) for repo in (Repository("OWNER/NAME", "BRANCH"), None)]
    patterns = [p.replace("OWNER/NAME", r"[\w.-]+/[\w.-]+").replace("BRANCH", r"[\w./-]+") for p in patterns]
    return any(re.fullmatch(pattern, cell.source.strip()) for pattern in patterns)


def parts(nb: Notebook) -> Iterator[str]:
    """A question to predict, a widget (not in the appendices), sources."""
    prose = "\n".join(cell.source for _, cell in nb.of_type("markdown"))
    if not re.search(r"(?im)^#+ .*\bpredict", prose):
        yield "no question to predict: no heading with the word 'Predict'"
    if not re.search(r"(?m)^#+ .*\bSources\b", prose):
        yield "no heading 'Sources'"
    texts = [text for _, cell in nb.of_type("code") for output in cell.outputs for text in _texts(output)]
    appendix = (nb.number or "").startswith("A")
    if not appendix and not any(text.startswith("Widget: ") for text in texts):
        yield "no widget: none was shown through show_widget(box, text)"


def exercises(nb: Notebook) -> Iterator[str]:
    """Exercises numbered by chapter, each followed by its collapsed solution."""
    names: list[str] = []
    for cell, after in zip(nb.cells, [*nb.cells[1:], None], strict=True):
        for number, name in EXERCISE.findall(cell.source) if cell.cell_type == "code" else ():
            if number != nb.number:
                yield f"exercise {number}.{name} has the number of another chapter than {nb.number}"
            if name in names:
                yield f"exercise {number}.{name} appears twice"
            if after is None or after.cell_type != "markdown" or not SOLUTION.search(after.source):
                yield f"exercise {number}.{name}: no solution in <details> with ```python follows"
            names.append(name)
    if len(set(names)) < MIN_EXERCISES:
        yield f'{len(set(names))} exercises with check("{nb.number}.…"), fewer than {MIN_EXERCISES}'


RULES = (counts, clean_metadata, sizes, banned, outputs, words_for_pictures)
CHAPTER_RULES = (opening, set_up, parts, exercises)
