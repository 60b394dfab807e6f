"""The Transformer course's library.

Import from the packages (`from course_lib.layers import MultiHeadAttention`); the most important names are
also here. A bare `import course_lib` imports nothing but the standard library.
"""

from course_lib.utils.lazy import lazy_exports

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)  # the names in __init__.pyi
