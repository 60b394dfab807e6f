"""The model explorer: what the kernel answers, its picture, and its page without a kernel."""

import base64
import dataclasses
import html
import io
import json
import re
import zlib

import pytest
import torch
from PIL import Image

from course_lib.cli import explorer_page, page_gpt
from course_lib.cli.environment import ROOT
from course_lib.experiments.real_gpt import real_gpt
from course_lib.experiments.real_translator import SENTENCES
from course_lib.generation.sampling import next_token_probabilities
from course_lib.viz import figures
from course_lib.widgets import model_explorer
from course_lib.widgets.model_tour import TOUR
from course_lib.widgets.model_view import EXAMPLES, ModelExplorer
from course_lib.widgets.modules import FOLDER, joined


@pytest.fixture
def explorer() -> ModelExplorer:
    return model_explorer()


def ask(explorer: ModelExplorer, **content) -> None:
    """Send a message as the page does."""
    explorer.view._handle_custom_msg(content, [])


def test_it_opens_with_a_translation_and_everything_the_page_needs(explorer):
    view = explorer.view
    assert (view.mode, view.sentence, view.step) == ("translator", SENTENCES[0], 3)
    assert view.trace["text"] == "El coche estaba corriendo."
    last = max(place["at"] for place in (view.trace["logits"], view.trace["tails"]))
    assert last < len(view.numbers) < 150_000
    json.dumps(view.trace)


def test_a_typed_sentence_is_translated(explorer):
    ask(explorer, open={"mode": "translator", "sentence": "I am a student.", "prefix": []})
    assert explorer.view.trace["text"] == "Soy estudiante." and explorer.view.sentence == "I am a student."


def test_the_gpt_is_the_other_mode(explorer):
    ask(explorer, open={"mode": "gpt", "sentence": EXAMPLES["gpt"][0], "prefix": []})
    assert explorer.view.mode == "gpt" and explorer.view.trace["encoder"] == []
    assert [block["name"] for block in explorer.view.trace["decoder"]] == [f"Block {i}" for i in (1, 2, 3, 4)]


def test_another_token_can_be_written_and_the_model_goes_on_from_there(explorer):
    other = explorer.view.trace["candidates"][1][1]["id"]
    prefix = [explorer.shown.chosen_ids[0], other]
    ask(explorer, open={"mode": "translator", "sentence": SENTENCES[0], "prefix": prefix})
    assert explorer.view.trace["chosen_ids"][:2] == prefix and explorer.view.step == 1


def test_the_kernel_answers_sampling_settings_with_the_librarys_probabilities(explorer):
    view = explorer.view
    view.step, view.temperature, view.top_k, view.top_p = 2, 1.7, 6, 0.8
    expected = next_token_probabilities(explorer.shown.logits[2], 1.7, 6, 0.8)
    found = view.distribution
    assert (found["step"], found["temperature"], found["topK"], found["topP"]) == (2, 1.7, 6, 0.8)
    most = expected.sort(descending=True).values[: len(found["probabilities"])]
    assert found["probabilities"] == pytest.approx(most) and found["kept"] == int((expected > 0).sum())


def test_a_drawn_token_follows_the_settings(explorer):
    explorer.view.temperature = 0.0
    explorer.draw(2)
    assert explorer.view.trace["text"] == "El coche estaba corriendo."
    explorer.view.temperature, explorer.view.top_k = 2.0, 2
    likely = set(explorer.shown.logits[2].topk(2).indices.tolist())
    drawn = set()
    for seed in range(12):
        explorer.draw(2, torch.Generator().manual_seed(seed))
        drawn.add(explorer.view.trace["chosen_ids"][2])
    assert drawn == likely


@pytest.mark.parametrize(
    ("sentence", "why"), [("", "nothing to translate"), ("word " * 60, "at most 40"), ("\ud83d", "surrogate")]
)
def test_a_sentence_that_cannot_be_shown_is_refused_in_one_line(explorer, sentence, why):
    before = explorer.view.trace
    ask(explorer, open={"mode": "translator", "sentence": sentence, "prefix": []})
    assert why in explorer.view.error["text"] and "\n" not in explorer.view.error["text"]
    assert explorer.view.trace == before


def test_the_same_sentence_again_is_answered_again(explorer):
    before = explorer.view.trace["answer"]
    ask(explorer, open={"mode": "translator", "sentence": SENTENCES[0], "prefix": []})
    assert explorer.view.trace["answer"] > before


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="'bert' is none of"):
        model_explorer("bert")


