"""The class's results: two tables as CSV, and one page with both and the most common mistakes.

All text that comes from students is cleaned of control characters. In the table, cells that a spreadsheet
would take for formulas are marked as text; on the page, everything is escaped.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from course_lib.cli.grading.running import Graded
from course_lib.exercises import Exercise

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet evaluates
LONGEST = 300  # characters of a text in a cell
SHORT = {"passed": "✓", "mistake": "✗", "wrong": "✗", "error": "!", "not tried": "–", "not reached": "…"}
STYLE = """
body { font-family: sans-serif; margin: 2em; color: #111; background: #fff; line-height: 1.4 }
table { border-collapse: collapse; margin: 1em 0 2em }
th, td { border: 1px solid #bbb; padding: 0.25em 0.6em; text-align: left; vertical-align: top }
td.passed { background: #d9f0d9 } td.mistake { background: #fbdcc8 } td.wrong { background: #fbdcc8 }
td.error { background: #f6c9c9 } td.not { background: #eee } td.number { text-align: right }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def as_csv(table: Iterable[Sequence[str]]) -> str:
    """A table as CSV."""
    sheet = io.StringIO()
    csv.writer(sheet, lineterminator="\n").writerows(map(as_text, row) for row in table)
    return sheet.getvalue()


def grades(results: Sequence[Graded], exercises: Sequence[Exercise]) -> list[list[str]]:
    """One row per student and notebook, one column per exercise; other chapters' cells are empty."""
    head = ["student", "notebook", "chapter", "status", "passed", "exercises", "check yourself"]
    table = [[*head, *(exercise.id for exercise in exercises)]]
    for one in results:
        own = of_chapter(one, exercises)
        states = [one.state(exercise) if exercise in own else "" for exercise in exercises]
        first = [one.handed_in.student, one.handed_in.name, one.chapter, one.status]
        table.append([*first, str(states.count("passed")), str(len(own)), "; ".join(one.flags), *states])
    return table


def totals(results: Sequence[Graded], exercises: Sequence[Exercise]) -> list[list[str]]:
    """One row per student, under a head: exercises passed in each chapter, and in all.

    Of several notebooks with the same exercise, one that passes it is enough.
    """
    chapters = list(dict.fromkeys(exercise.id.partition(".")[0] for exercise in exercises))
    passed: dict[str, set[str]] = {}
    for one in results:
        own = {exercise.id for exercise in of_chapter(one, exercises) if one.state(exercise) == "passed"}
        passed.setdefault(one.handed_in.student, set()).update(own)
    table = [["student", *chapters, "passed", "exercises"]]
    for student, done in passed.items():
        counts = [sum(one.partition(".")[0] == chapter for one in done) for chapter in chapters]
        table.append([student, *map(str, [*counts, len(done), len(exercises)])])
    return table


def as_text(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula: an apostrophe before the characters that begin one."""
    return ("'" if cell.startswith(FORMULA) else "") + clean(cell)


def clean(text: str) -> str:
    """The text in one line, without control characters, and shortened."""
    line = "".join(letter if letter.isprintable() else " " for letter in text[: 2 * LONGEST])
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def as_page(results: Sequence[Graded], exercises: Sequence[Exercise], notes: Sequence[str] = ()) -> str:
    """The page: notes, what to check, the most common mistakes, the totals, and a table for each chapter."""
    page = Element("html", lang="en")
    head, body = add(page, "head"), add(page, "body")
    add(head, "meta", charset="utf-8")
    add(head, "meta", **{"http-equiv": "Content-Security-Policy", "content": POLICY})
    add(head, "title", "Grades")
    add(head, "style", STYLE)
    add(body, "h1", "Grades")
    notebooks = sum(one.handed_in.path is not None for one in results)
    add(body, "p", f"{len({one.handed_in.student for one in results})} students, {notebooks} notebooks.")
    for note in notes:
        add(body, "p", clean(note))
    if unclear := [one for one in results if one.status != "finished" or one.flags]:
        add_section(body, "Check these yourself", "", checks(unclear))
    mistakes = common_mistakes(results, exercises)
    none = "" if mistakes else "Nobody made any of the known mistakes."
    add_section(body, "Most common mistakes", none, mistakes)
    add_section(body, "Totals", "", [map(clean, row) for row in totals(results, exercises)])
    legend = "✓ passed, ✗ wrong, ! error, – not tried, … not reached. Hover over a cell to read more."
    for chapter in sorted({one.chapter for one in results if one.chapter}):
        rows = [one for one in results if one.chapter == chapter]
        add_section(body, f"Chapter {chapter}", legend, of_one_chapter(rows, of_chapter(rows[0], exercises)))
    return "<!DOCTYPE html>\n" + ElementTree.tostring(page, encoding="unicode", method="html") + "\n"


def element(tag: str, text: str = "", **attributes: str) -> Element:
    """An element; its text and attributes are escaped when the page is written."""
    made = Element(tag, {name.rstrip("_"): value for name, value in attributes.items()})
    made.text = text
    return made


def add(parent: Element, tag: str, text: str = "", **attributes: str) -> Element:
    """A new child."""
    parent.append(child := element(tag, text, **attributes))
    return child


def add_section(body: Element, title: str, note: str, table: Sequence[Iterable[str | Element]]) -> None:
    """A heading, a note, and a table, whose first row is its head."""
    add(body, "h2", title)
    if note:
        add(body, "p", note)
    rows = add(body, "table") if table else body
    for number, cells in enumerate(table):
        row = add(rows, "tr")
        for cell in cells:
            row.append(cell if isinstance(cell, Element) else element("td" if number else "th", cell))


def checks(rows: Sequence[Graded]) -> list[list[str | Element]]:
    """Notebooks that did not run to their end, or contain lines to read; hand-ins that are none."""
    table: list[list[str | Element]] = [["student", "notebook", "what happened", "lines to read"]]
    for one in rows:
        lines = element("td")
        for flag in one.flags:
            add(lines, "div", clean(flag))
        texts = (one.handed_in.student, one.handed_in.name, one.status)
        table.append([*map(clean, texts), lines])
    return table


def common_mistakes(results: Sequence[Graded], exercises: Sequence[Exercise]) -> list[list[str]]:
    """The named mistakes, the most common first, with why each is one, and who made it; [] for none."""
    made: dict[tuple[str, str], list[str]] = {}
    for one in results:
        for exercise in exercises:
            verdict = one.verdicts.get(exercise.id)
            if verdict and verdict.mistake:
                made.setdefault((exercise.id, verdict.mistake), []).append(clean(one.handed_in.student))
    why = {(e.id, mistake.name): mistake.why for e in exercises for mistake in e.mistakes}
    rows = [
        [*mistake, why[mistake], str(len(who)), ", ".join(who)]
        for mistake, who in sorted(made.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    return [["exercise", "mistake", "why", "how often", "who"], *rows] if rows else []


def of_one_chapter(rows: Sequence[Graded], exercises: Sequence[Exercise]) -> list[list[str | Element]]:
    """One chapter's table, with a last row that counts who passed."""
    names = [exercise.id.partition(".")[2] for exercise in exercises]
    table: list[list[str | Element]] = [["student", "notebook", *names, "passed"]]
    states = [[one.state(exercise) for exercise in exercises] for one in rows]
    for one, own in zip(rows, states, strict=True):
        cells = [state_cell(one, *pair) for pair in zip(exercises, own, strict=True)]
        passed = element("td", f"{own.count('passed')} of {len(exercises)}", class_="number")
        table.append([clean(one.handed_in.student), clean(one.handed_in.name), *cells, passed])
    counts = [column.count("passed") for column in zip(*states, strict=True)]
    last = ["passed", "", *(f"{count} of {len(rows)}" for count in counts), ""]
    return [*table, [element("th", text) for text in last]]


def state_cell(one: Graded, exercise: Exercise, state: str) -> Element:
    """A student's state in one exercise: a sign, and the whole text under the mouse."""
    kind, verdict = state.partition(":")[0], one.verdicts.get(exercise.id)
    hint = clean(verdict.text if verdict else state)
    return element("td", SHORT[kind], class_=kind.partition(" ")[0], title=hint)


def of_chapter(one: Graded, exercises: Sequence[Exercise]) -> list[Exercise]:
    """The exercises of a notebook's chapter."""
    return [exercise for exercise in exercises if exercise.id.partition(".")[0] == one.chapter]
