"""Tokenizers: round trips, special tokens, files, padding and buckets."""

import copy
import multiprocessing
import pickle
import subprocess
import sys

import pytest
import tokenizers

from course_lib.datasets.batching import BucketBatchSampler, pad
from course_lib.text.bpe import ByteBPE
from course_lib.text.tokenizers import (
    BOS,
    EOS,
    PAD,
    SPECIAL_TOKENS,
    UNK,
    CharTokenizer,
    Tokenizer,
    WordTokenizer,
    load_tokenizer,
)

TEXTS = [
    "The old dog sleeps near the door.",
    "¿Dónde está la llave de mi hermana?",
    "I don't know Ana's sister, but she's tall.",
    "El perro viejo duerme cerca de la puerta.",
] * 3


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TEXTS, vocab=120)


@pytest.mark.parametrize("text", [*TEXTS[:4], "The door sleeps!?", ""])
def test_text_comes_back(tokenizer, text):
    known = text.replace("!", "")
    assert tokenizer.decode(tokenizer.encode(known)) == known


def test_spaces_and_composed_letters_are_normalized(tokenizer):
    assert tokenizer.encode("  the \n door ") == tokenizer.encode("the door")
    assert tokenizer.encode("Do\u0301nde") == tokenizer.encode("Dónde")


def test_special_tokens_have_fixed_ids_and_text_cannot_make_them(tokenizer):
    assert [tokenizer[i] for i in range(5)] == SPECIAL_TOKENS
    assert not {PAD, BOS, EOS} & set(tokenizer.encode("[PAD] [BOS] [EOS]"))
    assert tokenizer.decode([BOS, *tokenizer.encode("the door"), EOS, PAD]) == "the door"


def test_an_unknown_character_is_unk_and_is_shown(tokenizer):
    ids = tokenizer.encode("the 犬 door")
    assert ids.count(UNK) == 1
    assert tokenizer.decode(ids) == "the ⁇ door"


def test_a_subword_stays_within_a_word(tokenizer):
    pieces = [tokenizer[i] for i in range(len(SPECIAL_TOKENS), len(tokenizer))]
    assert all(" " not in piece and "▁" not in piece[1:] for piece in pieces)
    assert tokenizer[tokenizer.encode("Ana's")[-1]] in ("'s", "s")
    assert len(tokenizer) <= 120


def test_a_tokenizer_of_words():
    tokenizer = Tokenizer.train(TEXTS, vocab=12, kind="words")
    assert len(tokenizer) == 12
    assert UNK not in tokenizer.encode("the") and tokenizer.encode("The THE") == 2 * tokenizer.encode("the")
    assert tokenizer.encode("zebra") == [UNK] and tokenizer.decode(tokenizer.encode("the zebra")) == "the ⁇"


def test_a_vocabulary_has_6000_tokens_unless_another_size_is_asked_for():
    texts = [" ".join(f"{chr(97 + n % 26)}{n}" for n in range(7000))]
    assert len(Tokenizer.train(texts, kind="words")) == 6000


def test_training_is_deterministic():
    code = (
        f"from course_lib.text.tokenizers import Tokenizer;print(Tokenizer.train({TEXTS!r}, 100).fingerprint)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == Tokenizer.train(TEXTS, 100).fingerprint


KINDS = {
    "bpe": lambda texts: Tokenizer.train(texts, 120),
    "characters": CharTokenizer.train,
    "words": WordTokenizer.train,
}


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_loaded(kind, tmp_path):
    tokenizer = KINDS[kind]([*TEXTS, "Ünïcode 😀\t"])
    tokenizer.save(tmp_path / "tokens.json")
    for again in (type(tokenizer).load(tmp_path / "tokens.json"), load_tokenizer(tmp_path / "tokens.json")):
        assert type(again) is type(tokenizer) and again.fingerprint == tokenizer.fingerprint
        assert again.encode_batch([*TEXTS, "[PAD]"]) == [tokenizer.encode(text) for text in [*TEXTS, "[PAD]"]]
    assert KINDS[kind](TEXTS[:2]).fingerprint != tokenizer.fingerprint


@pytest.mark.parametrize("content", ["{", "[1]", '{"not": "a vocabulary"}'])
def test_a_file_that_is_no_vocabulary_is_refused(content, tmp_path):
    path = tmp_path / "tokens.json"
    path.write_text(content)
    for load in (load_tokenizer, Tokenizer.load, CharTokenizer.load):
        with pytest.raises(ValueError, match="tokens.json is not a vocabulary"):
            load(path)
        with pytest.raises(FileNotFoundError):
            load(tmp_path / "absent.json")
    CharTokenizer.train(["abc"]).save(path)
    with pytest.raises(ValueError, match="is not a vocabulary of words"):
        WordTokenizer.load(path)


def test_a_vocabulary_without_our_special_tokens_is_refused(tmp_path):
    path = tmp_path / "tokens.json"
    tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1}, unk_token="a")).save(str(path))
    with pytest.raises(ValueError, match=r"begins with \['a', 'b'.*not with the special tokens"):
        Tokenizer.load(path)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_to_learn_is_refused(kind):
    spaces = [["", "  "]] if kind == "bpe" else []  # characters, and ends of lines, to the others
    for texts in ([], ["", ""], *spaces):
        with pytest.raises(ValueError, match="empty"):
            KINDS[kind](texts)


