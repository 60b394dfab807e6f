"""Training windows, loss, scores of a whole text, new text, files."""

import math
from statistics import fmean

import pytest
import torch
import torch.nn.functional as F
from helpers.random_weights import randomized
from helpers.small_training import learn

from course_lib.generation.decoding import greedy_decode
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.pretrained.gpt2 import SINCE_GPT2
from course_lib.tasks.language_modeling import (
    LanguageModelLoss,
    SlidingGenerator,
    TextBatches,
    continue_text,
    mean_loss,
    stream_text,
)
from course_lib.text.tokenizers import EOS, PAD, CharTokenizer, Tokenizer, WordTokenizer

TEXT = "one two three four five six seven eight nine ten. " * 8


def model_of(vocab=23, **changes):
    torch.manual_seed(0)
    sizes = {"vocab": vocab, "d_model": 12, "heads": 3, "layers": 2, "max_tokens": 8, **changes}
    return randomized(GPT(GPTConfig(**sizes)))


def random_ids(*shape):
    return torch.randint(5, 23, shape, generator=torch.Generator().manual_seed(1))


# The loss


def test_the_loss_is_minus_the_log_of_the_text_s_probability():
    model, ids = model_of(), random_ids(2, 7)
    loss, count = LanguageModelLoss(model)(ids)
    probability = 1.0
    for row in ids:
        for t in range(1, 7):
            probability *= model(row[None, :t])[0, -1].softmax(-1)[row[t]].item()
    assert count == 12
    assert loss.item() == pytest.approx(-math.log(probability), rel=1e-4)


def test_padding_does_not_count():
    model, ids = model_of(), random_ids(2, 7)
    padded = torch.cat([ids, torch.full((2, 2), PAD)], dim=1)
    objective = LanguageModelLoss(model)
    (loss, count), (other, as_many) = objective(padded), objective(ids)
    assert loss.item() == pytest.approx(other.item(), rel=1e-5) and count == as_many


# The windows


def test_an_epoch_takes_every_window_once():
    batches = TextBatches(list(range(100, 203)), tokens=5, batch=3)
    for number in range(4):
        epoch = batches.batch_sampler.batches(number)
        places = sorted(place for batch in epoch for place in batch)
        assert all(len(batch) == 3 for batch in epoch)
        assert len({place % 5 for place in places}) == 1  # side by side
        assert len(places) == len(set(places)) and len(places) >= 18  # of 20, without those of a broken batch
    (windows,) = batches.batch_of([0, 97])
    assert windows.tolist() == [[100, 101, 102, 103, 104, 105], [197, 198, 199, 200, 201, 202]]


def test_too_short_a_text_is_refused():
    with pytest.raises(ValueError, match="19 tokens.*3 windows of 5.*20"):
        TextBatches(list(range(19)), tokens=5, batch=3)
    assert all(TextBatches(list(range(20)), tokens=5, batch=3).batch_sampler.batches(n) for n in range(20))


# A whole text


def by_hand(model, ids, context, stride):
    """Every token but the first, from the window that the definition gives it."""
    losses, begin = [], 0
    for t in range(1, len(ids)):
        if t > begin + context:
            begin = min(begin + stride, len(ids) - 1 - context)
        logits = model(ids[None, begin:t])[0, -1]
        losses.append(F.cross_entropy(logits, ids[t]).item())
    return fmean(losses)


@pytest.mark.parametrize("form", [{}, SINCE_GPT2], ids=["gpt-2", "modern"])
@pytest.mark.parametrize("length", [2, 5, 9, 33, 38])
@pytest.mark.parametrize(("context", "stride"), [(8, 8), (8, 3), (5, 1), (None, None)])
def test_every_token_but_the_first_counts_once(form, length, context, stride):
    model, ids = model_of(**form).train(), random_ids(length)
    size = min(context or 8, length - 1)
    expected = by_hand(model, ids, size, stride or context or 8)
    assert mean_loss(model, ids, context, stride, batch=3) == pytest.approx(expected, rel=1e-4)
    assert mean_loss(model, ids.tolist(), context, stride, batch=3) == pytest.approx(expected, rel=1e-4)
    assert model.training  # as it was


@pytest.mark.parametrize(("length", "stride"), [(1, 4), (20, 9), (20, -1)])
def test_nothing_to_count_is_refused(length, stride):
    with pytest.raises(ValueError, match=f"{length} tokens, stride={stride}, context=8"):
        mean_loss(model_of(), random_ids(length), stride=stride)


# Training and writing


