"""The translation explorer: what it shows is what the model does, and any text can be typed."""

import math
import re
import warnings

import pytest
import torch
from helpers.small_training import parts
from helpers.small_translator import EXAMPLES, small_translation_explorer, small_translator
from matplotlib.figure import Figure

from course_lib.chapters.ch06_translation import translation_explorer
from course_lib.chapters.ch06_translation import translation_widget as translation
from course_lib.chapters.ch06_translation.translation_trace import whole_words
from course_lib.datasets.batching import pad
from course_lib.generation.beam import beam_search
from course_lib.layers.hooks import record_attention
from course_lib.tasks.translation import translate
from course_lib.text.tokenizers import BOS, EOS
from course_lib.viz.style import style_context
from course_lib.widgets import token_map


@pytest.fixture(autouse=True)
def style():
    """The figures of single pieces are drawn in the course's style, as `Explorer` does."""
    with style_context():
        yield


@pytest.fixture
def explorer():
    return small_translation_explorer()


def test_it_shows_the_translation_that_translate_gives(explorer) -> None:
    model, tokens = small_translator()
    for sentence in EXAMPLES:
        explorer.controls["example"].value = sentence
        assert explorer.controls["sentence"].value == sentence
        for width in (4, 1):
            explorer.controls["width"].value = width
            right = translate(model, tokens, [sentence], width=width)[0]
            assert explorer.line.startswith(f"{right} — Step {explorer.controls['step'].max}: ")


def test_the_hypotheses_are_those_of_the_beam_best_first(explorer) -> None:
    model, tokens = small_translator()
    explorer.controls["width"].value = 3
    source = pad([[*tokens.encode(EXAMPLES[0]), EOS]])
    found = beam_search(model.eval().generator(source), torch.tensor([[BOS]]), EOS, 20, width=3)[0]
    rows = re.findall(r"<tr>(.*?)</tr>", explorer.text.value)[1:]
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]
    for rank, (cell, h) in enumerate(zip(cells, found, strict=True), start=1):
        score, log_probability = (f"{x:.2f}".replace("-", "−") for x in (h.score, h.log_probability))
        assert cell == [str(rank), score, log_probability, tokens.decode(h.ids)]
    means = explorer.maps.heatmaps[2].weights[:, 0].tolist()
    assert means == pytest.approx([math.exp(h.score) for h in found])


def test_the_next_tokens_are_the_likeliest_and_the_chosen_one_is_framed() -> None:
    _, tokens = small_translator()
    probabilities = torch.zeros(len(tokens))
    probabilities[[5, 8]] = torch.tensor([0.75, 0.25])
    shown = translation.next_tokens(probabilities, 8, tokens)
    assert shown.rows[:2] == [tokens[5], tokens[8]] and shown.weights[:2, 0].tolist() == [0.75, 0.25]
    assert shown.marked.row == 1


def test_a_click_on_a_target_token_goes_to_its_step(explorer) -> None:
    steps = explorer.controls["step"].max
    assert explorer.maps.framed(0).row == steps - 1
    explorer.maps.select(1, 0)
    assert explorer.controls["step"].value == 2 and "Step 2: " in explorer.line
    assert explorer.maps.framed(0)[1:] == (1, 0)
    explorer.maps.select(steps - 1)
    assert explorer.controls["step"].value == steps


def test_each_step_is_that_of_decoding_token_by_token() -> None:
    model, tokens = small_translator()
    seen = translation.write(model, tokens, EXAMPLES[0], 1)
    ids = [*tokens.encode(EXAMPLES[0]), EOS]
    source, read = pad([ids]), torch.tensor([[BOS]])
    with torch.no_grad():
        writer = model.eval().generator(source)
        for step, token in enumerate(seen.target):
            logits = writer.read(read)
            read = logits.argmax(dim=-1, keepdim=True)
            assert tokens[read.item()] == token
            assert torch.allclose(logits[0].softmax(-1), seen.probabilities[step], atol=1e-5)
        with record_attention(model) as maps:
            model(source, torch.tensor([[BOS, *seen.target_ids[:-1]]]))
    assert seen.target[-1] == tokens[EOS]
    assert seen.maps.shape == (2, model.config.heads, len(seen.target), len(seen.source))
    last = maps["decoder.1.cross_attention"][0][0]
    for word, name in enumerate(seen.source):  # the weight of a word is the sum over its tokens
        mine = [i for i, of in enumerate(whole_words([tokens[i] for i in ids])[1]) if of == word]
        assert "".join(tokens[ids[i]] for i in mine).removeprefix("▁") == name
        assert torch.allclose(seen.maps[-1, :, :, word], last[:, :, mine].sum(dim=-1), atol=1e-6)


def test_a_model_in_training_is_read_without_dropout_and_stays_in_training() -> None:
    tokens, objective, _ = parts(dropout=0.5)
    model = objective.model.train()
    one, two = (translation.write(model, tokens, "six and six.", 1).probabilities for _ in range(2))
    assert one.equal(two) and model.training


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ("▁I ▁am ▁rel i ably ▁old . [EOS]", ["I", "am", "reliably", "old", ".", "[EOS]"]),
        ("▁Ch ar l ie 's ▁car ?", ["Charlie", "'s", "car", "?"]),
        ("▁¿ Cu ál ▁es", ["¿", "Cuál", "es"]),
        ("▁ x yz ▁b", ["xyz", "b"]),
        ("a b", ["ab"]),
    ],
)
def test_words_end_at_spaces_and_marks(tokens: str, words: list[str]) -> None:
    found, word_of = whole_words(tokens.split())
    assert found == words
    assert word_of == sorted(word_of) and set(word_of) == set(range(len(words)))


