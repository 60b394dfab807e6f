"""Appendix A3, the d2l system: what only its notebooks use."""

from course_lib.utils.lazy import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)  # the names in __init__.pyi
