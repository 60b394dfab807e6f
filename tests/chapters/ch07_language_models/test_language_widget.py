"""The widgets of a language model: the small world, the sampler, attention over a text, the logit lens."""

import math
import random
import re

import pytest
import torch

from course_lib.chapters.ch07_language_models import (
    logit_lens_explorer,
    sampler_explorer,
    text_attention_explorer,
)
from course_lib.chapters.ch07_language_models import logit_lens_widget as logit_lens
from course_lib.chapters.ch07_language_models import sampler_widget as sampler
from course_lib.chapters.ch07_language_models import text_attention_widget as text_attention
from course_lib.generation.decoding import sample
from course_lib.generation.sampling import next_token_probabilities
from course_lib.layers.hooks import record_attention
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.tasks.language_modeling import mean_loss
from course_lib.text.tokenizers import EOS, UNK, CharTokenizer, Tokenizer
from course_lib.viz.style import style_context
from course_lib.widgets import reading
from course_lib.widgets import toy_lm as small_world

EXPLORERS = (sampler_explorer, text_attention_explorer, logit_lens_explorer)
TEXT = "Ana has a red hat . who"


def characters_model() -> tuple[GPT, CharTokenizer]:
    """A model without training, of one layer, that reads at most 12 characters."""
    tokens = CharTokenizer.train(["to be or not $<>&\n"])
    torch.manual_seed(3)
    return GPT(
        GPTConfig(vocab=len(tokens), d_model=12, heads=3, layers=1, max_tokens=12, dropout=0.1)
    ), tokens


@pytest.fixture(scope="module")
def question() -> reading.Reading:
    """What the toy model computes for the question that two of the explorers open with."""
    return reading.read(*small_world.small_world(), small_world.QUESTIONS[0])


# ---- the small world


def test_the_model_knows_how_a_story_goes() -> None:
    """After a person a verb, after "a" a colour, after a colour a thing; it guesses better than chance."""
    model, tokens = small_world.small_world()
    kinds = {"Ana": small_world.VERBS, "a": small_world.COLOURS, "red": small_world.THINGS}
    ids = torch.tensor([tokens.encode("Ana has a red hat .")])
    with torch.inference_mode():
        probabilities = model(ids)[0].softmax(dim=-1)
    for word, following in kinds.items():
        place = "Ana has a red hat .".split().index(word)
        assert probabilities[place, [tokens.ids[w] for w in following]].sum() > 0.8, word
    loss = mean_loss(model, tokens.encode(small_world.story(random.Random(99))))
    assert loss < 0.6 * math.log(len(tokens))


def test_a_story_answers_its_questions_from_its_facts() -> None:
    rng, tokens = random.Random(5), small_world.vocabulary()
    for _ in range(200):
        story = small_world.story(rng)
        ids = tokens.encode(story)
        assert UNK not in ids and len(ids) < small_world.CONFIG["max_tokens"]
        for verb, thing, person in re.findall(r"who (\w+) the (\w+) \? (\w+) \.", story):
            assert re.search(rf"{person} {verb} a \w+ {thing} \.", story)
        for thing, colour in re.findall(r"what colour is the (\w+) \? (\w+) \.", story):
            assert f"a {colour} {thing} ." in story


@pytest.mark.slow
def test_training_anew_goes_the_same_way_and_leaves_chance_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    one, tokens = small_world.train(steps=3)
    assert torch.equal(torch.rand(2), expected)
    other, _ = small_world.train(steps=3)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    assert len(tokens) == one.config.vocab


# ---- reading


def test_reading_keeps_what_the_model_computes() -> None:
    model, tokens = small_world.small_world()
    seen = reading.read(model, tokens, TEXT)
    ids = torch.tensor([tokens.encode(TEXT)])
    with torch.inference_mode(), record_attention(model) as maps:
        logits = model(ids)[0]
        first = model.output_logits(model.norm(model.embedding(ids)))[0]
    assert torch.allclose(seen.lens[-1], logits.softmax(dim=-1), atol=1e-6)
    assert torch.allclose(seen.lens[0], first.softmax(dim=-1), atol=1e-6)  # rotary: nothing is added
    assert torch.allclose(seen.maps[2], maps["blocks.2.attention"][0][0], atol=1e-6)
    assert seen.maps.triu(1).abs().max() == 0
    assert not model.blocks[0]._forward_hooks and not model.blocks[0]._forward_pre_hooks


def test_a_model_in_training_is_read_without_dropout_and_stays_in_training() -> None:
    model, tokens = characters_model()
    model.train()
    one, two = (reading.read(model, tokens, "to be").lens for _ in range(2))
    assert one.equal(two) and model.training
    one, two = (sampler.write(model, tokens, "to be", 0, {"temperature": 1.0}).own for _ in range(2))
    assert one.equal(two) and model.training


