"""The model explorer shows any GPT or translator, a run, and a model of GPT-2's size."""

import re

import pytest
import tokenizers as hf
import torch

from course_lib.layers.hooks import record_attention
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.tasks.language_modeling import save_language_model
from course_lib.tasks.runs import load_run
from course_lib.text.tokenizers import CharTokenizer, Tokenizer, WordTokenizer
from course_lib.widgets import model_explorer
from course_lib.widgets.model_view import MOST, chosen_model
from course_lib.widgets.toy_lm import small_world

RATE = 3_000_000  # bytes that Jupyter lets a kernel send in three seconds


class GPT2Words:
    """What is used of a tokenizer of `transformers`: on bytes, with no special tokens at its start."""

    eos_token_id = 511

    def __init__(self):
        words = {f"Ġw{i}": i for i in range(511)} | {"<|endoftext|>": 511}
        self.backend_tokenizer = hf.Tokenizer(hf.models.WordLevel(words, unk_token="Ġw0"))
        split = hf.pre_tokenizers.Split(hf.Regex(" ?[^ ]+"), "isolated")
        as_bytes = hf.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        self.backend_tokenizer.pre_tokenizer = hf.pre_tokenizers.Sequence([split, as_bytes])
        self.backend_tokenizer.decoder = hf.decoders.ByteLevel()

    def __len__(self):
        return 512

    def encode(self, text, add_special_tokens):
        return self.backend_tokenizer.encode(text).ids

    def decode(self, ids):
        return self.backend_tokenizer.decode(ids)

    def convert_ids_to_tokens(self, i):
        return self.backend_tokenizer.id_to_token(i)


def words_and(model, config, **sizes):
    words = WordTokenizer.train(["one two three a"])
    return model(config(vocab=len(words), d_model=12, heads=3, max_tokens=20, **sizes)), words


def test_a_model_of_gpt2s_size_is_sent_in_parts_that_jupyter_lets_through():
    with torch.random.fork_rng(), torch.device("meta"):
        model = GPT(GPTConfig(vocab=512, d_model=768, heads=12, layers=12, max_tokens=64))
    one = GPT(GPTConfig(vocab=512, d_model=768, heads=12, layers=1, max_tokens=64)).state_dict()
    same = {name: one[re.sub(r"^blocks\.\d+", "blocks.0", name)] for name in model.state_dict()}
    model.load_state_dict(same, assign=True)  # the blocks share their random weights: quick to make
    model.padding = None  # as `load_gpt2` sets it: ids 0 to 4 are tokens like others
    prompt = "".join(f" w{i}" for i in range(40))
    explorer = model_explorer(model, GPT2Words(), prompt)
    view = explorer.view
    assert view.trace["target"][:5] == ["▁w0", "▁w1", "▁w2", "▁w3", "▁w4"] and list(view.examples) == ["gpt"]
    assert len(view.trace["decoder"]) == 12 and view.trace["decoder"][5]["hidden"] is None
    assert len(view.numbers) < MOST
    view._handle_custom_msg({"block": ["decoder", 5]}, [])
    assert view.block["index"] == 5 and view.block["answer"] == view.trace["answer"]
    tokens = explorer.shown.prompt + len(explorer.shown.chosen) - 1
    assert view.block["block"]["hidden"]["shape"] == [tokens, 3072]
    assert len(view.numbers) + len(view.block_numbers) < RATE
    with record_attention(model.eval()) as maps:
        model(torch.tensor([explorer.shown.target_ids]))
    weights = explorer.shown.decoder[5].attentions[0].weights
    torch.testing.assert_close(weights, maps["blocks.5.attention"][0][0])


def test_a_small_model_comes_with_everything_and_only_its_own_examples():
    explorer = model_explorer(*small_world())
    assert list(explorer.view.examples) == ["gpt"] and explorer.view.sentence in explorer.view.examples["gpt"]
    assert all(block["hidden"] for block in explorer.view.trace["decoder"])


def test_a_translator_of_ones_own():
    words = Tokenizer.train(["one two three a"], vocab=20, kind="words")
    model = Seq2Seq(Seq2SeqConfig(vocab=len(words), d_model=12, heads=3, d_ff=16, max_tokens=20))
    explorer = model_explorer(model.bfloat16(), words, "one two")
    assert explorer.view.trace["source"][:2] == ["one", "two"] and explorer.view.mode == "translator"
    assert next(model.parameters()).dtype == torch.bfloat16  # the copy is in fp32, not the model


def test_a_run_has_its_tokenizer(tmp_path):
    characters = CharTokenizer.train(["She said that a hat"])
    save_language_model(
        tmp_path / "model", GPT(GPTConfig(vocab=len(characters), d_model=8, heads=2)), characters
    )
    assert model_explorer(load_run(tmp_path)).view.sentence == "She said that"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (lambda: (torch.nn.Linear(2, 2), None), "model is a Linear; the explorer shows a GPT or a Seq2Seq"),
        (lambda: (words_and(GPT, GPTConfig)[0], None), "tokenizer=None"),
        (lambda: (words_and(GPT, GPTConfig)[0], small_world()[1]), "tokens, the model 9"),
        (lambda: words_and(GPT, GPTConfig, layers=0), "no blocks"),
        (lambda: (*words_and(GPT, GPTConfig), "one four"), "does not contain four"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line(arguments, why):
    with pytest.raises(ValueError, match=why) as error:
        sentence = arguments()[2:]
        model, words = arguments()[:2]
        model_explorer(model, words, *sentence) if sentence else chosen_model(model, words)
    assert "\n" not in str(error.value)


def test_a_vocabulary_without_the_examples_needs_a_sentence():
    tokenizer = WordTokenizer.train(["uno dos"])
    model = GPT(GPTConfig(vocab=len(tokenizer), d_model=8, heads=2))
    with pytest.raises(ValueError, match="give a sentence"):
        model_explorer(model, tokenizer)
    assert model_explorer(model, tokenizer, "uno dos").view.sentence == "uno dos"
