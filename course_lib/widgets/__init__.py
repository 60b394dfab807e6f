"""Interactive figures, for the mouse or the keyboard: `softmax_explorer()` alone in a cell.

Each is an `Explorer`: a few controls, one picture, one line of text. `projector()` makes the next ones large.
Each is imported when it is first used, because some of them load models and data sets.
"""

from course_lib.utils.lazy import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)  # the names in __init__.pyi
