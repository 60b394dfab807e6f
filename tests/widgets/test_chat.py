"""Chat: it streams, stops, says what it reads, and leaves the notebook's random numbers alone."""

import asyncio
import html

import pytest
import torch

from course_lib.models import GPT, GPTConfig, Seq2Seq, Seq2SeqConfig
from course_lib.tasks import continue_text, respond, stream_text, translate
from course_lib.text import BOS, EOS, CharTokenizer, Tokenizer
from course_lib.widgets import chat_explorer

TOKENS = CharTokenizer.train(["abcdefgh "])


def language_model() -> GPT:
    torch.manual_seed(1)
    return GPT(GPTConfig(vocab=len(TOKENS), d_model=12, heads=3, layers=1, max_tokens=16))


def shown(chat) -> str:
    return html.unescape(chat.text.value)


def test_the_answer_is_the_continuation_with_the_probability_of_each_token():
    model = language_model()
    chat = chat_explorer(model, TOKENS, ["abc", "de"], length=20)
    chat.controls["temperature"].value = 0.0
    assert "abc" + chat.reply.text == continue_text(model, TOKENS, "abc", 20, temperature=0.0)
    with torch.inference_mode():
        first = model.eval()(torch.tensor([TOKENS.encode("abc")]))[0, -1].softmax(-1).max().item()
    assert chat.reply.written[0][1] == pytest.approx(first, abs=1e-5)
    chat.controls["view"].value = "probabilities"
    assert f"{first:.2f}" in shown(chat)


def test_an_instruction_is_framed_by_its_special_tokens_and_ends_with_eos():
    model = language_model()
    chat = chat_explorer(model, TOKENS, ["abc"], instruction=True, length=9)
    assert chat.reply.read == [TOKENS[BOS], "a", "b", "c", TOKENS[EOS]]
    chat.controls["temperature"].value = 0.0
    assert chat.reply.text == respond(model, TOKENS, ["abc"], max_tokens=9)[0]
    chat.controls["view"].value = "prompt format"
    assert TOKENS[EOS] in shown(chat)


def test_a_translator_is_asked_as_translate_asks_it():
    torch.manual_seed(0)
    tokens = Tokenizer.train(["abc def"], vocab=20)
    model = Seq2Seq(Seq2SeqConfig(vocab=len(tokens), d_model=12, d_ff=24, heads=3, max_tokens=16))
    chat = chat_explorer(model, tokens, ["abc"], length=15)
    chat.controls["temperature"].value = 0.0
    assert chat.reply.read[-1] == tokens[BOS] and chat.reply.written
    assert chat.reply.text.strip() == translate(model, tokens, ["abc"], max_tokens=15)[0].strip()


@pytest.mark.parametrize("message", ["", "xyz", "abc" * 90])
def test_a_message_that_does_not_fit_is_refused_in_one_line(message):
    chat = chat_explorer(language_model(), TOKENS, ["abc"], instruction=True)
    chat.controls["prompt"].value = message
    assert chat.reply.error and chat.reply.error.split(":")[0] in shown(chat)


def test_in_a_kernel_it_streams_and_can_be_stopped():
    async def session():
        chat = chat_explorer(language_model(), TOKENS, ["abc", "de"], length=300)
        chat.controls["prompt"].value = "h"
        many, described = len(chat.reply.written), chat.controls["write"].description
        await asyncio.sleep(0.1)
        more = len(chat.reply.written)
        chat.controls["write"].value = False  # the button, which was pressed in
        await asyncio.sleep(0.05)
        return chat, many, described, more

    chat, many, described, more = asyncio.run(session())
    assert many == 0 and described == "stop" and 0 < more < 300
    assert len(chat.reply.written) - more < 3 and "topped after" in shown(chat)
    assert chat.controls["write"].description == "write another"
    chat.controls["write"].value = True  # now, outside of the loop, another answer is complete at once
    assert chat.controls["seed"].value == 1 and chat.reply.ended == "all 300 tokens"


def test_between_two_tokens_the_random_numbers_and_the_mode_are_the_notebooks():
    model = language_model().train()
    writing = stream_text(model, TOKENS, "abc", 5)
    next(writing)
    assert model.training
    torch.manual_seed(7)
    next(writing)
    drawn = torch.rand(1)
    torch.manual_seed(7)
    assert torch.equal(drawn, torch.rand(1))
