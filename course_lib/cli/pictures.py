"""Pictures of the widgets for README, taken in Chromium from a page that Voilà serves, as `present` does.

python -m course_lib.cli.pictures

Writes one picture of each widget in STILLS to docs/images; `motion_picture` records the other one.
Needs what the browser tests need: `python -m course_lib test --browser`.
"""

import io
import secrets
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nbformat.v4 import new_code_cell, new_notebook
from PIL import Image
from playwright.sync_api import Locator, Page, sync_playwright

from course_lib.chapters.gallery import exhibits
from course_lib.cli import browser, notebook_io, present
from course_lib.cli.environment import ROOT, SetUpError
from course_lib.utils.files import atomic_path

IMAGES = ROOT / "docs" / "images"
PAGE = {"width": 740, "height": 1600}
GALLERY = "from course_lib.chapters.gallery_page import gallery\ngallery()"
COLORS = 128
MARGIN = 8
METADATA = {"kernelspec": notebook_io.KERNEL, "language_info": notebook_io.LANGUAGE}
PATIENCE = 90_000  # milliseconds for a widget to appear: some train a small model first
SETTLE = 250  # milliseconds for the text below a new picture
HANDLE = ".noUi-handle"
STILLS = {  # by file: widget, and the keys for its sliders, by label
    "widget_softmax": ("softmax_explorer", {}),
    "widget_heads": ("heads_explorer", {}),
    "widget_patches": ("patch_explorer", {}),
    "widget_beam": ("translation_explorer", {"beam width": ["ArrowRight"]}),
}
WHOLE = {"widget_beam"}  # shown with the table below the line of text


class Widget:
    """One widget on the page."""

    def __init__(self, page: Page, name: str):
        self.page = page
        exhibit = exhibits(name)[0]
        page.get_by_role("button", name=exhibit.chapter, exact=True).click()
        if len(exhibits(exhibit.chapter)) > 1:
            page.get_by_role("button", name=exhibit.title, exact=True).click()
        self.place = page.locator(f".course-{name}").first
        self.picture = self.place.locator("img:visible, .attention-maps:visible").first
        self.picture.wait_for(timeout=PATIENCE)
        page.wait_for_timeout(4 * SETTLE)

    def slider(self, label: str) -> Locator:
        """The handle of the slider with this label."""
        return self.place.locator(".widget-slider").filter(has_text=label).locator(HANDLE).first

    def press(self, label: str, key: str) -> None:
        """Move a slider by a key, and wait for the new text. Raises TimeoutError if none comes."""
        words = self.place.locator(".course-words")
        before = words.inner_text()
        self.slider(label).focus()
        self.page.keyboard.press(key)
        moved = "([words, before]) => words.innerText !== before"
        self.page.wait_for_function(moved, arg=[words.element_handle(), before], timeout=PATIENCE)
        self.page.wait_for_timeout(SETTLE)

    def photograph(self, whole: bool = False) -> Image.Image:
        """The controls, the picture and the line of text; `whole`: with what is below that line."""
        self.page.evaluate("document.activeElement.blur()")
        box = self.place.locator(".course-frame").bounding_box()
        line = self.place.get_by_role("status").bounding_box()
        bottom = box["y"] + box["height"] if whole else line["y"] + line["height"]
        height = bottom - box["y"]
        clip = {"x": 0, "y": box["y"], "width": PAGE["width"], "height": height}
        seen = Image.open(io.BytesIO(self.page.screenshot(clip=clip))).convert("RGB")
        sheet = Image.new("RGB", (seen.width, seen.height + MARGIN), "white")
        sheet.paste(seen)
        return sheet


@contextmanager
def opened() -> Iterator[Page]:
    """A page with all widgets. Raises SetUpError if there is no browser."""
    program = browser.find()
    if program is None:
        raise SetUpError("There is no Chromium here: python -m course_lib test --browser")
    with served() as address, sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = chromium.new_page(viewport=PAGE)
        page.goto(address, timeout=PATIENCE, wait_until="commit")
        page.locator(".course-gallery").wait_for(timeout=PATIENCE)
        yield page
        chromium.close()


@contextmanager
def served() -> Iterator[str]:
    """The address of a page with all widgets in the size that they have in notebooks."""
    port, token = present.free_port(9300), secrets.token_urlsafe(12)
    with tempfile.TemporaryDirectory() as folder:
        notebook = Path(folder, "widgets.ipynb")
        notebook_io.write(new_notebook(cells=[new_code_cell(GALLERY)], metadata=METADATA), notebook)
        words = [str(notebook) if one.endswith(".ipynb") else one for one in present.command(port)]
        variables = present.variables(token)
        server = subprocess.Popen(words, env=variables, stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            present.answers(port, server)
            yield f"http://{present.HOST}:{port}/?token={token}"
        finally:
            present.end(server)


def save_still(picture: Image.Image, path: Path) -> None:
    """Write a picture in few colors, which a page of text and curves does not miss."""
    with atomic_path(path) as part:
        picture.quantize(COLORS).save(part, format="png", optimize=True)


def main(folder: Path = IMAGES) -> None:
    """Take and write all pictures."""
    with opened() as page:
        for name, (widget_name, keys) in STILLS.items():
            widget = Widget(page, widget_name)
            for label, pressed in keys.items():
                for key in pressed:
                    widget.press(label, key)
            save_still(widget.photograph(name in WHOLE), folder / f"{name}.png")


if __name__ == "__main__":
    main()
