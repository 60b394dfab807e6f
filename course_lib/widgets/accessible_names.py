"""Accessible names, keyboard behavior and a dark look that ipywidgets lacks, added in the browser."""

import anywidget

from course_lib.widgets.modules import joined


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
