"""Layout of a widget: controls beside the picture where there is room, otherwise above it.

All sizes follow the page, by CSS alone, so that the same widget suits a notebook, a projector and a phone.
The class names of the controls are those of ipywidgets 7 and 8.
"""

import re

import anywidget
import ipywidgets

from course_lib.widgets.modules import FOLDER, joined

TALL, FEW = 0.55, 5  # least height/width of a tall picture; most controls with room for text below them


# On a dark page, what is drawn for a white one changes light for dark and keeps its hues; photographs stay.
_CSS = (FOLDER / "layout.css").read_text(encoding="utf-8")
BASE, BESIDE, FOR_PROJECTOR, FOR_DARK = (part.strip("\n") for part in re.split(r"/\* part: .+ \*/", _CSS)[1:])


def beside(width: str, kind: str) -> str:
    """Rules for pages with room for the controls beside the picture. kind: a selector of widgets."""
    rules = BESIDE.replace(".course-explorer", f".course-explorer{kind}")
    return f"@container (min-width: {width}) {{\n{rules}\n}}"


WIDE = beside("60rem", ":not(.course-projected)") + beside("68rem", ".course-projected")  # larger letters
STYLE = f"<style>\n{BASE}\n{WIDE}\n{FOR_PROJECTOR}\n</style>"
DARK = f"<style>\n{FOR_DARK}\n</style>"


class AccessibleNames(anywidget.AnyWidget):
    """Invisible widget that names the sliders, buttons and pictures of the box that it is in.

    A slider's handle gets its label as its accessible name, and the displayed value as its value; a picture
    gets the line of text below it. While a control has the focus, JupyterLab's single-key shortcuts are off:
    otherwise, `x` would cut the cell. Those with Ctrl or Cmd work: Ctrl+S saves. On a page with light text,
    the box has the class `course-dark`.
    """

    _esm = joined("accessible_names.js")

    def __init__(self) -> None:
        super().__init__()
        self.add_class("course-names")


def arrange(
    controls: list[ipywidgets.Widget],
    pictures: list[ipywidgets.Widget],
    words: ipywidgets.Widget,
    shape: float,
    projected: bool,
) -> ipywidgets.Box:
    """Box with the controls, the picture and the text (words) of a widget.

    pictures: in the same place: alternatives, or layers. shape: height of the picture divided by its width;
    the words are below a wide picture, and below the controls if it is tall.
    """
    panel = ipywidgets.Box(controls)
    frame = ipywidgets.Box([panel, *pictures, words])
    style = ipywidgets.HTML(STYLE + DARK)
    box = ipywidgets.Box([style, frame, AccessibleNames()])
    for picture in pictures:
        picture.add_class("course-picture")
    for part, name in ((panel, "controls"), (words, "words"), (frame, "frame"), (style, "style")):
        part.add_class(f"course-{name}")
    box.add_class("course-explorer")
    if shape > TALL and len(controls) <= FEW:
        frame.add_class("course-tall")
    if projected:
        box.add_class("course-projected")
    return box
