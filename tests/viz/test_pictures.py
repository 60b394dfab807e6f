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


SVG = "{http://www.w3.org/2000/svg}"
FACTS = {  # what the alt text says, and then the words of the picture
    "bootstrap": r"the cards 2, 2, 0 and not 1\. .* set is 6/10 = 0.60; that of the round is 6/8 = 0.75",
    "label_smoothing": "with ε = 0.3: 0.75 at the label and 0.05 at each other token.* smoothing: ε = 0.3$",
    "lens": "3 blocks.* at 4 depths.* block 3 .* depth 3$",
    "induction": "from D to the K after it.* predicts K.*\nD K B D block 1: .* block 2: .* predicts K$",
    "pooling": r"tokens .CLS. not cold .PAD. .*\n.CLS. .* cold h2 .PAD. \(ignored\) .* one vector",
    "directions": "the first reads only itself.* no causal mask .* last token reads causal mask$",
    "convolutional_tokens": "4 tokens reads.* 4 pixels each.* up to 7 pixels.*\npixels patches 1 2 3 4 .* 4$",
    "answer_labels": "BOS please sort : d b EOS b d EOS.* counts, b,",
    "next_token": "5 tokens is 4 questions.*The cat → sleeps.*sleeps [.] → She",
}


def words(name: str) -> list[str]:
    """The texts of a diagram, in the order in which they are drawn."""
    root = ElementTree.parse(SOURCES[name]).getroot()
    return ["".join(text.itertext()).strip() for text in root.iter(f"{SVG}text")]


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


@pytest.mark.parametrize("name", FACTS)
def test_alt_text_and_words_have_the_facts(name: str) -> None:
    said = ElementTree.parse(SOURCES[name]).findtext(f"{SVG}desc")
    assert re.search(FACTS[name], "\n".join((said, " ".join(words(name)))), re.DOTALL)


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


def test_each_question_reads_a_prefix_and_predicts_the_token_after_it() -> None:
    text, drawn = "The cat sleeps . She".split(), " ".join(words("next_token")[:-2])
    # Between two positions stand the token that a row predicts and the tokens that the next row reads.
    middle = [f"{text[n]} {' '.join(text[: n + 1])}" for n in (1, 2, 3)]
    assert re.split(r" ?position \d ", drawn) == ["The", *middle, "She"]


def test_the_answer_alone_has_labels() -> None:
    drawn = words("answer_labels")[:-2]
    tokens, labels = drawn[::2], drawn[1::2]
    assert labels == ["−100"] * 6 + ["b", "d", "EOS", "−100"]
    assert all(label in ("−100", after) for label, after in zip(labels, tokens[1:], strict=False))


def test_the_precisions_of_the_bootstrap_are_those_of_the_cards() -> None:
    for part in " ".join(words("bootstrap")).split(" one round "):
        cards = re.findall(r"\d: (\D+) (\d) of (\d) match", part)
        hits, tokens = (sum(int(card[i]) for card in cards) for i in (1, 2))
        assert len(cards) == 3 and all(len(text.split()) == int(size) for text, _, size in cards)
        assert part.endswith(f" {hits}/{tokens} = {hits / tokens:.2f}")


def test_a_causal_first_token_gets_one_arrow() -> None:
    panels = ElementTree.parse(SOURCES["directions"]).findall(f".//{SVG}g[@id='figure_1']/{SVG}g")[1:]
    # The frames of the words are patches, too, but lie deeper, in the groups of their texts.
    arrows = [sum(part.get("id").startswith("patch_") for part in panel) for panel in panels]
    assert arrows == [8, 5]
