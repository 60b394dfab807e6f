"""Page with the widgets of `gallery.EXHIBITS`: one button per chapter, built on first use."""

import html
from collections.abc import Sequence

import ipywidgets

from course_lib.viz import figures
from course_lib.viz.style import is_projected
from course_lib.widgets.explorer import Explorer
from course_lib.widgets.gallery import CHAPTERS, Exhibit, exhibits

# Buttons rather than tabs: they wrap on a narrow page and also work with the keyboard in ipywidgets 7.
STYLE = """<style>
.course-gallery .jupyter-button { width: auto; height: auto; line-height: 1.3; padding: 0.3em 0.7em;
  white-space: nowrap; overflow: visible; margin: 2px; }
.course-gallery .jupyter-button.mod-active { font-weight: bold; text-decoration: underline; }
.course-gallery h2 { margin: 1.2em 0 0.2em; }
.course-gallery p, .course-gallery summary { margin: 0.2em 0; line-height: 1.4; }
.course-gallery summary { cursor: pointer; width: fit-content; }
.course-large p, .course-large summary, .course-large .widget-label { font-size: 24px; }
.course-large h2 { font-size: 32px; }
.course-large .jupyter-button { font-size: 20px; }
.course-gallery :focus-visible { outline: 3px solid #0b62c4; outline-offset: 2px; }
</style>"""
SUMMARY = (
    "chapter buttons above the widgets of the chosen chapter, each with a question for "
    "the class and a note for the teacher. It responds while the notebook is running."
)


class Gallery:
    """Widgets by chapter; a chapter's widgets are built when it is first opened.

    shown: the exhibits on the page. chapter: the buttons.
    """

    def __init__(self, shown: Sequence[Exhibit]):
        self.shown = tuple(shown)
        chapters = dict.fromkeys(exhibit.chapter for exhibit in self.shown)
        self.built: list[Explorer] = []
        self.rooms = {key: ipywidgets.VBox() for key in chapters}
        self.chapter = ipywidgets.ToggleButtons(
            options=[(f"{key} {CHAPTERS[key]}", key) for key in chapters],
            description="chapter",
            style={"button_width": "auto", "description_width": "initial"},
        )
        self.room = ipywidgets.VBox()
        buttons = [self.chapter] if len(chapters) > 1 else []
        self.box = ipywidgets.VBox([ipywidgets.HTML(STYLE), *buttons, self.room])
        self.box.add_class("course-gallery")
        if is_projected():
            self.box.add_class("course-large")
        self.chapter.observe(lambda change: self.open(change["new"]), names="value")
        self.open(self.chapter.value)

    def open(self, chapter: str) -> None:
        """Show the widgets of a chapter; those not yet built appear one by one."""
        room = self.rooms[chapter]
        self.room.children = [room]
        if room.children:
            return
        mine = [exhibit for exhibit in self.shown if exhibit.chapter == chapter]
        frames = [ipywidgets.VBox([heading(e), ipywidgets.HTML("<p>Loading …</p>")]) for e in mine]
        room.children = frames
        for exhibit, frame in zip(mine, frames, strict=True):
            self.built.append(exhibit.make())
            frame.children = [frame.children[0], self.built[-1].box]
            frame.add_class(f"course-{exhibit.widget}")

    def _ipython_display_(self) -> None:
        figures.show_widget(self.box, SUMMARY, self.built[0].snapshot())


def heading(exhibit: Exhibit) -> ipywidgets.HTML:
    """Title and question, then a collapsed note: what to move and what to expect."""
    title, ask, move, seen = map(html.escape, (exhibit.title, exhibit.ask, exhibit.move, exhibit.seen))
    return ipywidgets.HTML(
        f"<h2>{title}</h2><p>{ask}</p>"
        f"<details><summary>For the teacher</summary><p>Move: {move}.<br>Expect: {seen}.</p></details>"
    )


def gallery(wanted: str | None = None) -> Gallery:
    """Page with all widgets of the course, those of a chapter, or one by name.

    Raises ValueError for an unknown chapter or widget.
    """
    return Gallery(exhibits(wanted))
