"""JavaScript modules of the widgets, joined into the one file that anywidget takes."""

import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).with_name("js")
IMPORT = re.compile(r'^import [^;]* from "\./([\w.]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)
DEFAULT = re.compile(r"^export default .*\n", re.MULTILINE)


@cache
def joined(name: str) -> str:
    """Text of a module in `js` with everything that it imports, as a single module.

    The modules import from each other by name, so no two of them may define the same name.
    Raises FileNotFoundError for a module that does not exist.
    """
    parts: dict[str, str] = {}
    _collect(name, parts)
    *needed, last = parts.values()
    return "\n".join([*(DEFAULT.sub("", part) for part in needed), last])


def _collect(name: str, parts: dict[str, str]) -> None:
    """Add a module after those that it needs."""
    if name in parts:
        return
    text = (FOLDER / name).read_text(encoding="utf-8")
    for needed in IMPORT.findall(text):
        _collect(needed, parts)
    parts[name] = EXPORT.sub("", IMPORT.sub("", text))
