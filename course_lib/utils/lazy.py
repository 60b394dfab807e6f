"""Lazy imports: a package exports names and imports their modules on first use."""

import importlib
import sys


# No annotations: an old Python cannot evaluate them, yet must reach the message that it is too old.
def lazy_exports(package, exports):
    """Return `__getattr__`, `__dir__` and `__all__` for a package (PEP 562).

    exports: the names that each module exports; "a.b" is module b of subpackage a.
    """
    origin = {name: module for module, names in exports.items() for name in names}
    names = sorted(origin)

    def get(name):
        if name not in origin:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{package}.{origin[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: names, names
