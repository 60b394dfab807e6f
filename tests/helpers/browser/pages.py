"""Pages of both front ends with the gallery on them, and everything that goes wrong there, collected."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Locator, Page

from course_lib.chapters.gallery import Exhibit, exhibits
from helpers.browser.moves import Frame
from helpers.browser.servers import Server

WATCH = Path(__file__).with_name("watch.js")
IDLE = "() => window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
HOME = {"127.0.0.1", "localhost", ""}


@dataclass
class Trouble:
    """What the page complained about, and what it asked of the network."""

    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def follow(self, page: Page) -> None:
        page.on("console", self.read)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.ask(request.url))

    def read(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"{message.text} ({message.location['url']})")

    def ask(self, url: str) -> None:
        if url.startswith(("http", "ws")) and urlsplit(url).hostname not in HOME:
            self.foreign.append(url)


@contextmanager
def page_of(
    browser: Browser, width: int = 1280, height: int = 1400, **more
) -> Iterator[tuple[Page, Trouble]]:
    """A new window with nothing in store."""
    context = browser.new_context(viewport={"width": width, "height": height}, **more)
    context.add_init_script(path=WATCH)
    page, trouble = context.new_page(), Trouble()
    trouble.follow(page)
    yield page, trouble
    context.close()


@contextmanager
def from_disk(browser: Browser, address: str, width: int = 1280, height: int = 720, **more) -> Iterator[Page]:
    """A file, opened without a network; in the end, it has raised no error and asked the web for nothing."""
    with page_of(browser, width, height, offline=True, **more) as (page, trouble):
        page.goto(address)
        yield page
        assert not trouble.errors and not trouble.foreign


def open_lab(page: Page, server: Server, notebook: str = "instructor.ipynb") -> None:
    """Open the notebook, run all of it, and wait for the gallery."""
    page.goto(server.url(f"lab/tree/{notebook}"))
    page.wait_for_function("() => !!window.jupyterapp", timeout=60_000)
    page.wait_for_function(IDLE, timeout=60_000)  # before, there is nothing that could run
    do(page, "application:toggle-left-area")
    do(page, "notebook:run-all-cells")
    page.locator(".course-gallery").wait_for(timeout=90_000)


def do(page: Page, command: str) -> None:
    """Let JupyterLab carry out a command; what it returns is too large to be fetched."""
    page.evaluate("command => { jupyterapp.commands.execute(command); }", command)


def open_voila(page: Page, server: Server) -> None:
    """Open the page that `present` serves, and wait for the gallery."""
    page.goto(server.url(), timeout=90_000, wait_until="commit")
    page.locator(".course-gallery").wait_for(timeout=90_000)


FRONT_ENDS = {"JupyterLab": ("lab", open_lab), "Voilà": ("voila", open_voila)}  # fixture, and what opens it


def opened(page: Page, exhibit: Exhibit) -> Frame:
    """The widget, drawn: the button of its chapter is pressed and, among several widgets there, its own."""
    page.get_by_role("button", name=exhibit.chapter, exact=True).click()
    if len(exhibits(exhibit.chapter)) > 1:
        page.get_by_role("button", name=exhibit.title, exact=True).click()
    frame = Frame(page, exhibit.widget)
    frame.appears()
    return frame


def load_axe(page: Page) -> None:
    """Put axe-core into the page, once; it comes with the package axe-core-python."""
    if not page.evaluate("!!window.axe"):
        page.add_script_tag(path=Path(find_spec("axe_core_python").origin).with_name("axe.min.js"))


def violations(page: Page) -> list[str]:
    """What axe-core finds on the page."""
    load_axe(page)
    return page.evaluate(
        """() => axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}).then(found =>
             found.violations.map(v => `${v.id}: ${v.nodes[0].html.slice(0, 200)}`))"""
    )


def contrast(place: Locator) -> list[str]:
    """Texts in this part of the page that stand out too little from what is behind them."""
    load_axe(place.page)
    return place.first.evaluate(
        """place => axe.run(place, {runOnly: ["color-contrast"]}).then(found =>
             found.violations.flatMap(v => v.nodes.map(n => n.html.slice(0, 200) + n.failureSummary)))"""
    )
