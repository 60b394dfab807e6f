"""Moving the controls of one widget as a person does, by keys and by mouse, and seeing what happens."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from playwright.sync_api import Locator, Page
from playwright.sync_api import TimeoutError as TooLate

PATIENCE = 10_000  # milliseconds, for a picture that must come
SHORT = 1500  # for one that may stay as it is: not every step of a slider changes something
HANDLE = ".noUi-handle, .ui-slider-handle"
KINDS = {  # of controls, in the order in which they are moved: what is typed may leave nothing to see
    "slider": f".widget-slider:has({HANDLE})",
    "box": 'input[type="checkbox"]',
    "list": "select",
    "buttons": ".widget-toggle-buttons",
    "text": 'input[type="text"]',
}


DRAWN = "e => e.tagName === 'IMG' ? e.complete && e.naturalWidth > 100 : e.offsetWidth > 50"
LABEL = """control => {
  const row = control.closest(".widget-inline-hbox, .widget-checkbox, .widget-dropdown, .widget-text, " +
    ".widget-toggle-buttons");
  const words = row ? [...row.querySelectorAll("label")].map(e => e.textContent) : [];
  return words.join("").replaceAll("\\u200b", "").trim();
}"""


@dataclass
class Seen:
    """What became of a control's moves."""

    pictures: int = 0
    texts: int = 0
    milliseconds: list[float] = field(default_factory=list)

    @property
    def everything(self) -> bool:
        return self.pictures > 0 and self.texts > 0


class Frame:
    """One widget on the page."""

    def __init__(self, page: Page, name: str):
        self.page, self.name = page, name
        self.place = page.locator(f".course-{name}")

    def appears(self) -> None:
        """Wait for its first picture, and begin to watch it."""
        picture = self.place.locator("img:visible, .attention-map canvas, .mx-card").first
        picture.wait_for(timeout=60_000)
        picture.scroll_into_view_if_needed()
        self.page.wait_for_function(DRAWN, arg=picture.element_handle())
        self.place.first.evaluate("frame => window.course.watch(frame)")

    def controls(self) -> Iterator[tuple[str, str, Locator]]:
        """Kind, label and place of each control that is not switched off."""
        for kind, selector in KINDS.items():
            for control in self.place.locator(selector).all():
                if usable(control):
                    yield kind, label(control), control

    def after(self, act: Callable[[], object], seen: Seen, wait: int = SHORT, timed: bool = False) -> None:
        """Act, then wait for the picture and the text that may come of it."""
        before, text = self.page.evaluate("[course.pictures, course.text()]")
        act()
        try:
            self.page.wait_for_function("n => course.pictures > n", arg=before, timeout=wait, polling=10)
        except TooLate:
            return
        seen.pictures += 1
        if timed:
            seen.milliseconds.append(self.page.evaluate("course.latency"))
        try:
            self.page.wait_for_function("old => course.text() !== old", arg=text, timeout=1000, polling=10)
            seen.texts += 1
        except TooLate:
            pass


def usable(control: Locator) -> bool:
    """Whether it can be moved now; a slider is switched off through a class, other controls by themselves."""
    off = "e => e.disabled || !!e.closest('[disabled]') || !!e.querySelector('[disabled]')"
    return control.is_visible() and not control.evaluate(off)


def label(control: Locator) -> str:
    """The words beside it; empty where there are none."""
    return control.evaluate(LABEL)


def slider_by_keys(frame: Frame, control: Locator) -> Seen:
    """One step up and one down, or the other way round; where too little changes, to both ends."""
    seen, handle = Seen(), control.locator(HANDLE).first
    handle.focus()
    now, most = (float(handle.get_attribute(f"aria-value{name}") or 0) for name in ("now", "max"))
    there, back = ("ArrowLeft", "ArrowRight") if now >= most else ("ArrowRight", "ArrowLeft")
    for key in (there, back):
        frame.after(lambda key=key: frame.page.keyboard.press(key), seen, timed=True)
    if not seen.everything:
        start = centre(handle)
        for key in ("Home", "End"):
            frame.after(lambda key=key: frame.page.keyboard.press(key), seen, wait=PATIENCE)
        drag(frame.page, handle, start)
        frame.page.wait_for_timeout(300)
    return seen


def slider_by_mouse(frame: Frame, control: Locator) -> Seen:
    """Drag the handle to the farther end, and back."""
    seen, handle = Seen(), control.locator(HANDLE).first
    handle.scroll_into_view_if_needed()
    start, track = centre(handle), control.locator(".noUi-target, .ui-slider").first.bounding_box()
    left, right = track["x"] + 0.05 * track["width"], track["x"] + 0.95 * track["width"]
    far = left if abs(start[0] - left) > abs(start[0] - right) else right
    frame.after(lambda: drag(frame.page, handle, (far, start[1])), seen, wait=PATIENCE)
    frame.page.wait_for_timeout(200)  # a drag goes through several values
    frame.after(lambda: drag(frame.page, handle, start), seen, wait=PATIENCE)
    frame.page.wait_for_timeout(200)
    return seen


