"""README's motion picture: the model explorer at work, recorded in Chromium from its page without a kernel.

python -m course_lib.cli.motion_picture

Writes docs/images/model_explorer.png, an animated PNG. Needs what the browser tests need:
`python -m course_lib test --browser`.
"""

import io
import tempfile
from collections.abc import Iterator
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from course_lib.cli import browser, explorer_page
from course_lib.cli.environment import ROOT, SetUpError
from course_lib.utils.files import atomic_path

FILE = ROOT / "docs" / "images" / "model_explorer.png"
VIEW = {"width": 960, "height": 690}
COLORS = 128
MOVED = 900  # milliseconds that a frame stays
HELD = 2600  # the same for one with more to see
SETTLE = 250  # milliseconds for the page
Frames = list[tuple[Image.Image, int]]


def main(path: Path = FILE) -> None:
    """Record and write the motion picture. Raises SetUpError if there is no browser."""
    program = browser.find()
    if program is None:
        raise SetUpError("Chromium is missing. This command installs it: python -m course_lib test --browser")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        file = Path(folder, "explorer.html")
        file.write_text(explorer_page.page(), encoding="utf-8")
        chromium = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = chromium.new_page(viewport=VIEW)
        page.goto(file.as_uri())
        page.locator(".mx-card").first.wait_for()
        save(list(film(page)), path)
        chromium.close()


def film(page: Page) -> Iterator[tuple[Image.Image, int]]:
    """The frames with their milliseconds: the text is written, then a block, its heads and the next token."""
    last = page.locator(".mx-sentence button").count() - 1
    for step in range(last + 1):
        press(page, f"step-{step}")
        yield photograph(page), HELD if step == last else MOVED
    press(page, "step-3")
    for key in ("decoder-1", "head-1-0", "switch-1", "switch-2", "step-2", "step-3"):
        press(page, key)
        yield photograph(page), HELD
    press(page, "next")
    yield photograph(page), HELD
    press(page, "step-1")
    yield photograph(page), MOVED
    for _ in range(5):
        slide(page, "temperature", "ArrowRight", times=2)
        yield photograph(page), MOVED
    press(page, "crumb-model")
    yield photograph(page), MOVED


def press(page: Page, key: str) -> None:
    """Click the button with this key."""
    page.locator(f'[data-key="{key}"]').first.click()


def slide(page: Page, key: str, arrow: str, times: int) -> None:
    """Move a slider by an arrow key."""
    page.locator(f'[data-key="{key}"]').focus()
    for _ in range(times):
        page.keyboard.press(arrow)


def photograph(page: Page) -> Image.Image:
    """The page as it is now, without a focus ring."""
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(0, 0)
    page.wait_for_timeout(SETTLE)
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def save(frames: Frames, path: Path) -> None:
    """Write an animated PNG that repeats forever, all frames in the same few colors."""
    palette = stacked([frame for frame, _ in frames]).quantize(COLORS)
    sheets = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame, _ in frames]
    durations = [milliseconds for _, milliseconds in frames]
    with atomic_path(path) as part:
        options = {"save_all": True, "append_images": sheets[1:], "loop": 0, "optimize": True}
        sheets[0].save(part, format="png", duration=durations, **options)


def stacked(pictures: list[Image.Image]) -> Image.Image:
    """Pictures of one size below each other."""
    width, height = pictures[0].size
    sheet = Image.new("RGB", (width, height * len(pictures)))
    for i, picture in enumerate(pictures):
        sheet.paste(picture, (0, i * height))
    return sheet


if __name__ == "__main__":
    main()
