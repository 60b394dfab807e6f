"""Page with the widgets of `gallery.EXHIBITS`, one at a time, built on first use."""

import html
from collections.abc import Sequence

import ipywidgets

from course_lib.chapters.gallery import CHAPTERS, Exhibit, exhibits
from course_lib.viz import figures
from course_lib.viz.style import is_projected
from course_lib.widgets.explorer import Explorer, choice
from course_lib.widgets.layout import AccessibleNames
from course_lib.widgets.speaker_notes import SpeakerNotes

# Buttons rather than tabs: they wrap on a narrow page and also work with the keyboard in ipywidgets 7.
# For the projector, the page is as high as the window, and the picture takes what the rest leaves.
STYLE = """<style>
.course-gallery, .course-gallery .widget-box { overflow: visible; }
.course-gallery .course-names, .course-gallery .course-style { display: none; }
.course-gallery .course-menu { width: auto; height: auto; padding: 0 6px; flex-wrap: wrap; }
.course-gallery .course-menu .jupyter-button { width: auto; height: auto; line-height: 1.3;
  padding: 0.15em 0.5em; white-space: nowrap; overflow: visible; margin: 1px; }
.course-gallery .course-menu .jupyter-button.mod-active { font-weight: bold; text-decoration: underline; }
.course-gallery .course-menu .widget-toggle-buttons { display: flex; width: auto; height: auto; }
.course-gallery .course-menu .widget-label { flex: none; width: 5em; height: auto; line-height: 1.3;
  padding-top: 0.15em; text-align: left; margin-right: 0.4em; }
.course-gallery .course-heading { height: auto; padding: 0 6px; }
.course-gallery .course-heading .widget-html-content { display: flex; flex-wrap: wrap; align-items: baseline;
  gap: 0 1em; line-height: 1.4; }
.course-gallery h2, .course-gallery p { margin: 0; }
.course-gallery .course-top { overflow: visible; align-items: baseline; }
.course-gallery .course-top > :first-child { flex: 1; }
.course-gallery .course-notes-button { width: auto; height: auto; line-height: 1.3; padding: 0.15em 0.5em; }
.course-gallery :focus-visible { outline: 3px solid #0b62c4; outline-offset: 2px; }
.course-large { --course-letters: clamp(18px, 1.6vw, 36px); }
.course-large .course-menu *, .course-large .course-heading *, .course-large .course-notes-button {
  font-size: var(--course-letters); }
.course-large .course-heading h2 { font-size: calc(1.2 * var(--course-letters)); }
@media (min-width: 62rem) {
  .course-large { height: calc(100vh - 2rem); --course-window: yes; }
  .course-large .course-room, .course-large .course-exhibit, .course-large .course-explorer,
  .course-large .course-frame { flex: 1 1 0; min-height: 0; }
  .course-large .course-explorer { display: flex; flex-flow: column; }
  .course-large .course-frame { grid-template-rows: auto minmax(0, 1fr) auto; } /* stacked: text in sight */
  .course-large .course-frame:not(.course-tall) > .course-words.course-words { max-height: 33vh;
    overflow: auto; } /* the picture comes first */
}
</style>"""
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
        style = ipywidgets.HTML(STYLE)
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
