"""What a finished site is checked for: links within it, pictures, and that it loads nothing from the web."""

import base64
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from course_lib.cli.lint import tags
from course_lib.cli.site_sources import pictures

LOADED = {"script", "img", "source", "iframe", "video", "audio", "embed"}
LOADED_LINKS = {"stylesheet", "preload", "icon", "modulepreload", "manifest"}  # by <link rel=…>


class Page:
    """A page's anchors, its references (address, and whether the page loads it), and its pictures."""

    def __init__(self, text: str):
        self.anchors: set[str] = set()
        self.references: list[tuple[str, bool]] = []
        self.images: list[tuple[str, str | None]] = []
        for tag, values in tags(text):
            self.anchors |= {values[name] for name in ("id", "name") if name in values}
            loaded = tag in LOADED or bool(LOADED_LINKS & set(values.get("rel", "").split()))
            self.references += [(values[name], loaded) for name in ("href", "src") if values.get(name)]
            if tag == "img":
                self.images.append((values.get("src", ""), values.get("alt")))


@cache
def page(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def broken(folder: Path) -> Iterator[str]:
    """Each reference that does not work from a disk, with its page and the reason."""
    for path in sorted(folder.rglob("*.html")):
        if path.is_relative_to(folder / "_static"):  # templates that the theme leaves there
            continue
        for address, loaded in dict.fromkeys(page(path).references):
            if why := fault(path, address, loaded):
                yield f"{path.relative_to(folder)}: {address} {why}"


def fault(path: Path, address: str, loaded: bool) -> str | None:
    """What is wrong with a reference of the page `path`; None if nothing is."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return "is loaded from the web" if loaded and parts.scheme != "data" else None
    target = path.parent / unquote(parts.path) if parts.path else path
    if not target.exists():
        return "does not exist"
    if target.suffix == ".html" and parts.fragment and unquote(parts.fragment) not in page(target).anchors:
        return "has no such anchor"
    return None


def lost_pictures(folder: Path, notebooks: Path) -> Iterator[str]:
    """Each picture of a notebook that its page shows too seldom or too often, or without its alt text."""
    for notebook in sorted(notebooks.glob("*.ipynb")):
        path = folder / "notebooks" / f"{notebook.stem}.html"
        stored = Counter((base64.b64decode(png), alt) for png, alt, _ in pictures(notebook))
        local = (
            (path.parent / unquote(src), alt) for src, alt in page(path).images if not urlsplit(src).scheme
        )
        shown = Counter((file.read_bytes(), alt) for file, alt in local if file.is_file())
        for (png, alt), times in stored.items():
            if shown[png, alt] != times:
                yield f"{path.relative_to(folder)}: shown {shown[png, alt]} times instead of {times}: {alt}"
