"""`site`: the course as a website that also works from a disk, without a server or a network.

Sphinx reads copies of the notebooks with their stored outputs; nothing is run. Its warnings are errors, and
so is a link that leads nowhere, a picture that is lost or shown twice, and anything that a page would load
from the web.
"""

import argparse
import base64
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

from course_lib.cli import arguments, environment, notebook_io, site_sources
from course_lib.cli.environment import ROOT
from course_lib.cli.lint import tags
from course_lib.utils.files import FULL, atomic_path

HELP = "builds a website of the notebooks, the guides and the reference, to read online or from a disk"
MATHJAX = Path("sphinx-mathjax-offline", "static", "mathjax", "tex-svg-full.js")  # in site-packages
LOADED = {"script", "img", "source", "iframe", "video", "audio", "embed"}
LOADED_LINKS = {"stylesheet", "preload", "icon", "modulepreload", "manifest"}  # by <link rel=…>


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--to",
        type=arguments.output_folder,
        default=str(ROOT / "site"),  # as text, so that it is checked like one that is given
        metavar="FOLDER",
        help="where to write it, replacing what is there (default: site/ in the repository)",
    )
    parser.add_argument(
        "--without-solutions",
        action="store_true",
        help="build it from the notebooks as `release` writes them, and without the guide for instructors",
    )
    parser.add_argument(
        "--external-links", action="store_true", help="write nothing; check the links to other sites"
    )


def run(args: argparse.Namespace) -> int:
    """Build the site; returns 0. Raises ValueError if it is faulty."""
    if not environment.is_repository():
        raise environment.SetUpError(
            "The notebooks are in the course's repository; run this in a copy of it."
        )
    require_replaceable(args.to)
    environment.provide("site", "the packages that build the site")
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(folder) / "sources"
        site_sources.write(sources, solutions=not args.without_solutions)
        if args.external_links:
            sphinx("linkcheck", sources, Path(folder) / "links")
            return 0
        with atomic_path(args.to) as part:
            build(sources, part, solutions=not args.without_solutions)
    megabytes = sum(path.stat().st_size for path in args.to.rglob("*") if path.is_file()) / 1e6
    print(f"{args.to / 'index.html'}: open it in a browser. {megabytes:.0f} MB.")
    return 0


def require_replaceable(folder: Path) -> None:
    """Raise ValueError if the folder holds anything but a site: it would be replaced as a whole."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / ".buildinfo").exists():
        raise ValueError(f"--to {folder}: the folder holds something other than a site. Choose a new one.")


def build(sources: Path, folder: Path, solutions: bool = True) -> None:
    """Build the site from the sources. Raises ValueError, naming the first faults, if it is not sound."""
    (sources / "_static" / "mathjax").mkdir()
    shutil.copy(mathjax(), sources / "_static" / "mathjax")
    sphinx("html", sources, folder)
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):  # to download: as stored, not as Sphinx read it
        place = folder / "_sources" / "notebooks" / notebook.name
        notebook_io.write(site_sources.stored(notebook, solutions), place)
    faults = [*broken(folder), *lost_pictures(folder, ROOT / "notebooks")]
    if faults:
        raise ValueError("\n  ".join([f"{len(faults)} faults in the site:", *faults[:20]]))


def mathjax() -> Path:
    """MathJax as a single file, from the package that carries it."""
    return Path(find_spec("sphinx-mathjax-offline").origin).parents[1] / MATHJAX


def sphinx(builder: str, sources: Path, folder: Path) -> None:
    """Run Sphinx; a warning is an error. A full disk, which it reports as its own bug, is an OSError."""
    command = [sys.executable, "-m", "sphinx", "-b", builder, "-W", "--keep-going", "-q", "-j", "auto"]
    command += ["-d", f"{folder}.doctrees", str(sources), str(folder)]
    # It finds course_lib; no window opens.
    variables = {**environment.child_environment(), "MPLBACKEND": "agg"}
    done = subprocess.run(command, env=variables, stderr=subprocess.PIPE, text=True, errors="replace")
    full = re.search(rf"\[Errno ({'|'.join(map(str, FULL))})\]", done.stderr)
    if done.returncode and full:
        raise OSError(int(full[1]), os.strerror(int(full[1])), str(folder))
    sys.stderr.write(done.stderr)
    if done.returncode:
        raise ValueError(f"Sphinx found problems (above) in copies of the course's files in {sources}")


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
        stored = Counter((base64.b64decode(png), alt) for png, alt, _ in site_sources.pictures(notebook))
        local = (
            (path.parent / unquote(src), alt) for src, alt in page(path).images if not urlsplit(src).scheme
        )
        shown = Counter((file.read_bytes(), alt) for file, alt in local if file.is_file())
        for (png, alt), times in stored.items():
            if shown[png, alt] != times:
                yield f"{path.relative_to(folder)}: shown {shown[png, alt]} times instead of {times}: {alt}"
