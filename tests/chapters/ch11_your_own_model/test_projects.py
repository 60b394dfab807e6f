"""Projects with your own data: each kind from its files to a folder with a card, and what is refused."""

import io
import math
import os
import re
import sys
import zipfile
from itertools import chain
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch
from helpers.drawn_text import figure_tests
from PIL import Image

from course_lib.chapters import ch11_your_own_model as ch11
from course_lib.chapters.ch11_your_own_model import project_figures
from course_lib.chapters.ch11_your_own_model.model_card import FILE
from course_lib.chapters.ch11_your_own_model.opening import unpacked
from course_lib.chapters.ch11_your_own_model.pairs_project import PairsProject
from course_lib.tasks import load_run
from course_lib.text import KneserNey

VERBS, THINGS = ("sees", "has", "sells", "wants"), ("cat", "dog", "hat", "boat", "car")
CARD = {"title": "A test", "license": "CC0", "source": "made up", "limits": ["Nothing but a test."]}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A text, pairs and images, small but large enough."""
    folder = tmp_path_factory.mktemp("own")
    people = [f"P{i}" for i in range(12)]
    sentences = [f"{a} {v} a {t}." for a in people for v in VERBS for t in THINGS]
    (folder / "my.txt").write_text("\n".join(sentences * 2), encoding="utf-8")
    rows = (f"{one}\t{one.upper()}" for one in sentences[::2])
    (folder / "my.tsv").write_text("\n".join(rows), encoding="utf-8")
    for i in range(36):
        name = folder / "photos" / ("dark", "gray", "light")[i % 3] / f"{i}.png"
        name.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (20, 16), ((i % 3) * 90 + i, 40, i)).save(name)
    return folder


@pytest.mark.parametrize(("name", "kind"), [("my.txt", "text"), ("my.tsv", "pairs"), ("photos", "images")])
def test_from_a_file_to_a_folder_with_a_card(files, tmp_path, name, kind):
    project = ch11.open_project(files / name, kind)
    assert len(list(project.look())) >= 3 and project.option in project.options()
    first, again = (project.train(16, 2, seed=1).model for _ in range(2))
    score = project.score(first)
    assert score == project.score(again) and math.isfinite(project.validation_loss(first))
    few, more = project.fewer(3), project.related()
    assert few.unique < project.unique and few.examples("test") == project.examples("test")
    larger = more.train(32, 2).model
    frozen = {key: weight.clone() for key, weight in larger.state_dict().items()}
    adapted = few.adapt(larger, 2).model
    assert all(torch.equal(frozen[key], weight) for key, weight in larger.state_dict().items())
    trained = sum(p.numel() for p in adapted.parameters() if p.requires_grad)
    assert 0 < trained < sum(map(torch.numel, frozen.values())) and math.isfinite(few.score(adapted))
    assert all(len(line) < 250 for line in project.errors(first))
    project.save(tmp_path / "model", first)
    card = ch11.write_card(tmp_path / "model", project, [score], project.baselines(), settings={}, **CARD)
    text = card.read_text(encoding="utf-8")
    assert card.name == FILE and "CC0" in text and all(name in text for name in project.baselines())
    read = load_run(tmp_path / "model").model
    assert all(torch.equal(read.state_dict()[key], weight) for key, weight in first.state_dict().items())


def test_the_baseline_of_a_text_is_in_bits_per_character(files):
    project = ch11.open_project(files / "my.txt", "text")
    project.choose("characters")
    ids = project.ids["test"]
    loss = KneserNey(project.ids["train"], 1, len(project.tokenizer)).loss(ids)
    assert project.baselines()["unigrams"] == pytest.approx(loss / math.log(2))  # a token is a character


def test_the_baselines_of_pairs_translate_word_by_word(files):
    project = ch11.open_project(files / "my.tsv", "pairs")
    words = project.dictionary()
    assert words["sees"] == "sees" and words["cat."] == "cat."  # lower case, as the targets are compared
    found = project.baselines()
    assert found["dictionary"] < 100 and set(found) == {"copy the source", "dictionary", "nearest sentence"}


def test_pairs_that_are_too_long_are_counted_and_can_be_let_in(tmp_path):
    rows = [f"is it {i}?;it is {i}" for i in range(30)] + [f"why {i}?;{'so ' * 24}{i}" for i in range(5)]
    (tmp_path / "talk.csv").write_text("\n".join(["question;answer", *rows]), encoding="utf-8")
    project = ch11.open_project(tmp_path / "talk.csv", "pairs")
    first, second = list(project.look())[:2]
    assert first.startswith("24 of 24") and second.startswith("5 longer pairs are left out; max_words=40")
    whole = ch11.open_project(tmp_path / "talk.csv", "pairs", max_words=40)
    assert "left out" not in list(whole.look())[1]
    parts = [whole.pairs_of(part) for part in ("train", "validation", "test")]
    assert sum(map(len, parts)) == 35 and ("question", "answer") not in chain(*parts)


def test_the_baselines_of_images_are_those_of_their_labels():
    project = ch11.open_project(kind="images")
    test, train = project.data.test, project.data.train
    rows = torch.cdist(test.pixels[:20].flatten(1).float(), train.pixels.flatten(1).float()).argmin(1)
    found, part = project.baselines(), train.labels[rows] == test.labels[:20]
    assert found["nearest image"] > 95 and part.float().mean() > 0.9
    most = max(set(train.labels.tolist()), key=train.labels.tolist().count)
    assert found["most frequent class"] == pytest.approx(100 * (test.labels == most).float().mean().item())


def test_a_quarter_turn_is_what_images_without_labels_are_asked_about():
    project = ch11.open_project(kind="images", limit=60)
    more = project.related()
    assert len(more.data.train) == 240 and more.data.classes == ("0°", "90°", "180°", "270°")
    once = more.data.train.pixels[more.data.train.labels == 1][0]
    assert torch.equal(once, project.data.train.pixels[0].rot90(1, (1, 2)))


def test_plans_fill_the_time_and_the_best_one_is_first(files):
    assert ch11.effective_tokens(1e9, 100) == pytest.approx(1640)  # what repeated data is worth at most
    project = ch11.open_project(files / "my.txt", "text")
    runs = ch11.sweep(project, (16,), (1, 2))
    assert [run.steps for run in runs] == [1, 2] and runs[0].tokens < runs[1].tokens
    found = ch11.plans(project, lambda n, d: 1 / n, minutes=0.1, widths=(16, 32))
    assert [plan.d_model for plan in found] == [32, 16]
    assert all(0.5 < plan.steps * plan.seconds / 6 <= 1 for plan in found)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: ch11.open_project(kind="texts"), "'texts' is none of 'text', 'pairs', 'images'"),
        (lambda: ch11.open_project("no/such.txt"), f"no/such.txt.* in {re.escape(os.getcwd())}"),
        (lambda: ch11.open_project(limit=0), "limit=0"),
        (lambda: ch11.open_project(max_words=40), "max_words=40 is for pairs"),
        (lambda: ch11.open_project(kind="images").choose(3), "option=3 is none of"),
        (lambda: ch11.open_project(kind="images").train(20, 1), "d_model=20"),
        (lambda: ch11.effective_tokens(5, 0), "unique=0"),
    ],
)
def test_what_cannot_be_is_refused(call, named):
    with pytest.raises(ValueError, match=named):
        call()


@pytest.mark.parametrize("wrong", [{"license": " ? "}, {"limits": []}, {"source": ""}, {"scores": []}])
def test_a_card_that_says_nothing_is_not_written(tmp_path, wrong):
    project = ch11.open_project(kind="images")
    given = {"scores": [50.0], "settings": {}, **CARD} | wrong
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ch11.write_card(tmp_path, project, baselines={"most frequent class": 10.0}, **given)
    assert not list(tmp_path.iterdir())


def zipped(*names):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in names:
            archive.writestr(name, b"x")
    return content.getvalue()


def test_photos_in_a_zip_become_a_folder(tmp_path):
    (tmp_path / "a.zip").write_bytes(zipped("all/cats/1.png", "all/dogs/2.png", "__MACOSX/x", "../out.png"))
    assert unpacked(tmp_path / "a.zip", tmp_path / "inside")
    assert not (tmp_path / "out.png").exists()
    assert {"cats", "dogs"} <= {one.name for one in tmp_path.joinpath("inside").rglob("*")}
    with pytest.raises(RuntimeError, match="path"):
        ch11.upload()


@pytest.fixture
def sending(monkeypatch):
    """A Colab whose user chooses these files."""

    def send(**files):
        colab = ModuleType("google.colab")
        colab.files = SimpleNamespace(upload=lambda: files)
        monkeypatch.setitem(sys.modules, "google.colab", colab)
        return Path(ch11.upload())

    return send


def names_in(folder):
    return {one.name for one in folder.iterdir()}


def test_an_upload_on_colab_with_odd_names(sending):
    text = sending(**{"mes légendes (1).txt": "é".encode()})
    assert text.read_text(encoding="utf-8") == "é" and text.name == "mes légendes (1).txt"
    first = sending(**{"Fotos.zip": zipped("Fotos/Vögel/1.jpg", "Fotos/a/1.jpg")})
    second = sending(**{"Fotos (1).zip": zipped("Fotos/b/1.jpg", "Fotos/c/1.jpg")})
    assert names_in(first) == {"Vögel", "a"} and names_in(second) == {"b", "c"}  # nothing of the one before
    assert sending(**{"my_data.zip": zipped("p/my.tsv", "__MACOSX/._my.tsv")}).name == "my.tsv"
    assert names_in(sending(**{"a (1).en": b"x", "a (1).de": b"y"})) == {"a (1).en", "a (1).de"}


def test_names_in_a_zip_of_macos_are_read(tmp_path):
    marked = zipped("Vögel/1.png", "b/1.png")
    unmarked = marked.replace(b"\x14\x00\x00\x08", b"\x14\x00\x00\x00")  # without the flag for UTF-8
    (tmp_path / "a.zip").write_bytes(unmarked)
    assert unmarked != marked
    assert names_in(Path(unpacked(tmp_path / "a.zip", tmp_path / "inside"))) == {"Vögel", "b"}


@pytest.mark.parametrize(
    ("sent", "named"), [({}, "no file"), ({"a.zip": b"no"}, "a.zip"), ({"b.zip": zipped()}, "b.zip")]
)
def test_an_upload_that_holds_nothing_is_refused(sending, sent, named):
    with pytest.raises(ValueError, match=named):
        sending(**sent)


def test_of_equally_good_translations_the_first_in_the_alphabet_wins():
    project = object.__new__(PairsProject)
    project.train_pairs = [("x", " ".join(map(chr, range(122, 96, -1))))]
    assert project.dictionary() == {"x": "a"}


def test_part_of_a_character_is_shown_as_a_byte_and_another_text_can_be_given(files, tmp_path):
    project = ch11.open_project(files / "my.txt", "text")
    shown = {project.readable(i) for i in range(len(project.tokenizer))}
    assert not any("\ufffd" in text for text in shown) and "e" in shown
    (tmp_path / "other.txt").write_text("Un autre texte.\n" * 100, encoding="utf-8")
    other = project.related(tmp_path / "other.txt")
    assert other.data.train.startswith("Un autre") and other.data.test == project.data.test


SCORES = {"Transformer": [1.0, 2.0]}, {"unigrams": 3.0}, "bits per character"
FIGURES = {
    "scores": (lambda: project_figures.plot_scores(*SCORES), "bits per character.*unigrams, Transformer")
}
draw, test_each_figure = figure_tests(FIGURES)
