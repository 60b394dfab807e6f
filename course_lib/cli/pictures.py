"""README's pictures of widgets, still and in motion, taken in Chromium.

python -m course_lib.cli.pictures

The stills come from a page that Voilà serves, as `present` does; the motion picture is the model explorer at
work on its page without a kernel. Needs what the browser tests need: `python -m course_lib test --browser`.
"""

import io
import secrets
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nbformat.v4 import new_code_cell, new_notebook
from PIL import Image, ImageOps
from playwright.sync_api import Page, sync_playwright

from course_lib.chapters.gallery import exhibits
from course_lib.cli import browser, explorer_page, notebook_io, present
from course_lib.cli.environment import ROOT, SetUpError
from course_lib.utils.files import atomic_path

IMAGES = ROOT / "docs" / "images"
GALLERY = "from course_lib.chapters.gallery_page import gallery\ngallery()"
METADATA = {"kernelspec": notebook_io.KERNEL, "language_info": notebook_io.LANGUAGE}
COLORS = 128
MARGIN = 8  # below a still
PATIENCE = 90_000  # milliseconds for a widget to appear: some train a small model first
SETTLE = 250  # milliseconds for what follows a new picture
MOVED = 900  # milliseconds that a frame of the motion picture stays
HELD = 2600  # the same for one with more to see
STILLS = {
    "widget_softmax": "softmax_explorer",
    "widget_heads": "heads_explorer",
    "widget_patches": "patch_explorer",
    "widget_beam": "translation_explorer",
}
BEAM = "widget_beam"  # shown with a wider beam, and with the table below the line of text


@contextmanager
def opened(address: str, **size: int) -> Iterator[Page]:
    """A page in a window of this size. Raises SetUpError if there is no browser."""
    program = browser.find()
    if program is None:
        raise SetUpError("Chromium is missing. This command installs it: python -m course_lib test --browser")
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = chromium.new_page(viewport=size)
        page.goto(address, timeout=PATIENCE, wait_until="commit")
        yield page
        chromium.close()


@contextmanager
def served() -> Iterator[str]:
    """The address of a page with all widgets in the size that they have in notebooks."""
    port, token = present.free_port(9300), secrets.token_urlsafe(12)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        notebook = Path(folder, "widgets.ipynb")
        notebook_io.write(new_notebook(cells=[new_code_cell(GALLERY)], metadata=METADATA), notebook)
        words = [str(notebook) if one.endswith(".ipynb") else one for one in present.command(port)]
        variables = present.variables(token, None, Path(folder))
        server = subprocess.Popen(words, env=variables, stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            present.answers(port, server)
            yield f"http://{present.HOST}:{port}/?token={token}"
        finally:
            present.end(server)


def still(page: Page, file: str) -> Image.Image:
    """The controls, the picture and the line of text of a widget in STILLS."""
    exhibit = exhibits(STILLS[file])[0]
    page.get_by_role("button", name=exhibit.chapter, exact=True).click(timeout=PATIENCE)
    if len(exhibits(exhibit.chapter)) > 1:
        page.get_by_role("button", name=exhibit.title, exact=True).click()
    place = page.locator(f".course-{STILLS[file]}").first
    place.locator("img:visible, .attention-maps:visible").first.wait_for(timeout=PATIENCE)
    page.wait_for_timeout(4 * SETTLE)
    frame, last = place.locator(".course-frame"), place.get_by_role("status")
    if file == BEAM:
        words, last = place.locator(".course-words"), frame
        before = words.inner_text()
        place.locator(".widget-slider", has_text="beam width").locator(".noUi-handle").press("ArrowRight")
        moved = "([words, before]) => words.innerText !== before"
        page.wait_for_function(moved, arg=[words.element_handle(), before], timeout=PATIENCE)
    top, bottom = frame.bounding_box()["y"], last.bounding_box()
    height = bottom["y"] + bottom["height"] - top
    seen = photograph(page, clip={"x": 0, "y": top, "width": page.viewport_size["width"], "height": height})
    return ImageOps.expand(seen, (0, 0, 0, MARGIN), "white")


def photograph(page: Page, **options) -> Image.Image:
    """The page as it is now, without a focus ring. options: of Playwright's `screenshot`."""
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(0, 0)
    page.wait_for_timeout(SETTLE)
    return Image.open(io.BytesIO(page.screenshot(**options))).convert("RGB")


def film(page: Page) -> Iterator[tuple[Image.Image, int]]:
    """The frames with their milliseconds: the text is written, then a block, its heads and the next token."""

    def press(*keys: str) -> None:
        for key in keys:
            page.locator(f'[data-key="{key}"]').first.click()

    page.locator(".mx-card").first.wait_for()
    last = page.locator(".mx-sentence button").count() - 1
    for step in range(last + 1):
        press(f"step-{step}")
        yield photograph(page), HELD if step == last else MOVED
    press("step-3")
    for key in ("decoder-1", "head-1-0", "switch-1", "switch-2", "step-2", "step-3", "next"):
        press(key)
        yield photograph(page), HELD
    press("step-1")
    yield photograph(page), MOVED
    for _ in range(5):
        for _ in range(2):
            page.locator('[data-key="temperature"]').press("ArrowRight")
        yield photograph(page), MOVED
    press("crumb-model")
    yield photograph(page), MOVED


def save(frames: list[tuple[Image.Image, int]], path: Path) -> None:
    """Write an animated PNG that repeats forever, all frames in the same few colors."""
    pictures, durations = zip(*frames, strict=True)
    width, height = pictures[0].size
    strip = Image.new("RGB", (width, height * len(pictures)))
    for i, picture in enumerate(pictures):
        strip.paste(picture, (0, i * height))
    palette = strip.quantize(COLORS)
    sheets = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    animated = {"save_all": True, "append_images": sheets[1:], "duration": durations, "loop": 0}
    with atomic_path(path) as part:
        sheets[0].save(part, format="png", optimize=True, **animated)


def main(folder: Path = IMAGES) -> None:
    with served() as address, opened(address, width=740, height=1600) as page:
        for file in STILLS:
            with atomic_path(folder / f"{file}.png") as part:
                still(page, file).quantize(COLORS).save(part, format="png", optimize=True)
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary, "explorer.html")
        file.write_text(explorer_page.page(), encoding="utf-8")
        with opened(file.as_uri(), width=960, height=690) as page:
            save(list(film(page)), folder / "model_explorer.png")


if __name__ == "__main__":
    main()
