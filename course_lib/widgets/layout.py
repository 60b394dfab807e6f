"""Layout of a widget: controls beside the picture where there is room, otherwise above it.

All sizes follow the page, by CSS alone, so that the same widget suits a notebook, a projector and a phone.
The class names of the controls are those of ipywidgets 7 and 8.
"""

import ipywidgets

from course_lib.widgets.accessible_names import AccessibleNames

TALL, FEW = 0.55, 5  # least height/width of a tall picture; most controls with room for text below them


def beside(width: str, kind: str) -> str:
    """Rules for pages with room for the controls beside the picture. kind: a selector of widgets."""
    rules = BESIDE.replace(".course-explorer", f".course-explorer{kind}")
    return f"@container (min-width: {width}) {{\n{rules}\n}}"


BESIDE = """  .course-explorer .course-frame { grid-template: "controls picture" minmax(0, max-content)
    "controls words" auto "controls ." minmax(0, 1fr) / max(17em, 18rem) minmax(0, 1fr); }
  .course-explorer .course-tall { grid-template: "controls picture" auto "words picture" minmax(0, 1fr)
    / max(17em, 18rem) minmax(0, 1fr); }
  .course-explorer .course-controls { flex-flow: column nowrap; align-items: stretch; }
  .course-explorer .course-controls .jupyter-widgets { flex: none; width: auto; margin: 0 0 0.3em; }
  .course-explorer .course-controls > .widget-inline-hbox,
  .course-explorer .course-controls > .widget-toggle-buttons { flex-wrap: wrap; height: auto; }
  .course-explorer .course-controls .slider-container { flex: 1 1 0; min-width: 0; }
  .course-explorer .course-controls > :not(.widget-checkbox) > .widget-label { flex: 1 0 100%; height: auto;
    line-height: 1.25; text-align: left; margin: 0; }"""
STYLE = """<style>
.course-explorer { container-type: inline-size; width: 100%; box-sizing: border-box; padding: 0 6px;
  overflow: visible; }
.course-explorer .course-style, .course-explorer .course-names { display: none; }
.course-explorer .course-frame { display: grid; gap: 0.3em 1.2em; overflow: visible; align-content: start;
  grid-template: "controls" auto "picture" auto "words" auto / minmax(0, 1fr); }
.course-explorer .course-controls { grid-area: controls; display: flex; flex-flow: row wrap;
  overflow: visible; }
.course-explorer .course-picture { grid-area: picture; height: auto; object-fit: contain;
  object-position: left top; }
.course-explorer .course-words { grid-area: words; height: auto; min-width: 0; overflow: visible;
  overflow-wrap: break-word; }
.course-explorer .course-controls .widget-toggle-buttons { display: flex; width: auto; height: auto; }
.course-explorer .course-controls .widget-toggle-buttons > .widget-label { flex: none; margin-right: 0.4em; }
.course-explorer .noUi-target, .course-explorer .ui-slider { border: 1px solid; }
.course-explorer .noUi-handle, .course-explorer .ui-slider-handle { border: 2px solid; }
.course-explorer .course-controls .widget-slider { overflow: visible; } /* of the handle, at both ends */
.course-explorer .course-words table { display: block; max-width: 100%; overflow-x: auto; }
.course-explorer .course-controls .jupyter-button { width: auto; height: auto; line-height: 1.3;
  padding: 0.2em 0.6em; white-space: normal; }
.course-explorer .course-controls .jupyter-button.mod-active { font-weight: bold;
  text-decoration: underline; }
"""
STYLE += beside("60rem", ":not(.course-projected)") + beside("68rem", ".course-projected")  # larger letters
STYLE += """
.course-projected { --course-letters: clamp(18px, 1.6vw, 36px); font-size: var(--course-letters);
  --jp-widgets-font-size: var(--course-letters); --jp-widgets-inline-width: 24em;
  --jp-widgets-inline-height: 1.5em; --jp-widgets-inline-label-width: 7em;
  --jp-widgets-inline-width-short: 9em; }
.course-projected * { font-size: var(--course-letters); }
.course-projected .course-words * { font-size: calc(0.88 * var(--course-letters)); }
.course-projected .course-words rt { font-size: calc(0.84 * var(--course-letters)) !important; }
.course-explorer.course-projected .course-controls .widget-checkbox input[type="checkbox"] {
  width: var(--course-letters) !important; height: var(--course-letters) !important; margin-block: auto; }
.course-projected .widget-readout { min-width: 3em; }
.course-projected .course-picture { width: 100%; max-height: min(100%, 100vh - 6rem); }
</style>"""
# What is drawn for a white page changes light for dark and keeps its hues; photographs stay as they are.
DARK = """<style>
.course-dark { color-scheme: dark; }
.course-dark .course-controls .widget-dropdown > select { appearance: auto;
  --jp-widgets-dropdown-arrow: none; }
.course-dark img.course-picture:not(.course-photos), .course-dark .course-words [style*="background"] {
  filter: invert(1) hue-rotate(180deg); }
</style>"""


def arrange(
    controls: list[ipywidgets.Widget],
    pictures: list[ipywidgets.Widget],
    words: ipywidgets.Widget,
    shape: float,
    projected: bool,
) -> ipywidgets.Box:
    """Box with the controls, the picture and the text of a widget.

    pictures: in the same place: alternatives, or layers.
    words: the text. It is below a wide picture, and below the controls if the picture is tall.
    shape: height of the picture divided by its width.
    projected: text and picture as large as the page allows.
    """
    panel = ipywidgets.Box(controls)
    frame = ipywidgets.Box([panel, *pictures, words])
    style = ipywidgets.HTML(STYLE + DARK)
    box = ipywidgets.Box([style, frame, AccessibleNames()])
    for picture in pictures:
        picture.add_class("course-picture")
    for part, name in ((panel, "controls"), (words, "words"), (frame, "frame"), (style, "style")):
        part.add_class(f"course-{name}")
    box.add_class("course-explorer")
    if shape > TALL and len(controls) <= FEW:
        frame.add_class("course-tall")
    if projected:
        box.add_class("course-projected")
    return box
