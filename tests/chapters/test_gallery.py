"""The gallery: every widget is on it, is built when it is wanted, and is served to this machine alone."""

import ast
import json
import re
import socket
from argparse import Namespace
from importlib import import_module
from types import SimpleNamespace

import ipywidgets
import pytest
import torch
from helpers import small_training

from course_lib.chapters import gallery as table
from course_lib.chapters.ch06_translation.stored_translator import EXAMPLES, STORED, stored_translator
from course_lib.chapters.gallery import CHAPTERS, EXHIBITS, REVISITED, exhibits
from course_lib.chapters.gallery_page import gallery, heading
from course_lib.cli import present
from course_lib.cli.environment import ROOT
from course_lib.datasets import load_translation
from course_lib.experiments import real_translator as real
from course_lib.tasks.translation import load_translator, save_translator, translate
from course_lib.text.bleu import held_out_scores
from course_lib.training import run_record
from course_lib.utils.chapters import CHAPTER


class Stub:
    """In place of a widget."""

    def __init__(self):
        self.box = ipywidgets.HTML("a widget")


@pytest.fixture
def built(monkeypatch) -> list[str]:
    """The names of the widgets that are built, without building any."""
    names: list[str] = []
    monkeypatch.setattr(table.Exhibit, "make", lambda self: names.append(self.widget) or Stub())
    return names


def test_every_widget_of_the_course_is_shown_once():
    assert sorted(exhibit.widget for exhibit in EXHIBITS) == sorted(table.homes())
    assert table.MODELS.keys() <= table.homes().keys()


