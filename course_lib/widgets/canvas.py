"""From a figure to PNGs, again and again: only what moves is drawn, and a text drawn before is copied."""

import math
import struct
import zlib
from collections.abc import Hashable
from functools import lru_cache

import numpy as np
from jaxtyping import UInt8
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.text import Text

from course_lib.viz import figures

Pixels = UInt8[np.ndarray, "height width 4"]
MARGIN = 2  # pixels around a stamp
MOST_STAMPS = 1000


class Canvas:
    """Turns a figure into PNGs: what does not move is drawn once, the animated artists each time."""

    def __init__(self, figure: Figure):
        self.agg = FigureCanvasAgg(figure)
        self.still = None
        self.stamps = Stamps(self.agg)

    def png(self) -> bytes:
        """The figure as it is now, on white; `Figure.savefig` takes three times as long."""
        with figures.any_script():
            self.draw()
        return encoded(np.asarray(self.agg.buffer_rgba()))

    def photographs(self) -> list[AxesImage]:
        """The images of the figure whose colors, RGB or gray, are what they show: no code for numbers."""
        images = self.agg.figure.findobj(AxesImage)
        return [one for one in images if np.ndim(one.get_array()) == 3 or one.get_cmap().name == "gray"]

    def photos(self) -> bytes:
        """Of the last PNG, only what lies on photographs; the rest is transparent. Without any, b"".

        On a dark page, the picture below changes its colors, and this layer does not.
        """
        images = self.photographs()
        if not images:
            return b""
        pixels = np.array(self.agg.buffer_rgba())
        sheet = RendererAgg(*self.agg.get_width_height(physical=True), self.agg.figure.dpi)
        for image in images:
            image.draw(sheet)
        pixels[..., 3] = np.asarray(sheet.buffer_rgba())[..., 3]
        return encoded(pixels)

    def draw(self) -> None:
        """Bring the figure's pixels up to date."""
        moving = self.agg.figure.findobj(lambda artist: artist.get_animated())
        moving.sort(key=lambda artist: artist.zorder)
        if self.still is None or not moving:
            self.agg.draw()
            self.still = self.agg.copy_from_bbox(self.agg.figure.bbox)
        self.agg.restore_region(self.still)
        for artist in moving:
            if type(artist) is Text and artist.get_bbox_patch() is None:
                self.stamps.draw(artist)
            else:
                self.agg.figure.draw_artist(artist)


class Stamps:
    """Pictures of texts: to copy their pixels takes a tenth of the time of setting and drawing letters."""

    def __init__(self, agg: FigureCanvasAgg):
        self.agg = agg
        self.known: dict[Hashable, tuple[Pixels, int, int]] = {}

    def draw(self, text: Text) -> None:
        """Draw a text without a box, to the same pixels as `text.draw`."""
        x, y = text.get_transform().transform(text.get_unitless_position())
        if not (text.get_visible() and text.get_text() and math.isfinite(x) and math.isfinite(y)):
            return
        column, row = math.floor(x), math.floor(y)
        key = (text.get_text(), *look(text), round(x - column, 2), round(y - row, 2))
        if key not in self.known and not self.learn(key, text, column, row):
            self.agg.figure.draw_artist(text)
            return
        picture, right, up = self.known[key]
        renderer = self.agg.get_renderer()
        renderer.draw_image(renderer.new_gc(), column + right, row + up, picture)

    def learn(self, key: Hashable, text: Text, column: int, row: int) -> bool:
        """Keep the text's pixels and where they begin, seen from its place; False if the figure cuts it."""
        width, height = self.agg.get_width_height(physical=True)
        sheet = sheet_of(width, height, self.agg.figure.dpi)
        box = text.get_window_extent(sheet)
        left, low = math.floor(box.x0) - MARGIN, math.floor(box.y0) - MARGIN
        right, high = math.ceil(box.x1) + MARGIN, math.ceil(box.y1) + MARGIN
        if left < 0 or low < 0 or right > width or high > height:
            return False
        sheet.clear()
        text.draw(sheet)
        pixels = np.asarray(sheet.buffer_rgba())[height - high : height - low, left:right]
        if len(self.known) >= MOST_STAMPS:
            self.known.clear()
        upwards = np.ascontiguousarray(pixels[::-1])  # the last row first, as `draw_image` takes them
        self.known[key] = (upwards, left - column, low - row)
        return True


@lru_cache(maxsize=2)
def sheet_of(width: int, height: int, dpi: float | int) -> RendererAgg:
    """Something to draw on, as large as a figure; matplotlib remembers sizes of texts for each such sheet."""
    return RendererAgg(width, height, dpi)


def look(text: Text) -> tuple[Hashable, ...]:
    """All that texts of a widget differ in, but for words and place."""
    return (
        str(text.get_color()),
        text.get_alpha(),
        hash(text.get_fontproperties()),
        text.get_rotation(),
        text.get_horizontalalignment(),
        text.get_verticalalignment(),
        text._linespacing,  # there is no public way to ask for it
        text.get_parse_math(),
    )


def encoded(pixels: Pixels) -> bytes:
    """The pixels as a PNG: Pillow tries five filters on every row, which takes longer than compressing it."""
    height, width, colours = pixels.shape
    rows = np.zeros((height, 1 + width * colours), np.uint8)  # each begins with its filter: 0, for none
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)  # 8 bits, kind 6: red green blue alpha
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b"")]
    chunks = [
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in parts
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
