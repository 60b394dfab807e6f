"""The trace of a model holds what the model itself computes, and what travels to the browser is the same."""

import copy
import json
import math

import numpy as np
import pytest
import torch

from course_lib.experiments.real_translator import SENTENCES, real_translator
from course_lib.generation.sampling import next_token_probabilities
from course_lib.layers.hooks import record_attention
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.tasks.translation import translate
from course_lib.text.tokenizers import BOS, EOS, Tokenizer, WordTokenizer
from course_lib.widgets import trace_packing
from course_lib.widgets.model_trace import MAX_SOURCE, MAX_TARGET, Trace, trace_gpt, trace_translation
from course_lib.widgets.toy_lm import PREFIXES, small_world
from course_lib.widgets.trace_packing import pack

SENTENCE = SENTENCES[0]


@pytest.fixture(scope="module")
def translation() -> Trace:
    return trace_translation(*real_translator(), SENTENCE)


@pytest.fixture(scope="module")
def continuation() -> Trace:
    return trace_gpt(*small_world(), PREFIXES[1])


def test_the_translation_is_the_one_that_the_course_translates(translation):
    model, tokenizer = real_translator()
    assert translation.text == translate(model, tokenizer, [SENTENCE])[0]
    assert translation.chosen_ids[-1] == EOS and translation.target_ids == [BOS, *translation.chosen_ids[:-1]]
    assert len(translation.logits) == len(translation.chosen)


def test_its_logits_are_the_models_own(translation):
    model, _ = real_translator()
    own = model.eval()(torch.tensor([translation.source_ids]), torch.tensor([translation.target_ids]))[0]
    torch.testing.assert_close(translation.logits, own)
    assert translation.logits.argmax(-1).tolist() == translation.chosen_ids


def test_step_by_step_with_a_cache_gives_the_same_logits(translation):
    model, _ = real_translator()
    generator = model.eval().generator(torch.tensor([translation.source_ids]))
    with torch.inference_mode():
        steps = [generator.read(torch.tensor([[i]]))[0] for i in translation.target_ids]
    torch.testing.assert_close(torch.stack(steps), translation.logits, atol=1e-4, rtol=1e-4)


def test_a_model_on_a_device_is_traced_there_and_shown_from_the_cpu(device):
    model, tokenizer = small_world()
    there, here = (trace_gpt(copy.deepcopy(model).to(d), tokenizer, PREFIXES[1]) for d in (device, "cpu"))
    assert there.text == here.text and there.logits.device.type == "cpu"
    torch.testing.assert_close(there.logits, here.logits, atol=1e-3, rtol=1e-3)
    assert pack(there, model, tokenizer)[0].keys() == pack(here, model, tokenizer)[0].keys()


def test_its_attention_is_what_record_attention_records(translation):
    model, _ = real_translator()
    with record_attention(model.eval()) as maps:
        model(torch.tensor([translation.source_ids]), torch.tensor([translation.target_ids]))
    for stack in ("encoder", "decoder"):
        for i, block in enumerate(getattr(translation, stack)):
            for attention in block.attentions:
                name = attention.name.lower().replace("self-", "").replace("-", "_")
                torch.testing.assert_close(attention.weights, maps[f"{stack}.{i}.{name}"][0][0])


def test_the_heads_merged_are_what_the_layer_adds_to_the_residual_stream(translation):
    model, _ = real_translator()
    for stack in ("encoder", "decoder"):
        for block, module in zip(getattr(translation, stack), getattr(model, stack), strict=True):
            layers = [module.attention, getattr(module, "cross_attention", None)]
            for i, attention in enumerate(block.attentions):
                added = layers[i].w_o(attention.heads.transpose(0, 1).flatten(-2))
                torch.testing.assert_close(block.residual[i] + added, block.residual[i + 1])


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_residual_stream_runs_from_the_embeddings_to_the_logits(norm):
    torch.manual_seed(0)
    words = Tokenizer.train(["one two three four"], vocab=20, kind="words")
    config = Seq2SeqConfig(vocab=len(words), d_model=12, heads=3, d_ff=20, max_tokens=40, norm=norm)
    model = Seq2Seq(config)
    trace = trace_translation(model, words, "one two three")
    with torch.inference_mode():
        embedded = model.eval().embed(torch.tensor([trace.source_ids]))[0]
    torch.testing.assert_close(trace.encoder[0].residual[0], embedded)
    for stack in (trace.encoder, trace.decoder):
        torch.testing.assert_close(stack[0].residual[-1], stack[1].residual[0])
    with torch.inference_mode():
        last = model.output_logits(model.decoder_norm(trace.decoder[-1].residual[-1]))
    torch.testing.assert_close(trace.logits, last)


