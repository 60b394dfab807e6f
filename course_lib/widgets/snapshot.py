"""A widget as one picture, for pages that draw no widgets, such as GitHub's."""

import io
import textwrap
from collections.abc import Iterable

import ipywidgets
from matplotlib import rcParams
from matplotlib.figure import Figure
from PIL import Image

from course_lib.viz import figures

NOTE = "Run the notebook up to this cell to use the controls. Shown here: "
LETTER = 0.57  # of the font size: the mean width of a letter of DejaVu Sans
LINE = 1.5  # of the font size: the height of a line
LONGEST = 60  # letters of a text that is typed or chosen


def snapshot(figure: Figure, picture: bytes, controls: Iterable[ipywidgets.Widget], line: str) -> bytes:
    """The values of the controls, the figure's picture (a PNG), and the line of text below it, as one PNG."""
    width, dpi = figure.get_figwidth(), figure.get_dpi()
    above = lettered(NOTE + " · ".join(map(setting, controls)), width, dpi)
    parts = [above, Image.open(io.BytesIO(picture)).convert("RGB"), lettered(line, width, dpi)]
    sheet = Image.new("RGB", (parts[1].width, sum(part.height for part in parts)), "white")
    top = 0
    for part in parts:
        sheet.paste(part, (0, top))
        top += part.height
    buffer = io.BytesIO()
    sheet.save(buffer, format="png", dpi=(dpi, dpi))
    return buffer.getvalue()


def setting(control: ipywidgets.Widget) -> str:
    """A control's label and what it is set to: "temperature: 0.5", "scaled: on"."""
    value = getattr(control, "label", "") or control.value  # ipywidgets leaves it empty for a first option
    if isinstance(value, bool):
        value = "on" if value else "off"
    elif isinstance(value, float):
        value = f"{value:g}"
    return f"{control.description}: {textwrap.shorten(str(value), LONGEST, placeholder='…')}"


def lettered(text: str, width: float | int, dpi: float | int) -> Image.Image:
    """The text in small letters on white, in as many lines as it needs; width in inches."""
    size = rcParams["xtick.labelsize"]
    lines = textwrap.wrap(text, int(72 * width / (LETTER * size))) or [""]
    strip = Figure(figsize=(width, (len(lines) + 0.5) * LINE * size / 72), layout="none")
    look = {"size": size, "va": "center", "linespacing": LINE / 1.17, "parse_math": False}
    strip.text(0.01, 0.5, "\n".join(lines), **look)
    return Image.open(io.BytesIO(figures.png(strip, dpi))).convert("RGB")
