"""Chapter 11, your own model: what only its notebook uses."""

from course_lib.utils.lazy import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)  # the names in __init__.pyi
