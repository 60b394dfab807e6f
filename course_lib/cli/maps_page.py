"""The attention maps without a kernel, a server or a network: in the site's chapters, and on one page.

python -m course_lib.cli.maps_page maps.html

Each map answers as its widget did when its controls went through their values. The examples are chosen here.
"""

import html
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from string import Template
from typing import Any

from course_lib.chapters import ch06_translation as ch06
from course_lib.chapters import ch07_language_models as ch07
from course_lib.chapters.ch03_heads.heads_widget import SENTENCE
from course_lib.chapters.ch07_language_models import logit_lens_widget, text_attention_widget
from course_lib.chapters.gallery import exhibits, maker
from course_lib.cli.explorer_page import EXAMPLES as MODEL_EXAMPLES
from course_lib.cli.explorer_page import HOME, OLD_BROWSER, in_script, packed, write_page
from course_lib.experiments.real_translator import real_translator
from course_lib.widgets.map_explorer import MapExplorer
from course_lib.widgets.modules import joined
from course_lib.widgets.recording import Recorder

TEMPLATE = Path(__file__).with_name("templates") / "maps.html"
SENTENCES = MODEL_EXAMPLES["translator"]
WORDS = (
    SENTENCE,
    "the cat sat on the mat",
    "a very old man slept",
    "every word attends to another word",
    "where is the nearest station",
    "she reads extraordinary books",
    "to be or not to be",
    "heads find different words in a sentence",
    "one two three four five six seven",
    "good morning everybody",
)
BEGUN = (
    "The capital of France is",
    "She was born in Paris, and he was born in",
    "New York City and Los Angeles are in the United",
)
TEXTS = {  # for a language model
    "text_attention_explorer": (*text_attention_widget.TEXTS["wikipedia"], *BEGUN),
    "logit_lens_explorer": (*logit_lens_widget.TEXTS["wikipedia"], *BEGUN),
}
CONTROLS: dict[str, Mapping[str, Sequence[Any] | None]] = {  # what is moved; None: through all values
    "bmm_explorer": {"product": None, "element": None, "row": None, "column": None},
    "mask_explorer": {"kind": None, "valid_len": None, "way": None},
    "heads_explorer": {"sentence": WORDS, "heads": None},
    "block_explorer": {"block": None, "norm": None, "heads": None, "step": None},
    "translation_explorer": {"example": None, "width": None, "step": None, "layer": None, "head": None},
    "text_attention_explorer": {"example": None, "position": None, "layer": None, "head": None},
    "logit_lens_explorer": {"example": None, "position": None, "shown": None},
    "pixel_attention_explorer": {"picture": None, "row": None, "column": None, "heads": None},
}
MAKERS: dict[str, Callable[[], MapExplorer]] = {  # where the gallery's widget has too few examples
    "translation_explorer": lambda: ch06.translation_explorer(*real_translator(), SENTENCES, width=1),
    "text_attention_explorer": lambda: ch07.text_attention_explorer(prompts=TEXTS["text_attention_explorer"]),
    "logit_lens_explorer": lambda: ch07.logit_lens_explorer(prompts=TEXTS["logit_lens_explorer"]),
}
FOLDER = "maps"  # of the scripts, in the site
CALLS = {f"{name}()": name for name in CONTROLS} | {  # cells of the notebooks that show the same
    "translation_explorer(*stored, SENTENCES, width=1)": "translation_explorer",
    "translation_explorer(*real_translator(), SENTENCES, width=1)": "translation_explorer",
}


@cache
def recording(name: str) -> dict[str, Any]:
    """What the widget of this name shows, for JSON: see `Recorder`; its parts are compressed."""
    explorer = (MAKERS.get(name) or maker(name))()
    found = Recorder(explorer, CONTROLS[name]).recording()
    return found | {"parts": [packed(*part) for part in found["parts"]]}


def data_script(name: str) -> str:
    """A recording as a script: a page from a disk may load that, but no JSON."""
    return f"(window.courseMaps ??= {{}}).{name} = {in_script(recording(name))};\n"


def code_script() -> str:
    """The script that opens the maps of a page, which may load it more than once."""
    return f'(() => {{\n"use strict";\n{joined("static_maps.js")}\n}})();\n'


def write_scripts(folder: Path) -> None:
    """Write the scripts that `element` asks for."""
    folder.mkdir(parents=True)
    (folder / "maps.js").write_text(code_script(), encoding="utf-8")
    for name in CONTROLS:
        (folder / f"{name}.js").write_text(data_script(name), encoding="utf-8")


def element(name: str, folder: str) -> str:
    """The place of a map on a page. folder: where the scripts are."""
    scripts = "".join(f'<script src="{folder}/{file}.js"></script>' for file in (name, "maps"))
    return f'<div data-map="{name}"></div>{scripts}'


def shown_by(source: str) -> str | None:
    """The name of the recording that shows the same as a notebook's cell; None without one."""
    return CALLS.get(source.strip().split("\n")[-1])


def chapters(root: Path) -> dict[str, str]:
    """The address of each chapter in the site."""
    notebooks = sorted((root / "notebooks").glob("*_*.ipynb"))
    return {path.stem.partition("_")[0]: f"notebooks/{path.stem}.html" for path in notebooks}


def page(folder: str | None = None, chapters: Mapping[str, str] | None = None) -> str:
    """The page with all maps.

    folder: where the scripts are; None puts them into the page. chapters: the address of each chapter.
    """
    sections = [section(name, folder, (chapters or {}).get(exhibits(name)[0].chapter)) for name in CONTROLS]
    within = "" if folder else f"<script>{code_script()}</script>"
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        home=HOME if chapters else "", old=OLD_BROWSER, sections="\n".join(sections) + within
    )


def section(name: str, folder: str | None, chapter: str | None) -> str:
    """A map of the page: its title, a question, and a link to its chapter."""
    exhibit = exhibits(name)[0]
    link = f' <a href="{chapter}">Chapter {exhibit.chapter.lstrip("0")}</a>' if chapter else ""
    place = (
        element(name, folder)
        if folder
        else f'<div data-map="{name}"></div><script>{data_script(name)}</script>'
    )
    return (
        f'<section id="{name}"><h2>{html.escape(exhibit.title)}</h2>'
        f"<p>{html.escape(exhibit.ask)}{link}</p>{place}</section>"
    )


main = partial(write_page, page)

if __name__ == "__main__":
    main()