@pytest.fixture(scope="module")
def trained():
    tokenizer = CharTokenizer.train([TEXT])
    torch.manual_seed(0)
    sizes = {"d_model": 32, "heads": 2, "layers": 2, "max_tokens": 16}
    objective = LanguageModelLoss(GPT(GPTConfig(vocab=len(tokenizer), **sizes, **SINCE_GPT2)))
    batches = TextBatches(tokenizer.encode(TEXT), tokens=16, batch=8)
    with torch.random.fork_rng():
        learn(objective, batches, steps=120, lr=5e-3, warmup=10, optimizer="muon")
    return objective.model, tokenizer


def test_training_learns_the_text(trained):
    model, tokenizer = trained
    assert mean_loss(model, tokenizer.encode(TEXT), stride=8) < 0.2
    text = continue_text(model, tokenizer, "one two three", 60, temperature=0.0)
    assert text == TEXT[: len("one two three") + 60]  # far past the 16 tokens that it reads at once


def test_sliding_goes_on_from_the_later_half():
    model, start = model_of(), random_ids(3, 4)
    ids = torch.cat([start, torch.tensor(greedy_decode(SlidingGenerator(model), start, None, 12))], dim=1)
    for row in ids:
        first = 0  # of the tokens that the model has before it
        for t in range(4, 16):
            if t - first > 8:
                first = t - 5
            assert model(row[None, first:t])[0, -1].argmax() == row[t]


def test_sliding_takes_long_prompts_and_selections():
    model, ids = model_of(), random_ids(3, 20)
    generator = SlidingGenerator(model)
    assert torch.allclose(generator.read(ids), model(ids[:, -5:])[:, -1], atol=1e-5)
    generator.select(torch.tensor([2]))
    assert generator.read(ids[2:, :1]).shape == (1, 23)


def test_samples_depend_on_seed_and_settings(trained):
    model, tokens = trained
    texts = [continue_text(model, tokens, "one ", 30, seed=seed, temperature=3.0) for seed in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]
    assert all(text.startswith("one ") for text in texts)


TOKENIZERS = {
    "characters": CharTokenizer.train([TEXT]),
    "words": WordTokenizer.train([TEXT, "one\ntwo\n"]),
    "bpe": Tokenizer.train([TEXT], vocab=60),
    "bytes": Tokenizer.train(["αβγ 🐕 犬 " * 9], vocab=280, kind="bytes"),
}


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("settings", [{}, {"temperature": 0.0}, {"temperature": 5.0, "top_k": 9}])
def test_streamed_pieces_are_the_text_of_the_same_seed(name, settings):
    tokenizer, prompts = TOKENIZERS[name], {"bytes": ["α 🐕", "犬"]}
    model = model_of(len(tokenizer))  # which writes nonsense, broken characters included
    for prompt in prompts.get(name, ["one two", "ten."]):
        for seed in range(2):
            pieces = [text for text, _ in stream_text(model, tokenizer, prompt, 30, seed, **settings)]
            expected = continue_text(model, tokenizer, prompt, 30, seed=seed, **settings)
            assert prompt + "".join(pieces) == expected
            assert len(pieces) == 30 or len(pieces) == 31 and pieces[-1][-1] == "\ufffd"


def test_a_stream_has_the_model_s_probabilities_and_ends_where_it_is_told_to():
    model, tokenizer = model_of(24, max_tokens=9), CharTokenizer.train(["abcdefghijklmnopqrs"])
    start = tokenizer.encode("abc")
    pieces = list(stream_text(model, tokenizer, start, 5, temperature=0.0))
    ids = [*start, *(tokenizer.ids.get(text, EOS) for text, _ in pieces)]
    with torch.no_grad():
        expected = model(torch.tensor([ids]))[0].softmax(-1)[range(2, 7), ids[3:]].tolist()
    assert [p for _, p in pieces] == pytest.approx(expected, rel=1e-4)
    ended = list(stream_text(model, tokenizer, start, 5, end=ids[7], temperature=0.0))
    assert ended == pieces[: ids[3:].index(ids[7])]
    model.train()
    stopped = stream_text(model, tokenizer, "abc", 5)
    next(stopped), stopped.close()
    assert model.training


@pytest.mark.parametrize(
    ("prompt", "settings", "message"),
    [
        ("", {}, "prompt='' is empty"),
        ("one é", {}, "lacks 1 of the 5 tokens of 'one é'"),
        ("one", {"temperature": -1.0}, "temperature=-1"),
    ],
)
def test_bad_input_is_refused(trained, prompt, settings, message):
    with pytest.raises(ValueError, match=message):
        continue_text(*trained, prompt, 5, **settings)
    with pytest.raises(ValueError, match=message):
        next(stream_text(*trained, prompt, 5, **settings))
