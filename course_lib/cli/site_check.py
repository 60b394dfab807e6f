"""What a finished site is checked for: links within it, pictures, and that it loads nothing from the web."""

import base64
import hashlib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from course_lib.cli.site_sources import pictures

LOADED = {"script", "img", "source", "iframe", "video", "audio", "embed"}
LOADED_LINKS = {"stylesheet", "preload", "icon", "modulepreload", "manifest"}  # by <link rel=…>


class Page(HTMLParser):
    """A page's anchors, its references (address, and whether the page loads it), and its pictures."""

    def __init__(self, text: str):
        super().__init__()
        self.anchors: set[str] = set()
        self.references: list[tuple[str, bool]] = []
        self.images: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        loaded = tag in LOADED or bool(LOADED_LINKS & set((values.get("rel") or "").split()))
        self.references += [(values[name], loaded) for name in ("href", "src") if values.get(name)]
        if tag == "img":
            self.images.append((values.get("src") or "", values.get("alt")))


@cache
def page(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def broken(folder: Path) -> Iterator[str]:
    """Each reference that does not work from a disk, with its page.

    What it names is a file or an anchor that does not exist, or is loaded from the web.
    """
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
        stored = Counter((digest(base64.b64decode(png)), alt) for png, alt, _ in pictures(notebook))
        shown = Counter((digest((path.parent / src).read_bytes()), alt) for src, alt in local_images(path))
        for (name, alt), times in stored.items():
            if shown[name, alt] != times:
                yield f"{path.relative_to(folder)}: shown {shown[name, alt]} times instead of {times}: {alt}"


def local_images(path: Path) -> Iterator[tuple[str, str | None]]:
    """The pictures on a page that are files of the site."""
    for src, alt in page(path).images:
        if not urlsplit(src).scheme and (path.parent / unquote(src)).is_file():
            yield unquote(src), alt


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
