"""The small GPT that ships with the course: its files, its scores, and the text that it is trained on."""

import json
from itertools import pairwise

import pytest
import torch

from course_lib.chapters.ch07_language_models import sampler_explorer
from course_lib.chapters.ch07_language_models.logit_lens_widget import TEXTS as LENS_TEXTS
from course_lib.chapters.ch07_language_models.text_attention_widget import YEARS
from course_lib.experiments import recipes
from course_lib.experiments.real_gpt import PROMPTS, SCORES, STORED, as_written, real_gpt
from course_lib.models.interventions import ablate_head
from course_lib.tasks.language_modeling import mean_loss
from course_lib.widgets.reading import read

UNSEEN = """The film was released in the United States in March 2004, and it was well received by critics. She
had a small role in the first season of the television series, and she later became a member of the board.
"""  # written for this test


def test_it_is_small_and_the_size_of_its_preset():
    assert sum(path.stat().st_size for path in STORED.iterdir()) < 8_000_000
    model, tokenizer = real_gpt()
    preset = recipes.presets("gpt")["wikitext-2-stored"]
    sizes = [model.config.max_tokens, model.config.d_model, model.config.heads, len(tokenizer)]
    assert sizes == [preset[name] for name in ("context", "d_model", "heads", "vocab")]


def test_it_has_learned_english_words():
    model, tokenizer = real_gpt()
    scores = json.loads((STORED / SCORES).read_text(encoding="utf-8"))
    ids = tokenizer.encode(UNSEEN)
    assert mean_loss(model, ids) < scores["bf16"]["loss"] + 0.5
    assert abs(scores["bf16"]["loss"] - scores["fp32"]["loss"]) < 0.01
    assert prediction(PROMPTS[0])[0] == " States"


def test_the_text_is_as_people_write_it():
    text = ' = Title = \n He said " It is 1 @,@ 000 years old " . The <unk> left . They did n\'t ( go ) . \n'
    assert as_written(text) == 'He said "It is 1,000 years old". They didn\'t (go).\n'


def prediction(text: str) -> tuple[str, float]:
    """The most probable next token, and its probability."""
    model, tokenizer = real_gpt()
    with torch.inference_mode():
        p = model(torch.tensor([tokenizer.encode(text)]))[0, -1].softmax(-1)
    return tokenizer.decode([int(p.argmax())]), p.max().item()


def test_the_language_widgets_show_it_unless_another_stored_model_is_named():
    explorer = sampler_explorer()
    assert explorer.controls["prompt"].value == PROMPTS[0] and "4096 tokens" in explorer.line
    with pytest.raises(ValueError, match="'bert'"):
        sampler_explorer("bert")


def test_it_does_what_the_notes_of_its_widgets_say():
    model, tokenizer = real_gpt()
    for text in YEARS:  # head 2 of layer 4 looks at the year, but is not needed
        seen = read(model, tokenizer, text)
        assert any(digit in seen.pieces[seen.maps[3, 1, -1].argmax()] for digit in "19")
        with ablate_head(model, 3, 1):
            token, p = prediction(text)
        assert token == prediction(text)[0] and abs(p - prediction(text)[1]) < 0.05
    reviews, king, end = LENS_TEXTS["wikipedia"][:3]
    lens = read(model, tokenizer, reviews).lens[1:, -1]
    assert [tokenizer.decode([i]) for i in lens.argmax(-1).tolist()] == [" critics"] * 4
    assert all(a < b for a, b in pairwise(lens.amax(-1).tolist()))
    assert [prediction(text)[0] for text in (king, end)] == [" critics", ","]
