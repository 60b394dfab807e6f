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


def as_csv(results: Sequence[Graded], exercises: Sequence[Exercise]) -> str:
    """One row per student and notebook, one column per exercise; other chapters' cells are empty."""
    sheet = io.StringIO()
    writer = csv.writer(sheet, lineterminator="\n")
    head = ["student", "notebook", "chapter", "status", "passed", "exercises", "check yourself"]
    writer.writerow([*head, *ids(exercises)])
    for one in results:
        own = of_chapter(one, exercises)
        states = [one.state(exercise) if exercise in own else "" for exercise in exercises]
        first = [one.handed_in.student, one.handed_in.name, one.chapter, one.status]
        counts = [str(states.count("passed")), str(len(own)), "; ".join(one.flags)]
        writer.writerow([as_text(cell) for cell in [*first, *counts, *states]])
    return sheet.getvalue()


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


def totals_as_csv(results: Sequence[Graded], exercises: Sequence[Exercise]) -> str:
    """The totals as a table for a gradebook."""
    sheet = io.StringIO()
    csv.writer(sheet, lineterminator="\n").writerows(
        [as_text(cell) for cell in row] for row in totals(results, exercises)
    )
    return sheet.getvalue()


def as_text(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula: an apostrophe before the characters that begin one."""
    marked = cell.startswith(FORMULA)
    return ("'" if marked else "") + clean(cell)


def clean(text: str) -> str:
    """The text in one line, without control characters, and shortened."""
    line = "".join(letter if letter.isprintable() else " " for letter in text[: 2 * LONGEST])
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def as_page(results: Sequence[Graded], exercises: Sequence[Exercise], notes: Sequence[str] = ()) -> str:
    """The page: what to check, the most common mistakes, the totals, and a table for each chapter.

    notes: paragraphs for the beginning.
    """
    page = Element("html", lang="en")
    head = add(page, "head")
    add(head, "meta", charset="utf-8")
    add(head, "meta", **{"http-equiv": "Content-Security-Policy", "content": POLICY})
    add(head, "title", "Grades")
    add(head, "style", STYLE)
    body = add(page, "body")
    add(body, "h1", "Grades")
    notebooks = sum(one.handed_in.path is not None for one in results)
    add(body, "p", f"{len({one.handed_in.student for one in results})} students, {notebooks} notebooks.")
    for note in notes:
        add(body, "p", clean(note))
    add_checks(body, [one for one in results if one.status != "finished" or one.flags])
    add_mistakes(body, results, exercises)
    add_totals(body, results, exercises)
    for chapter in sorted({one.chapter for one in results if one.chapter}):
        rows = [one for one in results if one.chapter == chapter]
        add_chapter(body, chapter, rows, of_chapter(rows[0], exercises))
    return "<!DOCTYPE html>\n" + ElementTree.tostring(page, encoding="unicode", method="html") + "\n"


def add(parent: Element, tag: str, text: str = "", **attributes: str) -> Element:
    """A new child; its text and attributes are escaped when the page is written."""
    child = ElementTree.SubElement(parent, tag, {k.rstrip("_"): v for k, v in attributes.items()})
    child.text = text
    return child


def add_row(table: Element, cells: Iterable[str], tag: str = "td") -> None:
    row = add(table, "tr")
    for cell in cells:
        add(row, tag, cell)


def add_mistakes(body: Element, results: Sequence[Graded], exercises: Sequence[Exercise]) -> None:
    """The named mistakes, the most common first, with why each is one, and who made it."""
    add(body, "h2", "Most common mistakes")
    made: dict[tuple[str, str], list[str]] = {}
    for one in results:
        for exercise in exercises:
            verdict = one.verdicts.get(exercise.id)
            if verdict and verdict.mistake:
                made.setdefault((exercise.id, verdict.mistake), []).append(clean(one.handed_in.student))
    if not made:
        add(body, "p", "Nobody made any of the known mistakes.")
        return
    why = {(e.id, mistake.name): mistake.why for e in exercises for mistake in e.mistakes}
    table = add(body, "table")
    add_row(table, ["exercise", "mistake", "why", "how often", "who"], "th")
    for (exercise_id, name), who in sorted(made.items(), key=lambda item: (-len(item[1]), item[0])):
        add_row(table, [exercise_id, name, why[exercise_id, name], str(len(who)), ", ".join(who)])


def add_chapter(body: Element, chapter: str, rows: Sequence[Graded], exercises: Sequence[Exercise]) -> None:
    """One chapter's table, with a last row that counts who passed."""
    add(body, "h2", f"Chapter {chapter}")
    add(body, "p", "✓ passed, ✗ wrong, ! error, – not tried, … not reached. Hover over a cell to read more.")
    table = add(body, "table")
    add_row(table, ["student", "notebook", *(one.id.partition(".")[2] for one in exercises), "passed"], "th")
    for one in rows:
        states = [one.state(exercise) for exercise in exercises]
        row = add(table, "tr")
        add(row, "td", clean(one.handed_in.student))
        add(row, "td", clean(one.handed_in.name))
        for exercise, state in zip(exercises, states, strict=True):
            kind = state.partition(":")[0]
            verdict = one.verdicts.get(exercise.id)
            hint = clean(verdict.text if verdict else state)
            add(row, "td", SHORT[kind], class_=kind.partition(" ")[0], title=hint)
        add(row, "td", f"{states.count('passed')} of {len(exercises)}", class_="number")
    counts = [sum(one.state(exercise) == "passed" for one in rows) for exercise in exercises]
    add_row(table, ["passed", "", *(f"{count} of {len(rows)}" for count in counts), ""], "th")


def add_totals(body: Element, results: Sequence[Graded], exercises: Sequence[Exercise]) -> None:
    """A row for each student."""
    add(body, "h2", "Totals")
    table = add(body, "table")
    for number, row in enumerate(totals(results, exercises)):
        add_row(table, map(clean, row), "td" if number else "th")


def add_checks(body: Element, rows: Sequence[Graded]) -> None:
    """Notebooks that did not run to their end, or contain lines to read; hand-ins that are none."""
    if rows:
        add(body, "h2", "Check these yourself")
        table = add(body, "table")
        add_row(table, ["student", "notebook", "what happened", "lines to read"], "th")
        for one in rows:
            row = add(table, "tr")
            for cell in (one.handed_in.student, one.handed_in.name, one.status):
                add(row, "td", clean(cell))
            lines = add(row, "td")
            for flag in one.flags:
                add(lines, "div", clean(flag))


def of_chapter(one: Graded, exercises: Sequence[Exercise]) -> list[Exercise]:
    """The exercises of a notebook's chapter."""
    return [exercise for exercise in exercises if exercise.id.partition(".")[0] == one.chapter]


def ids(exercises: Sequence[Exercise]) -> list[str]:
    return [exercise.id for exercise in exercises]
