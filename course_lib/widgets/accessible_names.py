"""Accessible names and keyboard behavior that ipywidgets lacks, added in the browser."""

from pathlib import Path

import anywidget

SCRIPT = Path(__file__).parent / "js" / "accessible_names.js"


class AccessibleNames(anywidget.AnyWidget):
    """Invisible widget that names the sliders, buttons and pictures of the box that it is in.

    A slider's handle gets its label as its accessible name, and the displayed value as its value; a picture
    gets the line of text below it. While a control has the focus, JupyterLab's shortcuts are off: otherwise,
    `x` would cut the cell.
    """

    _esm = SCRIPT.read_text(encoding="utf-8")

    def __init__(self) -> None:
        super().__init__()
        self.add_class("course-names")