def test_the_text_names_step_layer_and_head(explorer) -> None:
    explorer.controls["step"].value = 2
    explorer.controls["layer"].value = 1
    explorer.controls["head"].value = 2
    seen = translation.write(*small_translator(), EXAMPLES[0], 4)
    weight, place = seen.maps[0, 1, 1].max(dim=-1)
    probability = seen.probabilities[1, seen.target_ids[1]]
    assert f"Step 2: after [BOS] {seen.target[0]} comes {seen.target[1]} " in explorer.line
    assert f"(probability {probability:.2f})" in explorer.line
    assert f"Most attended: {seen.source[place]} (weight {weight:.2f}; layer 1, head 2)." in explorer.line


def test_a_sentence_that_cannot_be_translated_gets_the_reason(explorer) -> None:
    sentence, step = explorer.controls["sentence"], explorer.controls["step"]
    for typed, said in (("   ", "nothing to translate"), ("one " * 60, "exceed max_tokens=24"),
                        ("one \ude00", "Character 5 .* lone surrogate, U.DE00")):  # fmt: skip
        sentence.value = typed
        assert re.search(said, explorer.line) and "<table" not in explorer.text.value
        assert step.disabled and step.value == 1 and step.max > step.min  # a browser needs two ends
        step.value = 2  # it cannot be moved there, and it does no harm
        assert re.search(said, explorer.line)
    for typed in (EXAMPLES[1], "<b>one</b> & two", "$one$ _ ^ \\frac", "чай 茶", "one\ntwo"):
        before = explorer.image.value
        sentence.value = typed
        assert explorer.image.value != before
        assert "after [BOS]" in explorer.line and not step.disabled


def test_a_move_of_several_controls_is_drawn_once(explorer, monkeypatch) -> None:
    drawn = []
    monkeypatch.setattr(explorer.canvas, "png", lambda: drawn.append(1) or b"")
    explorer.controls["example"].value = "six and six."
    assert len(drawn) <= 2  # the step may first be moved for the sentence before
    explorer.controls["step"].value = 2
    assert len(drawn) <= 3


def test_a_model_of_one_layer_has_a_slider_that_stands_still() -> None:
    tokens, objective, _ = parts(decoder_layers=1)
    explorer = translation_explorer(objective.model, tokens, EXAMPLES)
    layer = explorer.controls["layer"]
    assert layer.disabled and layer.min < layer.max and "layer 1" in explorer.line


def test_names_are_drawn_as_they_are_and_without_a_warning() -> None:
    axes = Figure(layout="none").add_axes((0.1, 0.1, 0.8, 0.8))
    names = token_map.Names(axes)
    names.set(["$a$", "<i>", "b_c^d", "a\nb", "a rather long one"])
    assert [t.get_text() for t in names.texts[:5]] == ["$a$", "<i>", "b_c^d", "a↵b", "a rather …"]
    assert not any(text.get_parse_math() for text in names.texts)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        axes.figure.canvas.draw()


def test_where_there_is_no_room_every_second_or_third_token_is_named() -> None:
    axes = Figure(figsize=(4, 3), layout="none").add_axes((0.1, 0.1, 0.8, 0.8))
    names = token_map.Names(axes, below=True)
    room = len(names.texts)
    for tokens in (1, room, room + 1, 3 * room):
        names.set([f"t{i}" for i in range(tokens)])
        shown = [text.get_text() for text in names.texts if text.get_text()]
        every = math.ceil(tokens / room)
        assert shown == [f"t{i}" for i in range(0, tokens, every)]
        assert [text.get_position()[0] for text in names.texts][: len(shown)] == pytest.approx(
            [(i + 0.5) / tokens for i in range(0, tokens, every)]
        )


def test_of_a_long_translation_the_last_rows_are_drawn() -> None:
    steps = translation.ROWS + 6
    seen = translation.Written(
        ["a", "b"], [], [], [f"t{i}" for i in range(steps)], [0] * steps, torch.zeros(steps, 3),
        torch.zeros(1, 1, steps, 2),
    )  # fmt: skip
    weights = torch.rand(steps, 2)
    for step, first, last in ((3, "t0", "t2"), (steps - 1, "t5", "t18"), (steps, "t6", "t19")):
        view = translation.cross_attention(seen, weights, step, "")
        labels = [row for row in view.rows if row]
        assert (labels[0], labels[-1]) == (first, last)
        assert torch.allclose(torch.tensor(view.weights[: len(labels)]), weights[step - len(labels) : step])
        assert view.marked.row == len(labels) - 1 and len(view.rows) == translation.ROWS


def test_it_opens_with_the_given_beam_width_and_needs_an_example() -> None:
    assert translation_explorer(*small_translator(), EXAMPLES, width=1).controls["width"].value == 1
    for width in (0, 99):
        with pytest.raises(ValueError, match=f"width={width} is outside 1 to"):
            translation_explorer(*small_translator(), EXAMPLES, width=width)
    with pytest.raises(ValueError, match="examples is empty"):
        translation_explorer(*small_translator(), [])
