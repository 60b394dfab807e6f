"""Every widget of the course on one page, by chapter, each with notes for the teacher.

The files chapter.toml list them under `widgets`; a test compares `EXHIBITS` with what is exported.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from course_lib import widgets
from course_lib.chapters import ch06_translation as ch06
from course_lib.experiments.real_translator import SENTENCES, real_translator
from course_lib.utils.chapters import chapter_settings
from course_lib.widgets.explorer import Explorer

CHAPTERS = chapter_settings("button")  # labels


@dataclass(frozen=True)
class Exhibit:
    """A widget and how to teach with it: a question for the class, what to move, and what to expect."""

    chapter: str
    widget: str
    title: str
    ask: str
    move: str
    seen: str

    def make(self) -> Explorer:
        """Build the widget; if it needs a model, it gets a small stored one."""
        return maker(self.widget)()


@cache
def homes() -> dict[str, ModuleType]:
    """The package that exports each widget, by the widget's name."""
    folders = sorted(path.name for path in Path(__file__).parent.glob("ch*"))
    packages = [widgets, *(import_module(f"course_lib.chapters.{name}") for name in folders)]
    exported = ((name, package) for package in packages for name in getattr(package, "__all__", ()))
    return {name: package for name, package in exported if name.endswith("_explorer")}


def maker(name: str) -> Callable[[], Explorer]:
    """The function that builds a widget; if the widget needs a model, with a small stored one."""
    return MODELS.get(name) or getattr(homes()[name], name)


MODELS: dict[str, Callable[[], Explorer]] = {
    "translation_explorer": lambda: ch06.translation_explorer(*real_translator(), SENTENCES),
}

BROWSER_DRAWN = frozenset({"model_explorer"})  # a component of the page, not an `Explorer` with controls

SHOWN = [
    Exhibit(chapter, **about) for chapter, listed in chapter_settings("widgets").items() for about in listed
]
FIRST = {exhibit.widget: exhibit for exhibit in reversed(SHOWN)}
EXHIBITS = tuple(exhibit for exhibit in SHOWN if FIRST[exhibit.widget] is exhibit)
REVISITED = tuple(exhibit for exhibit in SHOWN if FIRST[exhibit.widget] is not exhibit)


def exhibits(wanted: str | None = None) -> tuple[Exhibit, ...]:
    """Exhibits of a chapter ("3", "03", "A1") or with a name ("softmax"); by default, all.

    Raises ValueError for anything else; the message lists the chapters and names.
    """
    if wanted is None:
        return EXHIBITS
    key = wanted.strip().lower().removesuffix("_explorer")
    chapter = key and key.zfill(3 if key[-1].isalpha() else 2)
    found = tuple(e for e in EXHIBITS if e.chapter.lower() == chapter or e.widget == f"{key}_explorer")
    found = found or tuple(e for e in REVISITED if e.chapter == chapter)
    if not found:
        chapters = ", ".join(sorted({exhibit.chapter for exhibit in SHOWN}))
        names = ", ".join(exhibit.widget.removesuffix("_explorer") for exhibit in EXHIBITS)
        raise ValueError(f"{wanted!r} is neither a chapter with widgets ({chapters}) nor a widget ({names})")
    return found
