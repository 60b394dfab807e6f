"""Lazy imports: a package exports names and imports their modules on first use."""

import ast
import importlib
import os
import sys


# No annotations: an old Python cannot evaluate them, yet must reach the message that it is too old.
def lazy_exports(package, file):
    """Return `__getattr__`, `__dir__` and `__all__` for a package (PEP 562).

    file: the package's `__init__.py`. The names are those that the `__init__.pyi` beside it imports, so that
    editors and type checkers see what Python will find.
    """
    with open(os.path.splitext(file)[0] + ".pyi", encoding="utf-8") as stub:
        tree = ast.parse(stub.read())
    imports = [line for line in tree.body if isinstance(line, ast.ImportFrom)]
    origin = {alias.name: str(line.module) for line in imports for alias in line.names}
    names = sorted(origin)

    def get(name):
        if name not in origin:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(origin[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: names, names