@pytest.mark.parametrize(
    ("texts", "kwargs", "message"),
    [
        (TEXTS, {"kind": "letters"}, "kind='letters'"),
        (TEXTS, {"vocab": 5}, "vocab=5 .* 5 special tokens"),
    ],
)
def test_refusals(texts, kwargs, message):
    with pytest.raises(ValueError, match=message):
        Tokenizer.train(texts, **kwargs)


def test_padding_stands_on_the_right():
    assert pad([[7], [8, 9]]).tolist() == [[7, PAD], [8, 9]]
    assert pad([[7]], to=3).tolist() == [[7, PAD, PAD]]
    with pytest.raises(ValueError, match="4 tokens .* to=3"):
        pad([[1, 2, 3, 4]], to=3)
    with pytest.raises(ValueError, match="empty batch"):
        pad([])


def test_buckets_hold_every_number_once_and_similar_lengths_together():
    lengths = [(i * 7919 % 31,) for i in range(1000)]
    batches = BucketBatchSampler(lengths, batch=16, seed=3).batches(0)
    assert sorted(i for batch in batches for i in batch) == list(range(1000))
    assert max(map(len, batches)) == 16
    ranges = [max(lengths[i][0] for i in b) - min(lengths[i][0] for i in b) for b in batches]
    assert sum(ranges) / len(ranges) < 3  # in random batches of 16 it is above 25


def test_buckets_depend_on_the_seed_and_the_epoch_alone():
    lengths = [(i % 5,) for i in range(100)]
    one, same, other = (BucketBatchSampler(lengths, 8, seed) for seed in (1, 1, 2))
    assert one.batches(0) == same.batches(0) != other.batches(0) != other.batches(1)


@pytest.mark.parametrize("i", [-1, -2, 500, 2**32, 10**20])
def test_an_id_outside_the_vocabulary_is_named(i):
    for tokenizer in (Tokenizer.train(["one two"], vocab=20), CharTokenizer(["a"]), ByteBPE()):
        for read in (tokenizer.__getitem__, lambda i, tokenizer=tokenizer: tokenizer.decode([i])):
            with pytest.raises(IndexError, match=f"id {i} is none of the {len(tokenizer)} ids"):
                read(i)


SPECIAL = "the [PAD] [EOS] door"


def test_copies_encode_as_the_original_does(tokenizer):
    expected = tokenizer.encode(SPECIAL)
    pickled = (pickle.loads(pickle.dumps(tokenizer, n)) for n in range(2, pickle.HIGHEST_PROTOCOL + 1))
    for same in (copy.copy(tokenizer), copy.deepcopy(tokenizer), *pickled):
        assert same.encode(SPECIAL) == expected and not {PAD, EOS} & set(expected)
        assert same.fingerprint == tokenizer.fingerprint


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_worker_processes_encode_as_their_parent_does(tokenizer, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip("this system cannot fork")
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply(tokenizer.encode, [SPECIAL]) == tokenizer.encode(SPECIAL)


def test_a_vocabulary_never_exceeds_its_size():
    texts = ["the cat sat on the mat . él dijo ¿qué tal?"]
    for vocab in (6, 10, 24):
        assert len(Tokenizer.train(texts, vocab, kind="words")) <= vocab
        with pytest.raises(ValueError, match=f"vocab={vocab} is too small: .* 25 tokens"):
            Tokenizer.train(texts, vocab)
    for vocab in (25, 26, 40):
        assert len(Tokenizer.train(texts, vocab)) <= vocab


def test_the_sign_of_a_space_is_a_space():
    tokenizer = Tokenizer.train(["abc d d", "abc▁d d"], 60)
    assert tokenizer.encode("abc▁d d") == tokenizer.encode("abc d d")


# Characters, and words between spaces

TEXT = "To be, or not to be:\n  that is the question.\n"


def test_characters_come_back_exactly():
    tokenizer = CharTokenizer.train([TEXT])
    assert tokenizer.decode(tokenizer.encode(TEXT)) == TEXT
    assert [tokenizer[i] for i in range(len(tokenizer))] == [*SPECIAL_TOKENS, *sorted(set(TEXT))]
    assert tokenizer.encode("béo") == [*tokenizer.encode("b"), UNK, *tokenizer.encode("o")]
    assert tokenizer.decode([BOS, *tokenizer.encode("béo"), EOS, PAD]) == "b⁇o"


def test_words_between_spaces_with_ends_of_lines():
    tokenizer = WordTokenizer.train([" = A title = \n \n a <unk> word [PAD] \n"])
    ids = tokenizer.encode(" a <unk> word \n")
    assert [tokenizer[i] for i in ids] == ["a", "<unk>", "word", "<eos>"]
    assert tokenizer.decode(ids) == "a <unk> word \n"
    assert tokenizer.encode("strange") == [UNK] and tokenizer.encode("[PAD]")[0] > UNK
