"""What ipywidgets leaves out for keyboards and screen readers, added in the browser."""

import sys
from pathlib import Path

import anywidget

SCRIPT = Path(__file__).parent / "js" / "accessible_names.js"


class AccessibleNames(anywidget.AnyWidget):
    """Names for the sliders, buttons and pictures of the widget that it is part of; nothing of it is seen.

    A slider's handle gets its label as a name, and its value as it is shown; a picture gets the line of text
    below it. While a control has the focus, JupyterLab's shortcuts are off: `x` would cut the cell.
    """

    _esm = SCRIPT.read_text(encoding="utf-8")


def accessible_names() -> list[AccessibleNames]:
    """The names to put into a widget's box; none on Colab.

    There, a box would not be drawn at all: Colab's own manager knows only the widgets of ipywidgets.
    """
    return [] if "google.colab" in sys.modules else [AccessibleNames().add_class("course-names")]
