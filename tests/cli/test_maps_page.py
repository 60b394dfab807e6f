"""Attention maps without a kernel: a recording holds what the widget shows; the site's chapters play it."""

import json
import re

import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from course_lib.chapters.ch02_masks import mask_explorer
from course_lib.chapters.ch02_masks.masks_widget import chosen_mask
from course_lib.chapters.ch03_heads import heads_explorer
from course_lib.chapters.ch03_heads.head_task_model import look
from course_lib.chapters.ch07_language_models import text_attention_explorer
from course_lib.chapters.gallery import exhibits
from course_lib.cli import explorer_page, maps_page, notebook_io, site_sources
from course_lib.cli.environment import ROOT
from course_lib.cli.explorer_page import OLD_BROWSER
from course_lib.widgets import bmm_explorer, modules
from course_lib.widgets.reading import read
from course_lib.widgets.recording import LAST, Recorder
from course_lib.widgets.shapes import factors
from course_lib.widgets.toy_lm import QUESTIONS, small_world

SCRIPT = "a </script> b"
CHOICES = {"example": QUESTIONS, "position": None, "layer": None, "head": None}


def shown(part: tuple[dict, bytes], *indices: int) -> tuple[dict, list[dict]]:
    """A frame and its maps, at these values of the controls after the first one."""
    header, _ = part
    node = header["tree"]
    for i in indices:
        node = node[i]
    frame = header["frames"][node]
    return frame, [header["maps"][i] for i in frame["maps"]]


def stored(part: tuple[dict, bytes], heatmap: dict, what: str = "weights", kind: str = "<f4") -> np.ndarray:
    place, shape = heatmap[what], (len(heatmap["rows"]), len(heatmap["columns"]))
    assert place["at"] % 4 == 0 or kind != "<f4"
    return np.frombuffer(part[1][place["at"] : place["at"] + place["size"]], kind).reshape(shape)


@pytest.fixture(scope="module")
def heads() -> dict:
    return Recorder(heads_explorer(), {"sentence": maps_page.WORDS[:2], "heads": (2, 4)}).recording()


@pytest.fixture(scope="module")
def told() -> dict:
    return Recorder(text_attention_explorer("stories", prompts=QUESTIONS), CHOICES).recording()


def test_the_weights_of_a_recording_are_those_that_the_library_computes(heads) -> None:
    for sentence, part in zip(maps_page.WORDS[:2], heads["parts"], strict=True):
        for i, number in enumerate((2, 4)):
            _, maps = shown(part, i)
            computed = look(number, sentence.split())[0].numpy()
            assert len(maps) == number and maps[0]["rows"] == sentence.split()
            for one, own in zip(maps, computed, strict=True):
                assert np.array_equal(stored(part, one), own)


def test_the_text_is_the_widgets_own_for_each_selected_row(heads) -> None:
    explorer = heads_explorer()
    explorer.controls["sentence"].value = maps_page.WORDS[1]
    explorer.controls["heads"].value = 2
    frame, _ = shown(heads["parts"][1], 0)
    assert frame["text"] == explorer.text.value and len(frame["rows"]) == 6
    explorer.maps.select(row=4)
    assert frame["rows"][4] == explorer.text.value != frame["text"]


def test_equal_maps_and_arrays_are_stored_once(told) -> None:
    part, reading = told["parts"][1], read(*small_world(), QUESTIONS[1])
    steps, layers, choices = len(reading.ids), *reading.maps.shape[:2]
    for layer in range(layers):
        for head in range(choices):
            _, (whole, _) = shown(part, 4, layer, head + 1)
            assert np.array_equal(stored(part, whole), reading.maps[layer, head].numpy())
            assert whole["marked"]["row"] == 4 and whole["rowSets"] == [1, 0]
    places = {heatmap["weights"]["at"] for heatmap in part[0]["maps"]}
    assert len(part[0]["frames"]) == steps * layers * (choices + 1)
    assert len(places) < len(part[0]["maps"])  # a map is the same at each step


def test_a_control_that_follows_another_one_is_known_to_follow(told) -> None:
    assert told["effects"][0] == [{1: LAST}] * 2
    assert not any(one for control in told["effects"][1:] for one in control)
    lengths = [len(part[0]["tree"]) for part in told["parts"]]
    assert lengths == [len(read(*small_world(), text).ids) for text in QUESTIONS] and len(set(lengths)) == 2
    assert told["controls"][1]["options"] == [str(i + 1) for i in range(max(lengths))]


