"""HTML to stand below a picture; whatever was typed or written by a model is shown as text."""

import html
from collections.abc import Iterable, Sequence

CELL = "padding: 0.1em 0.8em 0.1em 0; text-align: left; line-height: 1.4"
BOLD = "font-weight: bold"
DARKEST = (130, 190, 235)  # black letters stand out from it by more than 10 to 1
FRAME = "#b04a00"
NEW_LINE = "\n"

# the colour of letters on the page, in JupyterLab or on Colab: it may be dark
PAGE_LETTERS = "var(--jp-content-font-color1, var(--colab-primary-text-color, #000))"


class Markup(str):
    """HTML that may be shown as it is. Only the functions here make it, and they escape their texts."""

    __slots__ = ()


def join(parts: Iterable[Markup], between: str = "") -> Markup:
    """Pieces one after the other."""
    return Markup(html.escape(between).join(parts))


def span(text: str, style: str, hint: str = "") -> Markup:
    """A text in a look of its own; `hint` appears when the mouse rests on it."""
    title = f' title="{html.escape(hint)}"' if hint else ""
    return Markup(f'<span style="{style}"{title}>{html.escape(text)}</span>')


def shaded(text: str, probability: float, framed: bool = False) -> Markup:
    """A text with its probability above it as a number, and behind it as a shade: white is 0, blue is 1."""
    red, green, blue = (round(255 + probability * (end - 255)) for end in DARKEST)
    frame = f"outline: 2px solid {FRAME}; " if framed else ""
    style = f"{frame}background: rgb({red}, {green}, {blue}); color: #000; white-space: pre-wrap"
    number = f'<rt style="font-size: 65%; color: {PAGE_LETTERS}">{probability:.2f}</rt>'
    return Markup(f'<ruby style="{style}">{html.escape(text.replace(NEW_LINE, "↵"))}{number}</ruby>')


def line(title: str, *parts: Markup) -> Markup:
    """A line with a title in front."""
    style = "line-height: 1.9; overflow-wrap: anywhere"
    return Markup(f'<div style="{style}">{span(title, BOLD)} {join(parts)}</div>')


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """A table of texts below a title."""
    head = "".join(f'<th scope="col" style="{CELL}">{html.escape(name)}</th>' for name in header)
    body = "".join(
        "<tr>" + "".join(f'<td style="{CELL}">{html.escape(cell)}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    caption = f'<caption style="{CELL}; {BOLD}">{html.escape(title)}</caption>'
    return Markup(f"<table>{caption}<tr>{head}</tr>{body}</table>")
