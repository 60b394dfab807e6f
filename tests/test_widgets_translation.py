"""The translation explorer: what it shows is what the model does, and any text can be typed."""

import html

import pytest
import torch
from small_translator import EXAMPLES, small_translation_explorer, small_translator

from course_lib.tokens import BOS, EOS, pad
from course_lib.translation import translate
from course_lib.widgets import translation, translation_explorer


@pytest.fixture
def explorer():
    return small_translation_explorer()


def text_of(explorer) -> str:
    return html.unescape(explorer.text.value)


def test_it_shows_the_translation_that_translate_gives(explorer) -> None:
    model, tokens = small_translator()
    for sentence in EXAMPLES:
        explorer.controls["example"].value = sentence
        assert explorer.controls["sentence"].value == sentence
        right = translate(model, tokens, [sentence])[0]
        assert f">{right} — Step {explorer.controls['step'].max}: " in text_of(explorer)


def test_each_step_is_that_of_decoding_token_by_token() -> None:
    model, tokens = small_translator()
    seen = translation.write(model, tokens, EXAMPLES[0])
    source, read = pad([[*tokens.encode(EXAMPLES[0]), EOS]]), torch.tensor([[BOS]])
    with torch.no_grad():
        writer = model.eval().generator(source)
        for step, token in enumerate(seen.target):
            logits = writer.read(read)
            read = logits.argmax(dim=-1, keepdim=True)
            assert tokens[read.item()] == token
            assert torch.allclose(logits[0].softmax(-1), seen.probabilities[step], atol=1e-5)
    assert seen.target[-1] == tokens[EOS]
    assert seen.maps.shape == (2, model.config.heads, len(seen.target), len(seen.source))
    assert torch.allclose(seen.maps.sum(dim=-1), torch.ones(seen.maps.shape[:-1]), atol=1e-5)


def test_the_text_names_step_layer_and_head(explorer) -> None:
    explorer.controls["step"].value = 2
    explorer.controls["layer"].value = 1
    explorer.controls["head"].value = 2
    seen = translation.write(*small_translator(), EXAMPLES[0])
    weight, place = seen.maps[0, 1, 1].max(dim=-1)
    assert f"Step 2: has read [BOS] {seen.target[0]} and writes {seen.target[1]}." in text_of(explorer)
    assert f"most at {seen.source[place]} (weight {weight:.2f}; layer 1, head 2)." in text_of(explorer)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", "nothing to translate in ''"),
        ("   ", "nothing to translate"),
        ("one " * 60, "exceed max_tokens=24"),
    ],
)
def test_a_sentence_that_cannot_be_translated_gets_the_reason(explorer, typed: str, said: str) -> None:
    explorer.controls["sentence"].value = typed
    assert said in text_of(explorer)
    assert explorer.controls["step"].max == 1
    explorer.controls["sentence"].value = EXAMPLES[1]
    assert "Step " in text_of(explorer)


@pytest.mark.parametrize("typed", ["<b>one</b> & two", "$one$ _ ^ \\frac", "чай 茶", "one\ntwo"])
def test_any_text_is_shown_as_text(explorer, typed: str) -> None:
    before = explorer.image.value
    explorer.controls["sentence"].value = typed
    assert explorer.image.value != before
    assert "<b>" not in explorer.text.value
    assert "has read [BOS]" in text_of(explorer)


def test_dollars_and_markup_in_the_vocabulary_are_drawn_as_they_are(explorer) -> None:
    axes = explorer.figure.axes[0]
    translation.label(axes.set_xticks, ["$a$", "<i>", "b_c^d"])
    explorer.canvas.agg.draw()
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["$a$", "<i>", "b_c^d"]
    assert not any(tick.get_parse_math() for tick in axes.get_xticklabels())


def test_of_a_long_translation_the_last_rows_are_drawn(explorer) -> None:
    axes = explorer.figure.axes[0]
    steps = translation.ROWS + 6
    target = [f"t{i}" for i in range(steps)]
    seen = translation.Written(["a", "b"], target, "", torch.zeros(steps, 3), torch.zeros(1, 1, steps, 2))
    for step, first, last in ((3, "t0", "t2"), (steps - 1, "t5", "t18"), (steps, "t6", "t19")):
        axes.clear()
        translation.draw_map(axes, seen, torch.rand(steps, 2), step)
        labels = [tick.get_text() for tick in axes.get_yticklabels()]
        assert (labels[0], labels[-1]) == (first, last)


def test_the_model_stays_as_it_was() -> None:
    model, tokens = small_translator()
    for mode in (True, False):
        model.train(mode)
        translation.write(model, tokens, EXAMPLES[0])
        assert model.training == mode
        assert not model.decoder[0].attention.attend._forward_hooks


def test_without_examples_it_is_refused() -> None:
    with pytest.raises(ValueError, match="0 examples"):
        translation_explorer(*small_translator(), [])