@pytest.mark.parametrize("mode", EXAMPLES)
def test_a_page_without_widgets_shows_a_picture_with_words(mode, monkeypatch):
    shown = []
    monkeypatch.setattr(figures, "display", lambda data, raw, metadata=None: shown.append(data))
    model_explorer(mode)._ipython_display_()
    bundle, alt = shown
    picture = Image.open(io.BytesIO(base64.b64decode(bundle["image/png"])))
    assert picture.width > 1200 and "Transformer" in bundle["text/plain"]
    assert "Transformer" in alt["text/html"]


@pytest.mark.parametrize("mode", EXAMPLES)
def test_with_the_tour_the_picture_and_its_words_have_the_steps(mode, monkeypatch):
    shown = []
    monkeypatch.setattr(figures, "display", lambda data, raw, metadata=None: shown.append(data))
    plain, touring = model_explorer(mode), model_explorer(mode, tour=True)
    assert not plain.view.touring and touring.view.touring
    sizes = [Image.open(io.BytesIO(explorer.snapshot())).size for explorer in (plain, touring)]
    assert sizes[0][0] == sizes[1][0] and sizes[1][1] > sizes[0][1] + 200  # eight lines below the picture
    touring._ipython_display_()
    words = html.unescape(shown[1]["text/html"])
    assert len(TOUR) == 8 and all(step["text"] in words for step in TOUR)


def test_a_step_of_the_tour_is_a_sentence_about_a_part_that_exists():
    scripts = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.js"))
    for step in TOUR:
        assert re.search(rf"\b{step['opens']}: \(", scripts)
        for name in re.findall(r"mx-\w+", step["marks"]):
            assert name in scripts, name
        assert step["text"].endswith(".") and step["text"].count(". ") == 0 and len(step["text"]) < 200


def test_the_scripts_are_one_module_without_imports_and_without_a_name_twice():
    for name in ("model_widget.js", "model_page.js"):
        text = joined(name)
        assert not re.search(r"^(import|export (?!default)) ", text, re.MULTILINE)
        names = re.findall(r"^(?:async )?(?:function|const|let|class) (\w+)", text, re.MULTILINE)
        assert len(names) == len(set(names)) > 50


def test_the_scripts_load_nothing_from_the_web():
    for path in FOLDER.iterdir():
        addresses = re.findall(r"https?://[^\s\"'`)]+", path.read_text(encoding="utf-8"))
        assert set(addresses) <= {"http://www.w3.org/2000/svg"}, path


def test_the_chapters_that_it_names_exist():
    named = re.findall(r'\["(\d\w+)", "', (FOLDER / "drawing.js").read_text(encoding="utf-8"))
    notebooks = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert len(named) >= 8 and set(named) <= notebooks


@pytest.fixture(scope="module")
def page() -> str:
    return explorer_page.page("notebooks/")


def test_the_page_holds_ten_translations_and_a_gpt_and_is_small(page):
    assert len(page.encode()) < 6_500_000
    (text,) = re.findall(r'<script type="application/json" id="traces">(.*?)</script>', page)
    data = json.loads(text)
    assert len(data["traces"]) >= 10 and set(SENTENCES) <= data["traces"].keys()
    trace = data["traces"][SENTENCES[0]]
    sent, numbers = (zlib.decompress(base64.b64decode(trace[part])) for part in ("header", "numbers"))
    header, own = explorer_page.pack(
        explorer_page.trace("translator", SENTENCES[0]), *explorer_page.model("translator")
    )
    assert numbers == own and json.loads(sent) == json.loads(json.dumps(header))


@pytest.mark.parametrize(
    "other",
    [{"activation": "relu"}, {"norm": "post"}, {"kv_heads": 3}, {"qk_norm": False}, {"max_tokens": 50}],
)
def test_the_page_refuses_a_gpt_that_its_script_would_compute_wrongly(other):
    page_gpt.check_computed(real_gpt()[0].config)
    (name,) = other
    with pytest.raises(ValueError, match=f"{name}="):
        page_gpt.check_computed(dataclasses.replace(real_gpt()[0].config, **other))


def test_the_command_writes_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(explorer_page, "EXAMPLES", {"translator": ["I am a student."], "gpt": []})
    explorer_page.main([str(tmp_path / "page.html")])
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "I am a student." in text and "$" + "traces" not in text
    assert "page.html: 3." in capsys.readouterr().out
