"""Every claim and erratum of the lectures that the course lists is in the notebook, under its tag."""

import csv
import json
import re
from pathlib import Path

import pytest

from course_lib import lectures
from course_lib.cli.environment import ROOT

COLUMNS = ["lecture", "slide", "kind", "found_in", "what", "notebook", "tag"]
FOUND_IN = {"claim": [""], "erratum": ["slide", "package", "both"]}  # the document, the code that it presents
LECTURES = ("kak", "c182-3", "c182-4", "notes", "einsum")
SLIDE = re.compile(
    r"\d+(-\d+)?|[a-z][a-z0-9]*(-[a-z0-9]+)*"
)  # a slide, a range of slides, or a section's name
TAG = re.compile(rf"({'|'.join(LECTURES)})-[a-z0-9]+(-[a-z0-9]+)*")

Row = dict[str, str]


def rows() -> list[Row]:
    with Path(lectures.__file__).with_name("coverage.csv").open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        assert reader.fieldnames == COLUMNS
        return list(reader)


def tags_in(notebook: Path) -> list[str]:
    """The lecture tags of a notebook's cells, code or text, as often as they occur."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    tags = [tag for cell in cells for tag in cell["metadata"].get("tags", [])]
    return [tag for tag in tags if TAG.fullmatch(tag)]


def row_problems(row: Row) -> list[str]:
    """What is malformed in one row, whatever the notebooks hold."""
    first_slide = row["slide"].split("-")[0] if row["slide"][:1].isdigit() else row["slide"]
    checks = {
        "lecture": row["lecture"] in LECTURES,
        "slide": bool(SLIDE.fullmatch(row["slide"])),
        "kind": row["kind"] in FOUND_IN,
        "found_in": row["found_in"] in FOUND_IN.get(row["kind"], []),
        "what": bool((row["what"] or "").strip()),
        "notebook": bool(re.fullmatch(r"[\w-]+\.ipynb", row["notebook"])),
        "tag": bool(TAG.fullmatch(row["tag"]))
        and f"{row['tag']}-".startswith(f"{row['lecture']}-{first_slide}-"),
    }
    return [f"{column} {row[column]!r} of {row['tag']}" for column, good in checks.items() if not good]


def table_problems(table: list[Row], folder: Path) -> list[str]:
    """Malformed rows, rows twice, rows without a cell and cells without a row."""
    found = [problem for row in table for problem in row_problems(row)]
    keys = [(row["notebook"], row["tag"]) for row in table]
    found += [f"{tag} is twice in the table for {name}" for name, tag in keys if keys.count((name, tag)) > 1]
    present = {path.name: tags_in(path) for path in sorted(folder.glob("*.ipynb"))}
    for name, tag in keys:
        if name not in present:
            found.append(f"{tag}: there is no notebook {name}")
        elif present[name].count(tag) != 1:
            found.append(f"{tag}: {present[name].count(tag)} cells of {name} bear this tag instead of one")
    cells = {(name, tag) for name, tags in present.items() for tag in tags}
    return found + [f"{tag} in {name} has no row" for name, tag in sorted(cells - set(keys))]


def test_table_and_notebooks_agree() -> None:
    assert table_problems(rows(), ROOT / "notebooks") == []


GOOD = dict(
    zip(
        COLUMNS,
        ["kak", "24", "erratum", "slide", "√M outside", "01_x.ipynb", "kak-24-sqrt-outside"],
        strict=True,
    )
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One notebook with one tagged cell."""
    cells = [{"cell_type": "code", "metadata": {"tags": [GOOD["tag"], "raises-exception"]}, "source": ""}]
    (tmp_path / GOOD["notebook"]).write_text(json.dumps({"cells": cells}))
    return tmp_path


def test_a_good_row_passes(folder: Path) -> None:
    assert table_problems([GOOD], folder) == []
    for lecture, slide, tag in [
        ("kak", "60-64", "kak-60-base"),
        ("c182-3", "bmm", "c182-3-bmm"),
        ("notes", "a", "notes-a-b"),
    ]:
        assert row_problems({**GOOD, "lecture": lecture, "slide": slide, "tag": tag}) == []


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("lecture", "purdue"), ("slide", ""), ("slide", "p. 3"), ("slide", "25"), ("kind", "mistake"),
        ("found_in", ""), ("found_in", "code"),
        ("what", " "), ("notebook", "../01_x.ipynb"), ("notebook", "02_y.ipynb"), ("tag", "kak-24-other"),
        ("tag", "kak_24"), ("tag", "notes-24-sqrt"),
    ],
)  # fmt: skip
def test_a_bad_row_is_found(column: str, value: str, folder: Path) -> None:
    assert table_problems([{**GOOD, column: value}], folder)


def test_a_row_twice_and_a_tag_without_row_are_found(folder: Path) -> None:
    assert any("twice" in problem for problem in table_problems([GOOD, GOOD], folder))
    assert table_problems([], folder) == ["kak-24-sqrt-outside in 01_x.ipynb has no row"]