def test_a_selected_row_or_column_sets_the_index_of_a_control() -> None:
    options = {"product": ("Q·Kᵀ",), "element": (1,), "row": None, "column": None}
    recording = Recorder(bmm_explorer(), options).recording()
    _, maps = shown(recording["parts"][0], 0, 2, 3)
    sets = [(one.get("rowSets"), one.get("columnSets")) for one in maps]
    assert sets == [([2, 0], None), (None, [3, 0]), ([2, 0], [3, 0])]
    left, right = factors("Q·Kᵀ", 2, 3, 4, 5)
    assert np.array_equal(stored(recording["parts"][0], maps[2]), (left[1] @ right[1]).numpy())


def test_masks_are_recorded_byte_by_byte() -> None:
    options = {"kind": ("causal", "both"), "valid_len": (2, 3), "way": None}
    part = Recorder(mask_explorer(), options).recording()["parts"][1]
    frame, maps = shown(part, 0, 0)
    masked = stored(part, maps[1], "masked", "u1")
    assert np.array_equal(masked == 0, chosen_mask("both", 2).numpy()) and "rows" not in frame


def test_there_are_ten_examples_for_each_map_of_a_text() -> None:
    for texts in (maps_page.WORDS, maps_page.SENTENCES, *maps_page.TEXTS.values()):
        assert len(set(texts)) == len(texts) == 10


def test_each_recorded_cell_shows_its_picture_in_a_notebook() -> None:
    found = set()
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        for cell in notebook_io.read(path).cells:
            name = maps_page.shown_by(cell.source) if cell.cell_type == "code" else None
            if name:
                found.add(name)
                assert any("image/png" in output.get("data", {}) for output in cell.outputs), path
    assert set(maps_page.CONTROLS) - found == {"text_attention_explorer"}  # only in the gallery
    for name in maps_page.CONTROLS:
        exhibits(name)  # which gives the title and the question


def test_a_map_follows_the_picture_of_its_cell() -> None:
    picture = new_output("display_data", {"image/png": "aGk=", "text/plain": "A map."})
    widget = new_output("display_data", {"image/png": "aGk=", "text/plain": "Widget: a text field."})
    shown = (("x = 1\nheads_explorer()", [picture]), ("heads_explorer", []), ("chat_explorer()", [widget]))
    nb = new_notebook(cells=[new_code_cell(source, outputs=outputs) for source, outputs in shown])
    site_sources.prepare(nb, lambda text: text)
    assert nb.cells[0].outputs[0] == picture and nb.cells[1].outputs == []
    assert [output.data.get("text/html") for output in nb.cells[2].outputs] == [None, site_sources.STILL]
    live = nb.cells[0].outputs[1].data["text/html"]
    assert 'data-map="heads_explorer"' in live
    assert re.findall(r'src="([^"]*)"', live) == ["../maps/heads_explorer.js", "../maps/maps.js"]


def test_scripts_are_plain_scripts_that_a_page_from_a_disk_may_load(tmp_path, monkeypatch, heads) -> None:
    monkeypatch.setattr(
        maps_page, "CONTROLS", {"heads_explorer": {"sentence": (maps_page.SENTENCE, SCRIPT), "heads": (4,)}}
    )
    maps_page.recording.cache_clear()
    maps_page.write_scripts(tmp_path / "maps")
    maps_page.main([str(tmp_path / "maps.html")])
    maps_page.recording.cache_clear()
    code = (tmp_path / "maps" / "maps.js").read_text()
    assert not re.search(r"(?m)^(import|export)", code) and "http" not in code.replace(
        "http://www.w3.org", ""
    )
    names = re.findall(r"(?m)^(?:const|let|(?:async )?function) (\w+)", modules.joined("static_maps.js"))
    assert sorted(names) == sorted(set(names)), "two modules define the same name"
    data = (tmp_path / "maps" / "heads_explorer.js").read_text()
    recording = json.loads(data.partition(" = ")[2].rstrip(";\n"))
    assert recording["controls"][0]["options"] == [maps_page.SENTENCE, SCRIPT] and "</script" not in data
    assert "http" not in re.sub(r"http://www\.w3\.org", "", (tmp_path / "maps.html").read_text())


def test_a_page_tells_an_older_browser_before_any_script_that_it_cannot_read(monkeypatch) -> None:
    monkeypatch.setattr(maps_page, "CONTROLS", {})
    page = maps_page.page()
    assert page.count(OLD_BROWSER) == 1 and page.index(OLD_BROWSER) < page.index('"use strict"')
    assert page.index(OLD_BROWSER) + len(OLD_BROWSER) - len("</script>") == page.index("</script>")
    template = explorer_page.TEMPLATE.read_text(encoding="utf-8")
    assert template.index("$old") < template.index("<script")