def test_chapters_stand_in_order_and_have_a_notebook():
    chapters = [exhibit.chapter for exhibit in EXHIBITS]
    assert chapters == sorted(chapters)
    assert list(CHAPTERS) == sorted(CHAPTERS) and set(chapters) <= set(CHAPTERS)
    notebooks = {path.name.split("_")[0] for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert {chapter for chapter in chapters if chapter < "08"} <= notebooks


def test_each_widget_that_the_teaching_guide_plans_for_a_chapter_is_presented_there():
    guide = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
    parts = re.split(rf"(?m)^## (?:Chapter|Appendix) ({CHAPTER})\. ", guide)[1:]
    for chapter, text in zip(parts[::2], parts[1::2], strict=True):
        planned = re.match(r"(?:(?!\*\*Widget).)*\*\*Widgets?\.\*\*.*?`(\w+_explorer)`", text, re.DOTALL)
        if planned:
            assert planned[1] in {exhibit.widget for exhibit in exhibits(chapter)}, chapter
    assert not {exhibit.chapter for exhibit in REVISITED} & {exhibit.chapter for exhibit in EXHIBITS}


def test_the_notes_are_in_a_window_of_their_own_and_follow_the_widget(built):
    page = gallery("02")
    for exhibit in exhibits("02"):
        page.widget.value = exhibit
        assert page.notes.title == exhibit.title
        assert page.notes.notes == {"Ask": exhibit.ask, "Move": exhibit.move, "Expect": exhibit.seen}
        (frame,) = page.room.children  # one widget at a time
        assert frame._dom_classes[-1] == f"course-{exhibit.widget}" and frame.children[-1].value == "a widget"
        assert exhibit.seen not in frame.children[0].children[0].value  # not on the wall


@pytest.mark.parametrize("exhibit", EXHIBITS + REVISITED, ids=lambda one: f"{one.chapter}-{one.widget}")
def test_the_notes_are_short_and_in_one_form(exhibit):
    assert exhibit.ask.endswith("?") and exhibit.title[0].isupper()
    for note in (exhibit.title, exhibit.move, exhibit.seen):
        assert note.strip() and not note.endswith((".", "?")) and len(note) <= 110, note


@pytest.mark.parametrize("wanted", ["3", "03", " 03 ", "heads", "heads_explorer", "Heads"])
def test_a_chapter_or_a_widget_is_found_by_any_of_its_names(wanted):
    assert [exhibit.widget for exhibit in exhibits(wanted)] == ["heads_explorer"]
    assert {exhibit.chapter for exhibit in exhibits("a1")} == {"A1"}  # not a sister of chapter 1


@pytest.mark.parametrize("wanted", ["99", "sofmax", "", "a"])
def test_an_unknown_name_is_refused_with_those_there_are(wanted):
    with pytest.raises(ValueError, match=r"A1.*softmax"):
        exhibits(wanted)


def test_a_widget_is_built_when_it_is_opened_and_only_once(built):
    page = gallery()
    assert built == [EXHIBITS[0].widget]
    page.chapter.value = "02"
    assert built == [EXHIBITS[0].widget, "bmm_explorer"]
    page.widget.value = exhibits("mask")[0]
    page.chapter.value = EXHIBITS[0].chapter
    page.chapter.value = "02"
    assert built == [EXHIBITS[0].widget, "bmm_explorer", "mask_explorer"]


def test_there_are_buttons_where_there_is_a_choice(built):
    assert gallery("softmax").menu.children == ()
    assert [menu.description for menu in gallery("02").menu.children] == ["widget"]
    page = gallery()
    page.chapter.value = "03"
    assert [menu.description for menu in page.menu.children] == ["chapter"]
    page.chapter.value = "02"
    assert [menu.description for menu in page.menu.children] == ["chapter", "widget"]
    assert list(page.chapter.options) == list(dict.fromkeys(exhibit.chapter for exhibit in EXHIBITS))
    assert len(page.chapter.tooltips) == len(page.chapter.options)


def test_a_title_and_a_question_are_shown_as_text():
    hostile = table.Exhibit("01", "softmax_explorer", "<b>", "a < b?", "<i>", "&amp;")
    assert "<b>" not in heading(hostile).value and "&lt;b&gt;" in heading(hostile).value


def test_the_stored_translator_is_small_and_translates():
    assert sum(path.stat().st_size for path in STORED.iterdir()) < 3_000_000
    model, tokens = stored_translator()
    held_out = load_translation("grammar").validation
    english, spanish = zip(*held_out[:100], strict=True)
    assert held_out_scores(translate(model, tokens, english), spanish).bleu > 75
    assert translate(model, tokens, EXAMPLES) == [dict(held_out)[sentence] for sentence in EXAMPLES]


def test_the_translator_of_real_sentences_is_small_and_scores_what_is_stored():
    assert sum(path.stat().st_size for path in real.STORED.iterdir()) < 8_000_000
    model, tokenizer = real.real_translator()
    assert all(p.dtype == torch.float32 and not p.requires_grad for p in model.parameters())
    for sentence in real.SENTENCES:
        assert tokenizer.decode(tokenizer.encode(sentence)) == sentence
    scores = real.stored_scores()
    for way, score in scores["bf16"].items():  # rounding the weights costs nothing
        assert abs(score["BLEU"] - scores["fp32"][way]["BLEU"]) < 0.5
    same = scores["greedy translations that bf16 leaves as they are"]
    assert same > 0.8 * scores["sentences"]


@pytest.mark.real_data
def test_the_translator_of_real_sentences_translates_held_out_ones():
    english, spanish = zip(*load_translation("spa-eng").test[:200], strict=True)
    scores = held_out_scores(translate(*real.real_translator(), english), list(spanish))
    assert scores.bleu > 30


def test_a_run_becomes_the_stored_translator(tmp_path, monkeypatch, capsys):
    _, model = small_training.run(tmp_path / "run", steps=5)
    tokenizer = small_training.parts()[0]
    save_translator(tmp_path / "run" / "model", model, tokenizer)
    record = {"format": run_record.FORMAT, "settings": {"data": "grammar"}, "result": "5 steps\nscores"}
    (tmp_path / "run" / "run.json").write_text(json.dumps(record))
    pairs = SimpleNamespace(test=small_training.PAIRS[:6])
    monkeypatch.setattr(real, "load_translation", lambda name: pairs if name == "grammar" else None)
    monkeypatch.setattr(real, "STORED", tmp_path / "stored")
    real.main([str(tmp_path / "run")])
    again, same = load_translator(tmp_path / "stored")
    assert same.fingerprint == tokenizer.fingerprint
    for name, weight in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], weight.bfloat16().float()), name
    stored = real.stored_scores()
    assert (stored["training"], stored["sentences"]) == ("5 steps", 6)
    assert stored["bf16"].keys() == stored["fp32"].keys() == {"greedy", "beam of 4"}


def test_present_serves_this_machine_alone_behind_a_token(tmp_path):
    command, variables = present.command(8866), present.variables("secret", "03", tmp_path)
    assert "--Voila.ip=127.0.0.1" in command and "--token" in command
    assert not any("secret" in part for part in command)
    assert variables["JUPYTER_TOKEN"] == "secret" and variables["COURSE_PRESENT"] == "03"
    assert "--VoilaConfiguration.show_tracebacks=True" not in command


def test_present_refuses_what_there_is_not():
    with pytest.raises(ValueError, match="neither a chapter"):
        present.run(Namespace(what="sofmax", port=8866, dark=False, no_browser=True))


def test_present_takes_the_next_free_port():
    with socket.socket() as taken:
        taken.bind((present.HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert present.free_port(port) > port


def test_the_presented_notebook_shows_the_gallery():
    notebook = json.loads((present.FOLDER / "present.ipynb").read_text(encoding="utf-8"))
    source = "".join(notebook["cells"][0]["source"])
    assert "gallery(" in source
    for line in ast.parse(source).body:
        if isinstance(line, ast.ImportFrom):
            assert all(hasattr(import_module(line.module), name.name) for name in line.names)
    template = (present.FOLDER / "templates" / "course" / "index.html.j2").read_text(encoding="utf-8")
    assert "super()" in template
