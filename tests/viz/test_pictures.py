"""Diagrams that never change have a source, an alt text, a sharp picture, and the numbers of the code."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from PIL import Image

from course_lib.layers import causal_mask
from course_lib.utils.files import PACKAGE
from course_lib.viz import figures

SOURCES = {path.stem: path for path in PACKAGE.glob("**/pictures/*.svg")}
WIDE = ("softmax", "paths")  # which a narrow page scales down
SHOWN = {
    path: names
    for path in sorted(PACKAGE.glob("**/*.py"))
    if (names := re.findall(r'picture\(\s*__file__,\s*"(\w+)",', path.read_text("utf-8")))
}


def words(name: str) -> list[str]:
    """The texts of a diagram, in the order in which they are drawn."""
    root = ElementTree.parse(SOURCES[name]).getroot()
    return ["".join(text.itertext()).strip() for text in root.iter("{http://www.w3.org/2000/svg}text")]


def test_every_picture_is_shown_by_one_function() -> None:
    shown = [path.parent / "pictures" / f"{name}.svg" for path, names in SHOWN.items() for name in names]
    assert len(SOURCES) == 39 and sorted(shown) == sorted(SOURCES.values())


@pytest.mark.parametrize("name", SOURCES)
def test_the_picture_is_its_source_twice_as_sharp_with_legible_words(name: str) -> None:
    text = SOURCES[name].read_text("utf-8")
    points = [float(size) for size in re.findall(r'(?:width|height)="([\d.]+)pt"', text)[:2]]
    with Image.open(SOURCES[name].with_suffix(".png")) as picture:
        assert picture.size == pytest.approx([size / 72 * 192 for size in points], abs=1)
    assert max(points) <= (605 if name in WIDE else 465)  # a page is 620 pixels wide
    words = re.findall(r'font-size: ([\d.]+)px[^"]*text-anchor', text)  # not the indices in formulas
    assert min(map(float, words), default=9) >= 9


@pytest.mark.parametrize("name", SOURCES)
def test_a_diagram_is_shown_with_its_words(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs: list[dict[str, str]] = []
    monkeypatch.setattr(figures, "display", lambda bundle, **options: outputs.append(bundle))
    figures.picture(str(SOURCES[name].parent.parent / "module.py"), name, "")()
    picture, spoken = outputs
    assert len(picture["text/plain"].split()) > 20 and picture["image/png"]
    assert 'role="img"' in spoken["text/html"]


def test_a_picture_without_a_description_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "bare.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    with pytest.raises(ValueError, match=r"bare\.svg needs a <desc>"):
        figures.picture(str(tmp_path / "module.py"), "bare", "")()


def test_the_weights_of_one_head_are_the_softmax_of_its_scores() -> None:
    weights = torch.tensor([2.0, 0.0, 0.0]).softmax(dim=0)
    assert {f"{weight:.2f} × v" for weight in weights} <= set(words("qkv"))
    assert any(f"{weights @ torch.tensor([6.0, 0.0, 2.0]):.2f}" in word for word in words("qkv"))


def test_the_tables_of_the_masks_are_those_of_the_library() -> None:
    padding = torch.tensor([True, True, True, False]).expand(4, 4)
    tables = (padding, causal_mask(4), padding & causal_mask(4))
    numbers = [word for word in words("masks") if word in ("0", "1")]
    assert numbers[:48] == [str(n) for table in tables for n in table.int().flatten().tolist()]


def test_the_heads_of_the_split_are_those_of_the_code() -> None:
    whole = torch.arange(12).view(3, 4)
    heads = whole.unflatten(-1, (2, 2)).transpose(0, 1)
    rows = [part.flip(0).flatten().tolist() for part in (whole, *heads, whole)]  # drawn from the bottom up
    assert [int(word) for word in words("split_heads") if word.isdigit()] == [n for row in rows for n in row]
