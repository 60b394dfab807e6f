"""The model explorer as one HTML file that needs no kernel, no server and no network.

python -m course_lib.cli.explorer_page explorer.html

It holds the traces of the translations in `EXAMPLES`, and a GPT that runs in the browser; the site publishes
the same page.
"""

import argparse
import base64
import json
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from string import Template
from typing import Any

from course_lib.cli import page_gpt
from course_lib.experiments.real_gpt import PROMPTS
from course_lib.experiments.real_translator import SENTENCES
from course_lib.utils.files import atomic_path
from course_lib.widgets.model_tour import TOUR
from course_lib.widgets.model_trace import MAX_SOURCE
from course_lib.widgets.model_view import START, STYLE, model, trace
from course_lib.widgets.modules import joined
from course_lib.widgets.trace_packing import pack

TEMPLATE = Path(__file__).with_name("templates") / "explorer.html"
EXAMPLES = {
    "translator": [*SENTENCES, "She is not at home.", "I don't know him."],
    "gpt": PROMPTS,
}
HOME = '<a href="index.html">Back to the course</a>'
# Any browser reads this script, and an older one none of those that follow.
OLD_BROWSER = """<p id="old" role="alert" hidden>This page needs a newer browser: Chrome or Edge 92,
Firefox 113, Safari 16.4, or any later version.</p>
<script>
if (!window.DecompressionStream || ![].at) document.getElementById("old").hidden = false;
</script>"""


def page(chapters: str | None = None) -> str:
    """The page. chapters: where the pages of the notebooks are, for links; None for a page by itself."""
    own, more = model("translator"), {"step": START["translator"]}
    data = {
        "examples": EXAMPLES,
        "tour": TOUR,
        "chapters": chapters,
        "traces": {
            one: packed(*pack(trace("translator", one), *own)) | more for one in EXAMPLES["translator"]
        },
    }
    about = json.dumps(page_gpt.about()).encode()
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        style=STYLE,
        home=HOME if chapters is not None else "",
        old=OLD_BROWSER,
        reads=MAX_SOURCE,
        traces=in_script(data),
        gpt=json.dumps({"about": compressed(about), "weights": compressed(page_gpt.weights())}),
        module=joined("model_page.js"),
    )


def packed(header: dict[str, Any], numbers: bytes) -> dict[str, Any]:
    """A trace or a recording, for a page."""
    return {"header": compressed(json.dumps(header).encode()), "numbers": compressed(numbers)}


def in_script(data: Any) -> str:
    """Data as JSON, in which nothing ends the script that it is part of."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def compressed(data: bytes) -> str:
    """The bytes compressed by zlib, as text in base64."""
    return base64.b64encode(zlib.compress(data, 9)).decode("ascii")


def write_page(page: Callable[[], str], arguments: Sequence[str] | None = None) -> None:
    """Write a page into the file that the command line names."""
    parser = argparse.ArgumentParser(description=write_page.__doc__)
    parser.add_argument("file", type=Path)
    file = parser.parse_args(arguments).file
    with atomic_path(file) as part:
        part.write_text(page(), encoding="utf-8")
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB. Open it in a browser.")


main = partial(write_page, page)

if __name__ == "__main__":
    main()
