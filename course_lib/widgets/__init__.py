"""Things to move with the mouse or the arrow keys: `softmax_explorer()` in a cell of its own.

Each is an `Explorer`: a few controls, one picture, one line of text. `projector()` makes the next ones large.
"""

from course_lib.widgets.anatomy import anatomy_explorer
from course_lib.widgets.explorer import Explorer, projector
from course_lib.widgets.heads import heads_explorer
from course_lib.widgets.lookup import lookup_explorer
from course_lib.widgets.masks import mask_explorer
from course_lib.widgets.norms import norm_explorer
from course_lib.widgets.positions import positions_explorer
from course_lib.widgets.scoring import scoring_explorer
from course_lib.widgets.shapes import bmm_explorer
from course_lib.widgets.softmax import softmax_explorer
from course_lib.widgets.translation import translation_explorer
from course_lib.widgets.walk import block_explorer

__all__ = [
    "Explorer",
    "anatomy_explorer",
    "block_explorer",
    "bmm_explorer",
    "heads_explorer",
    "lookup_explorer",
    "mask_explorer",
    "norm_explorer",
    "positions_explorer",
    "projector",
    "scoring_explorer",
    "softmax_explorer",
    "translation_explorer",
]