def centre(handle: Locator) -> tuple[float, float]:
    box = handle.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page: Page, handle: Locator, place: tuple[float, float]) -> None:
    page.mouse.move(*centre(handle))
    page.mouse.down()
    page.mouse.move(*place, steps=4)
    page.mouse.up()


def box_by_keys(frame: Frame, control: Locator) -> Seen:
    seen = Seen()
    control.focus()
    for _ in range(2):
        frame.after(lambda: frame.page.keyboard.press("Space"), seen, wait=PATIENCE)
    return seen


def box_by_mouse(frame: Frame, control: Locator) -> Seen:
    seen = Seen()
    for _ in range(2):
        frame.after(control.click, seen, wait=PATIENCE)
    return seen


def list_by_keys(frame: Frame, control: Locator) -> Seen:
    """Open the list by the space bar and choose down it until something changes; then as it was.

    JupyterLab takes the arrow keys from a list that is closed, to walk through its cells, and no others.
    """
    seen, start = Seen(), control.evaluate("e => e.selectedIndex")
    for i in (*range(start + 1, control.locator("option").count()), *reversed(range(start))):
        frame.after(lambda i=i: choose(frame.page, control, i), seen, wait=PATIENCE)
        if seen.everything:
            break
    frame.after(lambda: choose(frame.page, control, start), seen, wait=PATIENCE)
    return seen


def choose(page: Page, control: Locator, index: int) -> None:
    """Open the list, go to one of its lines, and take it; no key for a line that is chosen already."""
    control.focus()
    steps = index - control.evaluate("e => e.selectedIndex")
    keys = ["Space", *["ArrowDown" if steps > 0 else "ArrowUp"] * abs(steps), "Enter"] if steps else []
    for key in keys:
        page.keyboard.press(key)


def list_by_mouse(frame: Frame, control: Locator) -> Seen:
    """The list of a browser without a window cannot be clicked: its choice is made for it."""
    seen, start = Seen(), control.evaluate("e => e.selectedIndex")
    for i in (*range(start), *range(start + 1, control.locator("option").count()), start):
        if i == start or not seen.everything:
            frame.after(lambda i=i: control.select_option(index=i), seen, wait=PATIENCE)
    return seen


def buttons_by_keys(frame: Frame, control: Locator) -> Seen:
    return press_each(frame, control, lambda button: button.press("Space"))


def buttons_by_mouse(frame: Frame, control: Locator) -> Seen:
    return press_each(frame, control, lambda button: button.click())


def press_each(frame: Frame, control: Locator, press: Callable[[Locator], object]) -> Seen:
    """Press the buttons that are not pressed until something changes, then the one that was."""
    seen, before = Seen(), control.locator("button.mod-active")
    start = before.evaluate("button => [...button.parentElement.children].indexOf(button)")
    buttons = control.locator("button")
    for i in (*range(start), *range(start + 1, buttons.count()), start):
        if i == start or not seen.everything:
            frame.after(lambda i=i: press(buttons.nth(i)), seen, wait=PATIENCE)
    return seen


def text_by_keys(frame: Frame, control: Locator) -> Seen:
    """Two words more at the end, then without them again."""
    control.focus()
    return type_and_restore(frame, control)


def text_by_mouse(frame: Frame, control: Locator) -> Seen:
    """A click into the field, then as before: no text without keys."""
    control.click()
    return type_and_restore(frame, control)


def type_and_restore(frame: Frame, control: Locator) -> Seen:
    seen, keys, before = Seen(), frame.page.keyboard, control.input_value()

    def enter(text: str) -> None:
        keys.press("Control+A")
        keys.insert_text(text)
        keys.press("Enter")

    frame.after(lambda: enter(before + " and more"), seen, wait=PATIENCE)
    frame.after(lambda: enter(before), seen, wait=PATIENCE)
    return seen


BY_KEYS = {
    "slider": slider_by_keys,
    "box": box_by_keys,
    "list": list_by_keys,
    "buttons": buttons_by_keys,
    "text": text_by_keys,
}
BY_MOUSE = {
    "slider": slider_by_mouse,
    "box": box_by_mouse,
    "list": list_by_mouse,
    "buttons": buttons_by_mouse,
    "text": text_by_mouse,
}


def every_move(frame: Frame, moves: dict[str, Callable]) -> Iterator[tuple[str, Seen]]:
    """Move each control, by BY_KEYS or BY_MOUSE; yields which it was, and what became of it."""
    for kind, name, control in frame.controls():
        assert name, f"a {kind} without a label"
        yield name, moves[kind](frame, control)
