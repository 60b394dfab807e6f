"""The public classes of the library, collected so that a new one cannot be forgotten."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

ROOMS = ("layers", "models", "generation", "tasks", "training", "text")


def public_classes(*rooms: str) -> Iterator[type]:
    """The classes without an underscore of all modules in these packages; by default those for models."""
    for room in rooms or ROOMS:
        package = importlib.import_module(f"course_lib.{room}")
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(info.name)
            classes = (c for _, c in inspect.getmembers(module, inspect.isclass))
            yield from (c for c in classes if c.__module__ == info.name and not c.__name__.startswith("_"))