def test_the_pieces_together_are_the_text() -> None:
    for tokens, text in (
        (characters_model()[1], "to be\nor"),
        (small_world.vocabulary(), TEXT),
        (Tokenizer.train(["one and two and three"], vocab=30), "three and one"),
    ):
        ids = tokens.encode(text)
        assert "".join(reading.pieces_of(tokens, ids)) == text
        assert reading.pieces_of(tokens, [*ids, EOS])[-1] == "[EOS]"


@pytest.mark.parametrize("make", EXPLORERS)
def test_a_prompt_that_cannot_be_read_gets_the_reason(make) -> None:
    explorer = make("stories")
    prompt = explorer.controls["prompt"]
    place = explorer.controls.get("position", explorer.controls.get("step"))
    for typed, said in (
        ("  ", "prompt is empty"),
        ("Ana has <b>", "does not contain <b>. It contains: "),
        ("Ana " * 85, "85 tokens, but at most "),
    ):
        prompt.value = typed
        assert said in explorer.line and place.disabled and place.min < place.max
    prompt.value = TEXT
    assert said not in explorer.line and not place.disabled


@pytest.mark.parametrize("make", EXPLORERS)
def test_any_model_can_be_looked_at_with_its_vocabulary_and_a_prompt(make) -> None:
    model, tokens = characters_model()
    explorer = make(model, tokens, ["to be", "<\n>$&$"])
    explorer.controls["example"].value = "<\n>$&$"
    assert explorer.controls["prompt"].value == "<\n>$&$"
    explorer.controls["prompt"].value = "to be or not"
    assert ("at most 11 fit" in explorer.line) == (make is sampler_explorer)
    explorer.controls["prompt"].value = "to xyz"
    assert "does not contain x, y, z. It contains: " in explorer.line
    with pytest.raises(ValueError, match="0 prompts"):
        make(model, tokens)
    with pytest.raises(ValueError, match="tokens=None"):
        make(model, None, ["to be"])


# ---- the sampler


def test_what_is_written_is_what_sample_writes() -> None:
    model, tokens = small_world.small_world()
    start = torch.tensor([tokens.encode(TEXT)])
    settings = {"temperature": 1.5, "top_k": 5, "top_p": 0.9, "min_p": 0.05}
    seen = sampler.write(model, tokens, TEXT, 4, settings)
    rng = torch.Generator().manual_seed(4)
    right = sample(model.generator(), start, EOS, sampler.LENGTH, rng=rng, **settings)[0]
    assert seen.ids[: len(right)] == right
    assert seen.ids[len(right) :] in ([], [EOS])
    whole = torch.tensor([[*start[0], *seen.ids]])
    with torch.inference_mode():
        logits = model(whole)[0, start.shape[1] - 1 : -1]
    assert torch.allclose(seen.own, logits.softmax(dim=-1), atol=1e-5)
    assert torch.allclose(seen.drawn_with, next_token_probabilities(logits, **settings), atol=1e-5)
    assert (seen.drawn_with[range(len(seen.ids)), seen.ids] > 0).all()


def test_moving_a_setting_keeps_the_step_and_the_text_counts_what_can_be_drawn() -> None:
    explorer = sampler_explorer("stories")
    vocab = len(small_world.vocabulary())
    assert f"all {vocab} tokens are candidates" in explorer.line
    explorer.controls["top_k"].value = 3
    assert f"3 of {vocab} tokens are candidates, with probability mass 0." in explorer.line
    explorer.controls["step"].value = 3
    explorer.controls["temperature"].value = 0.0
    assert f"Step 3 of {sampler.LENGTH}: 1 of {vocab} tokens are candidates" in explorer.line


def test_kept_and_cut_tokens_are_told_apart_without_colour() -> None:
    explorer = sampler_explorer("stories")
    explorer.controls["top_k"].value = 2
    texts = [text.get_text() for text in explorer.figure.axes[0].texts]
    bars = [text for text in texts if "(model" in text]
    assert len(bars) == sampler.MOST
    assert sum(text.startswith("cut off (model") for text in bars) == sampler.MOST - 2
    assert sum("← chosen" in text for text in bars) == 1
    cut = [bar for bar in explorer.figure.axes[0].patches if bar.get_hatch() and bar.get_width()]
    assert len(cut) == sampler.MOST - 2
    written = re.findall(r'<ruby style="([^"]*)">([^<]*)<rt[^>]*>([\d.]+)</rt></ruby>', explorer.text.value)
    assert len(written) == explorer.controls["step"].max
    assert sum("outline" in style for style, _, _ in written) == 1


def test_a_written_token_that_is_not_among_the_likeliest_is_shown_too() -> None:
    _, tokens = small_world.small_world()
    explorer = sampler_explorer("stories")
    own = torch.linspace(1, 0, len(tokens)).softmax(dim=-1)
    with style_context():
        bars = sampler.NextTokens(explorer.figure.add_axes((0, 0, 1, 1)), tokens)
        bars.draw(own, own, 19)
    assert [text.get_text() for text in bars.names.texts][sampler.MOST - 1] == tokens[19]
    assert "← chosen" in bars.texts[-1].get_text()


