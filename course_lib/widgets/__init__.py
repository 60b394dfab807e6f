"""Things to move with the mouse or the arrow keys: `softmax_explorer()` in a cell of its own.

Each is an `Explorer`: a few controls, one picture, one line of text. `projector()` makes the next ones large.
"""

from course_lib.widgets.explorer import Explorer, projector
from course_lib.widgets.softmax import softmax_explorer
from course_lib.widgets.translation import translation_explorer

__all__ = ["Explorer", "projector", "softmax_explorer", "translation_explorer"]
