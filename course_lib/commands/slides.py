"""Slides from a notebook, for those who want them: a step for nbconvert.

    jupyter nbconvert --to slides --SlidesExporter.preprocessors=course_lib.commands.slides.Slides NOTEBOOK

A heading begins a slide, each further text one below it, and code stays with the text before it. What was set
by hand in JupyterLab (*Property inspector → Slide type*) stays as it is.
"""

import re

from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode


class Slides(Preprocessor):
    """Gives each cell that has none its place among the slides."""

    enabled = True

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        for cell in nb.cells:
            chosen = cell.metadata.get("slideshow", {}).get("slide_type")
            cell.metadata["slideshow"] = {"slide_type": chosen or slide_type(cell)}
        return nb, resources


def slide_type(cell: NotebookNode) -> str:
    """What a cell begins: a slide, a slide below it, or nothing ("-")."""
    if cell.cell_type != "markdown":
        return "-"
    if "<details>" in cell.source:
        return "skip"  # a solution
    return "slide" if re.match(r"#{1,2} ", cell.source.lstrip()) else "subslide"