# ---- attention and lens


def test_the_attention_text_names_the_strongest_weight_of_a_head_or_of_their_mean() -> None:
    explorer = text_attention_explorer("stories")
    explorer.controls["prompt"].value = TEXT
    for name, value in {"layer": 2, "head": 3, "position": 5}.items():
        explorer.controls[name].value = value
    maps = reading.read(*small_world.small_world(), TEXT).maps
    row, words, text = maps[1, 2, 4], TEXT.split(), explorer.line
    assert f"In layer 2, head 3, token 5 ({words[4]}) attends most to token {row.argmax() + 1} " in text
    assert f"weight {row.max():.2f}. Itself: {row[4]:.2f}; the first token: {row[0]:.2f}." in text
    assert "It can attend to 5 of 7 tokens" in text
    explorer.controls["head"].value = "mean"
    shown = explorer.maps.heatmaps[0]
    assert torch.allclose(torch.tensor(shown.weights), maps[1].mean(0), atol=1e-6)
    assert shown.rows == shown.columns == words


def test_the_first_view_has_a_head_that_answers(question: reading.Reading) -> None:
    explorer = text_attention_explorer("stories")
    layer, head = (explorer.controls[name].value for name in ("layer", "head"))
    ana = small_world.vocabulary().ids["Ana"]
    assert int(question.lens[-1, -1].argmax()) == ana
    to_ana = question.maps[:, :, -1, question.ids.index(ana)]
    assert to_ana[layer - 1, head - 1] == to_ana.max()


def test_without_the_answer_in_the_text_the_first_view_has_a_head_that_looks_back() -> None:
    model, tokens = small_world.small_world()
    found = reading.read(model, tokens, "Mia wants a")
    layer, head = text_attention.answering_head(found)
    assert found.maps[layer - 1, head - 1, -1, 1:-1].max() == found.maps[:, :, -1, 1:-1].max()
    assert text_attention.answering_head(reading.read(model, tokens, "Mia wants")) == (len(found.maps), 1)


def test_a_click_on_a_token_makes_it_the_query() -> None:
    explorer = text_attention_explorer("stories")
    explorer.controls["prompt"].value = TEXT
    explorer.maps.select(2, 0)
    assert explorer.controls["position"].value == 3 and "token 3 (" in explorer.line
    assert explorer.maps.framed(0)[1:] == (2, 0)
    weights = explorer.maps.heatmaps[0].weights[2, :3]
    assert explorer.maps.heatmaps[1].weights[:, 0].tolist() == sorted(weights.tolist(), reverse=True)


def test_the_lens_ends_in_the_models_prediction(question: reading.Reading) -> None:
    explorer = logit_lens_explorer("stories")
    best = int(question.lens[-1, -1].argmax())
    path = ", ".join(f"{p:.2f}" for p in question.lens[:, -1, best].tolist())
    final = small_world.vocabulary()[best]
    assert f"the model predicts {final}, the top token " in explorer.line
    assert f"from the embedding to the last block: {path}." in explorer.line
    cells = [text for row in explorer.maps.heatmaps[0].texts for text in row]
    assert f"{final}\n{question.lens[-1, -1].max():.2f}" in cells


def test_the_lens_shows_the_best_token_or_one_token_in_all_rows(question: reading.Reading) -> None:
    explorer = logit_lens_explorer("stories")
    grid = question.lens[:, -logit_lens.COLUMNS :]
    last = grid[-1].argmax(dim=-1)
    for cells, expected in zip(
        logit_lens.SHOWN, (grid.amax(dim=-1), grid[:, range(grid.shape[1]), last]), strict=True
    ):
        explorer.controls["shown"].value = cells
        drawn = torch.tensor(explorer.maps.heatmaps[0].weights)
        assert torch.allclose(drawn, expected, atol=1e-6)


def test_a_click_on_a_cell_of_the_lens_reads_up_to_its_token() -> None:
    explorer = logit_lens_explorer("stories")
    shown = explorer.maps.heatmaps[0].columns
    start = explorer.controls["position"].value - len(shown)
    explorer.maps.select(1, 2)
    assert explorer.controls["position"].value == start + 3
    assert f"After token {start + 3} ({shown[2]})" in explorer.line
    assert explorer.maps.heatmaps[0].columns[explorer.maps.framed(0).column] == shown[2]


def test_of_a_deep_model_the_last_blocks_are_shown() -> None:
    tokens = CharTokenizer.train(["abc"])
    model = GPT(GPTConfig(vocab=len(tokens), d_model=6, heads=2, layers=logit_lens.DEEPEST + 2, max_tokens=9))
    explorer = logit_lens_explorer(model, tokens, ["abcabcabca"[:9]])
    assert explorer.maps.heatmaps[0].rows == [f"block {i}" for i in range(3, logit_lens.DEEPEST + 3)]
