"""A notebook in the parts of which slides are made, and the 50-minute plan of its chapter.

A text is cut before each heading, and around what is folded. Folded text becomes a note for the speaker. The
plan is that of docs/teaching.md.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from course_lib.cli.environment import ROOT
from course_lib.utils.chapters import CHAPTER

GUIDE = ROOT / "docs" / "teaching.md"
FOLDED = r"(?s)(<details\b[^>]*>.*?(?:</details>|\Z))"
EXTRA = r"Going deeper|Sources"  # how a section begins that is not for the lecture
CONCLUSION = r"(?:\d+\. )?Back to the question|What to remember"


@dataclass(frozen=True)
class LessonPlan:
    """What a lecture of a chapter shows, and what the teacher says, moves and answers.

    rows: minutes and text of each step. texts: the paragraphs below the table, by the word they begin with.
    """

    goals: str = ""
    rows: tuple[tuple[int, str], ...] = ()
    texts: dict[str, str] = field(default_factory=dict)

    def of(self, heading: str) -> list[str]:
        """The rows, in words, that are about the section or part with this heading."""
        return [f"**{minutes} minutes.** {text}" for minutes, text in self.rows if names(text, heading)]

    def text(self, *words: str) -> str:
        """The first paragraph that begins with one of these words, such as "Widget"; empty if none does."""
        return next((f"**{word}.**\n\n{self.texts[word]}" for word in words if word in self.texts), "")


def names(row: str, heading: str) -> bool:
    """Whether a row of a plan is about a heading, by its number or in quotation marks, or about a `widget`.

    Quotation marks count before a colon, and widgets at the beginning of a row.
    """
    if row.startswith("*Predict:*"):
        return bool(re.fullmatch(r"(\d+\. )?Predict first", heading))
    if number := re.match(r"(\d+)\. ", heading):
        spans = re.findall(r"[Ss]ections? (\d+)(?: (?:to|and) (\d+))?", row)
        return any(int(first) <= int(number[1]) <= int(last or first) for first, last in spans)
    if heading.startswith("`"):
        return row.startswith(heading)
    return heading in re.findall(r'"([^"]+)"', row.split(": ")[0])


def lesson_plan(chapter: str | None) -> LessonPlan | None:
    """The plan of a chapter ("03", "A1"); None if the guide has none, or is not installed."""
    guide = GUIDE.read_text(encoding="utf-8") if GUIDE.exists() else ""
    parts = re.split(rf"(?m)^## (?:Chapter|Appendix) ({CHAPTER})\. .*", guide)
    text = dict(zip(parts[1::2], parts[2::2], strict=True)).get(chapter)
    if text is None:
        return None
    rows = re.findall(r"(?m)^\| (\d+) \| (.*) \|$", text)
    begun = re.split(r"(?m)^\*\*(.+?)\.\*\*", re.sub(r"(?m)^\|.*\n", "", text.split("\n## ")[0]))
    texts = {word: said.strip() for word, said in zip(begun[1::2], begun[2::2], strict=True)}
    return LessonPlan(texts.pop("Goals", ""), tuple((int(m), row) for m, row in rows), texts)


@dataclass
class Part:
    """A cell of the slides, under the headings of a section and of a part of it; empty if there is none.

    opens: whether it begins with the heading of its section, or of a part that is shown without it.
    """

    cell: NotebookNode
    section: str = ""
    subsection: str = ""
    opens: bool = False

    @property
    def title(self) -> str:
        return self.subsection or self.section

    @property
    def concludes(self) -> bool:
        return bool(re.match(CONCLUSION, self.section))


def parts_of(cells: Iterable[NotebookNode]) -> list[Part]:
    """Each cell, or what it was cut into, under its headings."""
    parts: list[Part] = []
    section = subsection = ""
    for piece in (piece for cell in cells for piece in pieces(cell)):
        opens = False
        for level, text in headings(piece):
            opens = opens or level == 2
            section, subsection = (text, "") if level == 2 else (section, text)
        parts.append(Part(piece, section, subsection, opens))
    return parts


def headings(cell: NotebookNode) -> list[tuple[int, str]]:
    """Level and text of the headings of sections, and of their parts, with which a text begins."""
    if cell.cell_type != "markdown" or chosen(cell) == "notes":
        return []
    start = re.match(r"(?:\s*#{2,3} .*(?:\n|\Z))*", cell.source)
    return [(len(marks), text.strip()) for marks, text in re.findall(r"(?m)^(##+) (.*)", start[0])]


def chosen(cell: NotebookNode) -> str | None:
    """The slide type that is set, or None."""
    slideshow = cell.metadata.get("slideshow")
    return slideshow.get("slide_type") if isinstance(slideshow, dict) else None


def pieces(cell: NotebookNode) -> Iterator[NotebookNode]:
    """A text in pieces, unless its slide type was set by hand; any other cell as it is."""
    if cell.cell_type != "markdown" or chosen(cell):
        yield cell
        return
    for i, text in enumerate(re.split(FOLDED, cell.source)):
        if i % 2:
            yield note(unfolded(text))
            continue
        for piece in [text] if "```" in text else at_headings(text):  # in code, a # begins a comment
            if piece.strip():
                yield new_markdown_cell(piece.strip(), metadata=cell.metadata.copy())


def at_headings(text: str) -> list[str]:
    """A text cut before each heading that has text before it."""
    texts: list[list[str]] = [[]]
    for line in text.splitlines():
        if re.match("#{2,3} ", line) and any(before.strip() and before[0] != "#" for before in texts[-1]):
            texts.append([])
        texts[-1].append(line)
    return ["\n".join(lines) for lines in texts]


def unfolded(text: str) -> str:
    """Folded text as Markdown, below what one would have clicked."""
    said = re.sub(r"</?details\b[^>]*>", "", text)
    return re.sub(r"(?s)<summary>\s*(.*?)\s*</summary>", r"**\1.**\n\n", said).strip()


def note(text: str) -> NotebookNode:
    """A cell that only the speaker sees."""
    return new_markdown_cell(text, metadata={"slideshow": {"slide_type": "notes"}})


def in_plan(part: Part, plan: LessonPlan | None) -> bool:
    """Whether a part is shown in the lecture: without a plan, all but what is extra."""
    if plan is None:
        return not re.match(EXTRA, part.section)
    return bool(not part.section or plan.of(part.section) or plan.of(part.subsection) or part.concludes)


def lecture(parts: list[Part], plan: LessonPlan | None, whole: bool = False) -> list[Part]:
    """The parts of the lecture, the conclusion last, with the plan in the notes. whole: see `Slides`."""
    kept = [part for part in parts if in_plan(part, plan) or (whole and in_plan(part, None))]
    title = ""
    for part in kept:
        if re.match(EXTRA, part.section):  # the plan names a part of it, which is shown alone
            part.opens = part.opens or part.title != title
            part.cell.source = re.sub(r"\A## .*\n+", "", part.cell.source)
        title = part.title
    kept.sort(key=lambda part: part.concludes)
    return with_notes(kept, plan) if plan else kept


def with_notes(parts: list[Part], plan: LessonPlan) -> list[Part]:
    """Notes from the plan: goals first, minutes at their sections, moves at the widgets, questions last."""
    said = [(0, "\n\n".join([f"**Goals.** {plan.goals}", *(f"{m} min: {row}" for m, row in plan.rows)]))]
    begun: set[str] = set()
    for i, part in enumerate(parts):
        for title in {part.section, part.subsection} - begun - {""}:
            begun.add(title)
            said += [(i, row) for row in plan.of(title)]
    codes = [part.cell.source if part.cell.cell_type == "code" else "" for part in parts]
    shown = [(name, i) for i, code in enumerate(codes) for name in re.findall(r"\w+_explorer(?=\()", code)]
    widgets = dict(reversed(shown))  # each where it is shown first
    said += [(i, row) for name, i in widgets.items() for row in plan.of(f"`{name}`") if (i, row) not in said]
    moves = plan.text("Widget", "Widgets")
    said += [(min([i for name, i in widgets.items() if name in moves], default=0), moves)]
    end = next((i for i, part in enumerate(parts) if part.concludes), len(parts) - 1)
    said += [(end, plan.text("Questions")), (end, plan.text("Last ten minutes"))]
    for i, text in reversed(sorted(said, key=lambda one: one[0])):
        if text:
            parts.insert(i + 1, Part(note(text), parts[i].section, parts[i].subsection))
    return parts
