"""The classifier's widget: what the head reads of each word, the classes, sentences that cannot be read."""

import html

import pytest
import torch

from course_lib.chapters.ch09_classification import classification_widget as classification
from course_lib.chapters.ch09_classification import toy_sentiment
from course_lib.chapters.ch09_classification.classification_widget import classification_explorer, judge
from course_lib.layers.hooks import record_attention
from course_lib.models.text_encoder import EncoderConfig, TextEncoder
from course_lib.tasks.text_classification import TextClassifier, accuracy
from course_lib.text.tokenizers import CLS, Tokenizer

WORDS = ["the soup was cold .", "it was not $good$ <b> , really"]


def text_of(explorer) -> str:
    return html.unescape(explorer.text.value)


def small_models() -> tuple[dict[str, TextClassifier], Tokenizer]:
    """Models without training, of one layer, that read at most 16 tokens."""
    tokens, models = Tokenizer.train(WORDS, vocab=40, kind="words"), {}
    for pooling in classification.HEADS:
        torch.manual_seed(3)
        config = EncoderConfig(vocab=len(tokens), d_model=12, heads=3, layers=1, max_tokens=16)
        models[pooling] = TextClassifier(TextEncoder(config), 3, pooling).eval()
        torch.nn.init.normal_(models[pooling].head.weight)
    return models, tokens


def explorer_of(**changes):
    models, tokens = small_models()
    return classification_explorer(models, tokens, WORDS, ("bad", "so so", "good"), **changes)


def heights(explorer) -> list[float]:
    return [bar.get_height() for bar in explorer.figure.axes[0].patches if bar.get_height()]


def test_the_small_critic_has_learnt() -> None:
    data, tokens = toy_sentiment.material()
    model = toy_sentiment.small_critic("class token")
    ids = tokens.encode_batch(data.test.sentences[:500])
    assert accuracy(model, ids, data.test.labels[:500]) > 0.75
    assert toy_sentiment.small_critic("class token") is model and not model.training


def test_training_leaves_chance_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    one = toy_sentiment.train_critic("max", steps=2)
    assert torch.equal(torch.rand(2), expected)
    other = toy_sentiment.train_critic("max", steps=2)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_what_is_shown_is_what_the_model_computes() -> None:
    models, tokens = small_models()
    ids = torch.tensor([tokens.encode(WORDS[0])])
    with torch.inference_mode(), record_attention(models["class token"]) as maps:
        logits = models["class token"](ids)
    judged = judge(models["class token"], tokens, WORDS[0])
    assert torch.allclose(judged.probabilities, logits[0].softmax(dim=-1), atol=1e-6)
    assert torch.allclose(judged.maps[0], maps["encoder.blocks.0.attention"][0][0, :, 0], atol=1e-6)
    assert judged.pieces == [tokens[CLS], *WORDS[0].split()] and judged.unknown == 0
    states = models["max"].encoder.hidden_states(ids)[0]
    wins = judge(models["max"], tokens, WORDS[0]).wins
    assert wins.sum() == 12 and wins[0] == (states.argmax(dim=0) == 0).sum()


def test_bars_axis_and_text_follow_the_chosen_pooling_and_head() -> None:
    explorer, (models, tokens) = explorer_of(), small_models()
    judged = judge(models["class token"], tokens, WORDS[0])
    p, name = judged.probabilities, ("bad", "so so", "good")[int(judged.probabilities.argmax())]
    assert text_of(explorer).split(">", 1)[1].startswith(f"{name}, with probability {p.max():.2f}. ")
    assert heights(explorer) == pytest.approx(judged.maps[0].mean(dim=0).tolist(), abs=1e-6)
    explorer.controls["head"].value = 2
    assert heights(explorer) == pytest.approx(judged.maps[0, 1].tolist(), abs=1e-6)
    best = int(judged.maps[0, 1, 1:].argmax()) + 1
    attended = f"attends most to {judged.pieces[best]} (token {best + 1})"
    assert f"head 2, the class token {attended}" in text_of(explorer)
    explorer.controls["pooling"].value = "max"
    assert sum(heights(explorer)) == pytest.approx(1.0)
    assert "of each of 12 features separately" in text_of(explorer)
    explorer.controls["pooling"].value = "mean"
    assert heights(explorer) == pytest.approx([0.2] * 5)
    assert "Mean pooling gives each of the 5 tokens the weight 1/5." in text_of(explorer)
    assert explorer.controls["layer"].disabled and explorer.controls["head"].disabled
    left = explorer.figure.axes[0]
    assert left.get_ylim() == (0, 0.2)
    explorer.controls["prompt"].value = "the"
    assert left.get_ylim()[1] > 1 == max(heights(explorer)) and list(left.get_yticks()) == [0, 0.5, 1]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", "The sentence is empty"),
        ("   ", "is empty"),
        ("soup " * 16, "16 tokens, but the model accepts at most 15."),
    ],
)
def test_a_sentence_that_cannot_be_read_gets_the_reason(typed: str, said: str) -> None:
    explorer = explorer_of()
    explorer.controls["prompt"].value = typed
    assert said in text_of(explorer) and not heights(explorer)
    explorer.controls["prompt"].value = WORDS[1]
    assert said not in text_of(explorer) and heights(explorer)


def test_unknown_words_are_counted() -> None:
    explorer = explorer_of()
    for typed in ("<b>one</b> & two", "the $x$ _ ^ \\frac", "чай 茶", "one\ntwo\nthree"):
        before = explorer.image.value
        explorer.controls["prompt"].value = typed
        assert explorer.image.value != before
        assert "of the tokens are not in the vocabulary." in text_of(explorer)
        assert "attends most to" in text_of(explorer)
    explorer.controls["prompt"].value = WORDS[1]
    assert "not in the vocabulary" not in text_of(explorer)


def test_models_need_their_vocabulary() -> None:
    models, _ = small_models()
    with pytest.raises(ValueError, match="3 models need their tokenizer, but tokens=None"):
        classification_explorer(models)
