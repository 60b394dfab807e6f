"""`slides`: a notebook as slides.

A page is one file: reveal.js and MathJax are part of it, so that it needs neither a network nor a folder.
`slide_types` decides what is on which slide, and `slide_parts` reads the plan that the slides follow.
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
from course_lib.cli.slide_parts import lesson_plan
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
        default="slides",
        metavar="FOLDER",
        help="where to write the pages (default: slides)",
    )
    parser.add_argument(
        "--most",
        type=arguments.positive_integer,
        default=MOST,
        metavar="SLIDES",
        help=f"maximum number of slides per notebook (default: {MOST}, for about 50 minutes)",
    )
    parser.add_argument(
        "--whole",
        action="store_true",
        help="every section but Going deeper, not only those in the 50-minute plan of docs/teaching.md",
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
        plan = lesson_plan(notebook_io.chapter_of(pages[page]))
        choice = Slides(most=args.most, plan=plan, whole=args.whole)
        with atomic_path(page) as part:
            part.write_text(html(nb, pages[page].stem, assets, choice), encoding="utf-8")
        print(f"{page}: open it in a browser; S shows the notes. It needs no network.{said(choice)}")
    return 0


def said(choice: Slides) -> str:
    """What is left out, and how to get it; empty if nothing is."""
    lines = ""
    if choice.not_shown:
        more = " (--whole: all before Going deeper)" if choice.plan and not choice.whole else ""
        lines += f"\n  Not shown{more}: {'; '.join(choice.not_shown)}"
    if choice.left_out:
        all_of_them = choice.most + choice.left_out
        lines += f"\n  {choice.left_out} slides are left out; for all of them: --most {all_of_them}"
    return lines


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


def html(nb: NotebookNode, title: str, assets: Mapping[str, str], choice: Slides) -> str:
    """The notebook as one page of reveal.js. assets: see `carried`."""
    exporter = SlidesExporter(
        preprocessors=[choice], extra_loaders=[FileSystemLoader(TEMPLATES)], template_file="slides.html.j2"
    )
    sizes = {"width": WIDTH, "height": HEIGHT, "tallest": TALLEST, "least": LEAST}
    resources = {"metadata": {"name": title}, "slides": {**assets, **sizes}}
    nb.metadata.pop("widgets", None)  # the state of widgets as Colab saves it stops nbconvert
    return exporter.from_notebook_node(nb, resources)[0]
