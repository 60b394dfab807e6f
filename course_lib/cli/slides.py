"""`slides`: a notebook as slides.

A page is one file: reveal.js and MathJax are part of it, so that it needs neither a network nor a folder.
`slide_types` decides what is on which slide.
"""

import argparse
import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from jinja2 import FileSystemLoader
from nbconvert import SlidesExporter
from nbformat import NotebookNode

from course_lib.cli import arguments, environment, notebook_io, site
from course_lib.cli.slide_types import HEIGHT, MOST, TALLEST, WIDTH, Slides
from course_lib.utils.files import atomic_path

HELP = "turns notebooks into slides: one page each, for the browser, with or without a network"
TEMPLATES = Path(__file__).with_name("templates")
LEAST = 240  # pixels: where the page finds that a picture must be smaller, to this height at most


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("notebooks", nargs="+", type=arguments.file)
    parser.add_argument(
        "--to",
        type=arguments.output_folder,
        default=".",
        metavar="FOLDER",
        help="where to write the pages (default: here)",
    )
    parser.add_argument(
        "--most",
        type=arguments.positive_integer,
        default=MOST,
        metavar="SLIDES",
        help=f"maximum number of slides per notebook (default: {MOST}, for about 50 minutes)",
    )


def run(args: argparse.Namespace) -> int:
    """Write a page for each notebook. Raises ValueError, writing nothing, if one cannot be read."""
    pages = {args.to / f"{path.stem}.slides.html": path for path in args.notebooks}
    if len(pages) < len(args.notebooks):
        raise ValueError(
            f"some of {', '.join(map(str, args.notebooks))} have the same name, so their pages would, too"
        )
    notebooks = {page: notebook_io.read(path) for page, path in pages.items()}
    environment.provide("site", "reveal.js and MathJax")
    assets = carried()
    for page, nb in notebooks.items():
        text, left_out = html(nb, pages[page].stem, assets, args.most)
        with atomic_path(page) as part:
            part.write_text(text, encoding="utf-8")
        print(f"{page}: open it in a browser; it needs no network.{said(left_out, args.most)}")
    return 0


def said(left_out: int, most: int) -> str:
    """What to do about slides that are left out; nothing if there are none."""
    return f" {left_out} slides are left out; for all of them: --most {most + left_out}" if left_out else ""


def carried() -> dict[str, str]:
    """The parts of a page that installed packages carry: reveal.js, its looks, its notes, and MathJax."""
    reveal = Path(find_spec("sphinx_revealjs").origin).parent / "_static" / "revealjs"
    files = {
        "reveal_css": reveal / "dist" / "reveal.css",
        "theme_css": reveal / "dist" / "theme" / "white.css",
        "reveal_js": reveal / "dist" / "reveal.js",
        "notes_js": reveal / "plugin" / "notes" / "notes.js",
        "mathjax_js": site.mathjax(),
    }
    return {name: inline(path) for name, path in files.items()}


def inline(path: Path) -> str:
    """A script or a style sheet as part of a page: no tag in it ends it, and it fetches no fonts."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".css":
        return re.sub(r"@import url\([^)]*\);", "", text)
    return text.replace("</script", r"<\/script").replace("<!--", r"<\!--")


def html(nb: NotebookNode, title: str, assets: Mapping[str, str], most: int = MOST) -> tuple[str, int]:
    """The notebook as one page of reveal.js, and how many slides were left out. assets: see `carried`."""
    choice = Slides(most=most)
    exporter = SlidesExporter(
        preprocessors=[choice], extra_loaders=[FileSystemLoader(TEMPLATES)], template_file="slides.html.j2"
    )
    sizes = {"width": WIDTH, "height": HEIGHT, "tallest": TALLEST, "least": LEAST}
    resources = {"metadata": {"name": title}, "slides": {**assets, **sizes}}
    return exporter.from_notebook_node(nb, resources)[0], choice.left_out