def test_a_gpt_continues_its_prompt_and_its_logits_are_its_own(continuation):
    model, tokenizer = small_world()
    own = model.eval()(torch.tensor([continuation.target_ids]))[0, continuation.prompt - 1 :]
    torch.testing.assert_close(continuation.logits, own)
    assert continuation.chosen_ids == own.argmax(-1).tolist()
    assert continuation.target[: continuation.prompt] == PREFIXES[1].split()
    assert continuation.decoder[0].attentions[0].causal and not continuation.encoder


def test_the_future_is_hidden_in_the_decoder_and_not_in_the_encoder(translation):
    assert not translation.encoder[0].attentions[0].causal
    own, cross = translation.decoder[0].attentions
    assert own.causal and not cross.causal and torch.equal(own.weights, own.weights.tril())


def test_a_prefix_is_kept_and_continued(translation):
    model, tokenizer = real_translator()
    other = int(translation.logits[1].topk(2).indices[1])
    prefix = [translation.chosen_ids[0], other]
    changed = trace_translation(model, tokenizer, SENTENCE, prefix)
    assert changed.chosen_ids[:2] == prefix and changed.text != translation.text
    assert trace_translation(model, tokenizer, SENTENCE, [EOS]).chosen_ids == [EOS]


def test_an_endless_translation_is_cut_and_a_long_sentence_refused():
    model, tokenizer = real_translator()
    endless = trace_translation(model, tokenizer, SENTENCES[-1])
    assert len(endless.chosen_ids) == MAX_TARGET and EOS not in endless.chosen_ids
    with pytest.raises(ValueError, match=rf"\d+ tokens: the explorer shows at most {MAX_SOURCE}"):
        trace_translation(model, tokenizer, "I was here. " * 20)
    with pytest.raises(ValueError, match="prompt is empty"):
        trace_gpt(*small_world(), " ")


def test_what_is_typed_is_prepared_as_the_training_texts_and_unknown_tokens_of_a_gpt_are_refused(translation):
    soft = SENTENCE[0] + "\u00ad" + SENTENCE[1:]
    assert trace_translation(*real_translator(), f"\ufeff{soft} ").source_ids == translation.source_ids
    model, tokenizer = small_world()
    with pytest.raises(ValueError, match="does not contain unheardof"):
        trace_gpt(model, tokenizer, f"{tokenizer[5]} unheardof")


def unpacked(place: dict, data: bytes) -> np.ndarray:
    count = math.prod(place["shape"])
    return np.frombuffer(data, f"<{place['kind']}", count, place["at"]).reshape(place["shape"])


def test_what_travels_is_the_trace_in_half_precision(translation):
    header, data = pack(translation, *real_translator())
    header = json.loads(json.dumps(header))
    for stack in ("encoder", "decoder"):
        for block, sent in zip(getattr(translation, stack), header[stack], strict=True):
            for x, place in zip(block.residual, sent["residual"], strict=True):
                np.testing.assert_allclose(unpacked(place, data), x, rtol=1e-3, atol=1e-3)
            for attention, places in zip(block.attentions, sent["attentions"], strict=True):
                for name in ("q", "k", "v", "weights"):
                    found = unpacked(places[name], data)
                    np.testing.assert_allclose(found, getattr(attention, name), rtol=1e-3, atol=1e-3)
            np.testing.assert_allclose(unpacked(sent["hidden"], data), block.hidden, rtol=1e-3, atol=1e-3)
    assert header["sizes"]["parameters"] == sum(p.numel() for p in real_translator()[0].parameters())
    assert header["candidates"][0][0]["id"] == translation.chosen_ids[0]
    assert header["encoder"][0]["residual"][-1] == header["encoder"][1]["residual"][0]  # stored once
    assert len(data) < 150_000


@pytest.mark.parametrize("temperature", [0.1, 0.7, 1.0, 2.0])
def test_the_logits_that_travel_give_the_librarys_probabilities(translation, temperature):
    ids, logits, tails = trace_packing.top_logits(translation.logits)
    weights = (logits.double() / temperature).exp()
    tail = tails[:, trace_packing.TEMPERATURES.index(temperature)].double()
    found = weights / (weights.sum(-1) + tail)[:, None]
    whole = next_token_probabilities(translation.logits, temperature)
    torch.testing.assert_close(found.float(), whole.gather(-1, ids), atol=1e-6, rtol=1e-4)


def test_grouped_query_attention_is_traced_as_computed():
    torch.manual_seed(0)
    words = WordTokenizer.train(["one two three four"])
    model = GPT(GPTConfig(vocab=len(words), d_model=16, heads=4, kv_heads=2, max_tokens=6)).eval()
    trace = trace_gpt(model, words, "one two three")
    with record_attention(model) as maps:
        own = model(torch.tensor([trace.target_ids]))[0, 2:]
    torch.testing.assert_close(trace.logits, own)
    torch.testing.assert_close(trace.decoder[1].attentions[0].weights, maps["blocks.1.attention"][0][0])
    assert len(trace.target) <= 6
    with pytest.raises(ValueError, match="at most 5 fit"):
        trace_gpt(model, words, "one two three four one two")
