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
from course_lib.widgets import model_explorer
from course_lib.widgets.model_tour import TOUR
from course_lib.widgets.model_view import EXAMPLES, ModelExplorer
from course_lib.widgets.modules import FOLDER


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
    assert view.distribution["kept"] == explorer.shown.logits.shape[-1]
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
def test_a_page_without_widgets_shows_a_picture_with_words_and_the_steps_of_the_tour(mode, displayed):
    pictures = []
    for tour in (False, True):
        explorer = model_explorer(mode, tour=tour)
        assert explorer.view.touring == tour
        displayed.clear()
        explorer._ipython_display_()
        bundle, alt = displayed
        pictures.append(Image.open(io.BytesIO(base64.b64decode(bundle["image/png"]))))
        words = html.unescape(alt["text/html"])
        assert "Transformer" in bundle["text/plain"] and "Transformer" in words
        assert [step["text"] in words for step in TOUR] == [tour] * 8
    plain, touring = pictures
    assert plain.width == touring.width > 1200
    assert touring.height > plain.height + 200  # eight lines below the picture


def test_a_step_of_the_tour_is_a_sentence_about_a_part_that_exists():
    scripts = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.js"))
    for step in TOUR:
        assert re.search(rf"\b{step['opens']}: \(", scripts)
        for name in re.findall(r"mx-\w+", step["marks"]):
            assert name in scripts, name
        assert step["text"].endswith(".") and step["text"].count(". ") == 0 and len(step["text"]) < 200


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
    traced = explorer_page.trace("translator", SENTENCES[0])
    header, own = explorer_page.pack(traced, *explorer_page.model("translator"))
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
