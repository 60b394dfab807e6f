"""Page with the widgets of `gallery.EXHIBITS`, one at a time, built on first use."""

import html
from collections.abc import Sequence
from pathlib import Path

import ipywidgets

from course_lib.chapters.gallery import CHAPTERS, Exhibit, exhibits
from course_lib.viz import figures
from course_lib.viz.style import is_projected
from course_lib.widgets.explorer import Explorer, choice
from course_lib.widgets.layout import AccessibleNames
from course_lib.widgets.speaker_notes import SpeakerNotes

STYLE = Path(__file__).with_name("gallery.css").read_text(encoding="utf-8")
SUMMARY = (
    "buttons for the chapters and their widgets, above the chosen widget with a question for "
    "the class. Notes for the instructor open in a second window. It responds while the notebook is running."
)


class Gallery:
    """Widgets by chapter, one at a time; each is built when it is first opened.

    shown: the exhibits on the page. chapter, widget: the buttons that choose one. room: where it is.
    """

    def __init__(self, shown: Sequence[Exhibit]):
        self.shown = tuple(shown)
        self.built: dict[str, Explorer] = {}
        self.frames: dict[str, ipywidgets.VBox] = {}
        chapters = list(dict.fromkeys(exhibit.chapter for exhibit in self.shown))
        self.chapter = choice("chapter", chapters, tooltips=[CHAPTERS.get(key, "") for key in chapters])
        self.widget = choice("widget", self.titles(chapters[0]))
        self.menu, self.room, self.notes = ipywidgets.VBox(), ipywidgets.VBox(), SpeakerNotes()
        style = ipywidgets.HTML(f"<style>\n{STYLE}</style>")
        self.box = ipywidgets.VBox([style, self.menu, self.room, AccessibleNames()])
        for part, name in ((self.menu, "menu"), (self.room, "room"), (style, "style"), (self.box, "gallery")):
            part.add_class(f"course-{name}")
        if is_projected():
            self.box.add_class("course-large")
        self.chapter.observe(lambda change: self.open_chapter(change["new"]), names="value")
        self.widget.observe(lambda change: self.open(change["new"]), names="value")
        self.open_chapter(self.chapter.value)

    def titles(self, chapter: str) -> list[tuple[str, Exhibit]]:
        """Titles and exhibits of a chapter."""
        return [(exhibit.title, exhibit) for exhibit in self.shown if exhibit.chapter == chapter]

    def open_chapter(self, chapter: str) -> None:
        """Show the first widget of a chapter, and buttons for all of them if there are several."""
        titles = self.titles(chapter)
        chapters = [self.chapter] if len(self.chapter.options) > 1 else []
        self.menu.children = [*chapters, self.widget] if len(titles) > 1 else chapters
        self.widget.options = titles  # which also chooses the first one
        self.open(self.widget.value)

    def open(self, exhibit: Exhibit | None) -> None:
        """Show a widget; while it is built for the first time, the page says so."""
        if exhibit is None:  # between two chapters, no widget is chosen
            return
        if exhibit.widget not in self.frames:
            top = ipywidgets.HBox([heading(exhibit), self.notes]).add_class("course-top")
            frame = ipywidgets.VBox([top, ipywidgets.HTML("<p>Loading …</p>")])
            self.room.children = [frame]
            self.built[exhibit.widget] = exhibit.make()
            frame.children = [frame.children[0], self.built[exhibit.widget].box]
            for name in ("exhibit", exhibit.widget):
                frame.add_class(f"course-{name}")
            self.frames[exhibit.widget] = frame
        self.room.children = [self.frames[exhibit.widget]]
        self.notes.title = exhibit.title
        self.notes.notes = {"Ask": exhibit.ask, "Move": exhibit.move, "Expect": exhibit.seen}

    def _ipython_display_(self) -> None:
        figures.show_widget(self.box, SUMMARY, next(iter(self.built.values())).snapshot())


def heading(exhibit: Exhibit) -> ipywidgets.HTML:
    """Title and question."""
    title, ask = html.escape(exhibit.title), html.escape(exhibit.ask)
    return ipywidgets.HTML(f"<h2>{title}</h2><p>{ask}</p>").add_class("course-heading")


def gallery(wanted: str | None = None) -> Gallery:
    """Page with all widgets of the course, those of a chapter, or one by name.

    Raises ValueError for an unknown chapter or widget.
    """
    return Gallery(exhibits(wanted))
