"""The 50-minute plan of a chapter, as docs/teaching.md words it."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from course_lib.cli.environment import ROOT
from course_lib.utils.chapters import CHAPTER

GUIDE = ROOT / "docs" / "teaching.md"
PREDICT = "*Predict:*"


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
    if row.startswith(PREDICT):
        return bool(re.fullmatch(r"(\d+\. )?Predict first", heading))
    number = re.match(r"(\d+)\. ", heading)
    if number:
        spans = re.findall(r"[Ss]ections? (\d+)(?: (?:to|and) (\d+))?", row)
        between = [range(int(first), int(last or first) + 1) for first, last in spans]
        return any(int(number[1]) in numbers for numbers in between)
    if heading.startswith("`"):
        return row.startswith(heading)
    return heading in re.findall(r'"([^"]+)"', row.split(": ")[0])


def lesson_plan(chapter: str | None, guide: Path = GUIDE) -> LessonPlan | None:
    """The plan of a chapter ("03", "A1"); None if the guide has none, or is not installed."""
    if chapter is None or not guide.exists():
        return None
    parts = re.split(rf"(?m)^## (?:Chapter|Appendix) ({CHAPTER})\. .*", guide.read_text(encoding="utf-8"))
    text = dict(zip(parts[1::2], parts[2::2], strict=True)).get(chapter)
    if text is None:
        return None
    rows = re.findall(r"(?m)^\| (\d+) \| (.*) \|$", text)
    begun = re.split(r"(?m)^\*\*(.+?)\.\*\*", re.sub(r"(?m)^\|.*\n", "", text.split("\n## ")[0]))
    texts = {word: said.strip() for word, said in zip(begun[1::2], begun[2::2], strict=True)}
    return LessonPlan(texts.pop("Goals", ""), tuple((int(m), row) for m, row in rows), texts)
