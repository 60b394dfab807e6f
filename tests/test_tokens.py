"""Tokens: round trips, control tokens, files, padding and buckets."""

import subprocess
import sys

import pytest

from course_lib.tokens import BOS, CONTROL, EOS, PAD, UNK, Tokens, buckets, pad

TEXTS = [
    "The old dog sleeps near the door.",
    "¿Dónde está la llave de mi hermana?",
    "I don't know Ana's sister, but she's tall.",
    "El perro viejo duerme cerca de la puerta.",
] * 3


@pytest.fixture(scope="module")
def tokens():
    return Tokens.train(TEXTS, vocab=120)


@pytest.mark.parametrize("text", [*TEXTS[:4], "The door sleeps!?", ""])
def test_text_comes_back(tokens, text):
    known = text.replace("!", "")
    assert tokens.decode(tokens.encode(known)) == known


def test_blanks_and_composed_letters_are_normalised(tokens):
    assert tokens.encode("  the \n door ") == tokens.encode("the door")
    assert tokens.encode("Do\u0301nde") == tokens.encode("Dónde")


def test_control_tokens_have_their_places_and_text_cannot_make_them(tokens):
    assert [tokens[i] for i in range(5)] == CONTROL
    assert not {PAD, BOS, EOS} & set(tokens.encode("[PAD] [BOS] [EOS]"))
    assert tokens.decode([BOS, *tokens.encode("the door"), EOS, PAD]) == "the door"


def test_an_unknown_character_is_unk_and_is_shown(tokens):
    ids = tokens.encode("the 犬 door")
    assert ids.count(UNK) == 1
    assert tokens.decode(ids) == "the ⁇ door"


def test_text_in_another_script_is_unk_by_unk(tokens):
    assert tokens.encode("犬走る").count(UNK) == 3 and tokens.decode(tokens.encode("犬走る")) == "⁇⁇⁇"


def test_the_fingerprint_is_that_of_the_tokens_in_their_order(tokens, tmp_path):
    tokens.save(tmp_path / "tokens.json")
    assert Tokens.load(tmp_path / "tokens.json").fingerprint == tokens.fingerprint
    assert Tokens.train(TEXTS, vocab=119).fingerprint != tokens.fingerprint


def test_a_subword_stays_within_a_word(tokens):
    pieces = [tokens[i] for i in range(len(CONTROL), len(tokens))]
    assert all(" " not in piece and "▁" not in piece[1:] for piece in pieces)
    assert tokens[tokens.encode("Ana's")[-1]] in ("'s", "s")
    assert len(tokens) <= 120


def test_words_for_the_lectures_sake():
    tokens = Tokens.train(TEXTS, vocab=12, kind="words")
    assert len(tokens) == 12
    assert tokens.decode(
        tokens.encode("The door, the DOOR")
    ) == "the door ⁇ the door" or UNK in tokens.encode("door")
    assert tokens.encode("zebra") == [UNK]


def test_training_is_deterministic():
    code = (
        "from course_lib.tokens import Tokens; import hashlib;"
        f"print(hashlib.sha256(Tokens.train({TEXTS!r}, 100).tokenizer.to_str().encode()).hexdigest())"
    )
    runs = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout for _ in range(2)
    }
    assert len(runs) == 1 and len(runs.pop()) > 60


def test_saved_and_loaded(tokens, tmp_path):
    tokens.save(tmp_path / "tokens.json")
    again = Tokens.load(tmp_path / "tokens.json")
    assert again.encode_batch(TEXTS) == tokens.encode_batch(TEXTS)
    assert again.encode("[PAD]") == tokens.encode("[PAD]") and PAD not in again.encode("[PAD]")


def test_a_file_that_is_no_vocabulary_is_refused(tmp_path):
    path = tmp_path / "tokens.json"
    path.write_text('{"not": "a vocabulary"}')
    with pytest.raises(ValueError, match="tokens.json is not a vocabulary"):
        Tokens.load(path)
    with pytest.raises(FileNotFoundError):
        Tokens.load(tmp_path / "absent.json")


def test_a_vocabulary_without_our_control_tokens_is_refused(tmp_path):
    from tokenizers import Tokenizer, models

    path = tmp_path / "tokens.json"
    Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a")).save(str(path))
    with pytest.raises(ValueError, match=r"begins with \['a', 'b'.*not with the control tokens"):
        Tokens.load(path)


@pytest.mark.parametrize(
    ("texts", "kwargs", "message"),
    [
        (TEXTS, {"kind": "letters"}, "kind='letters'"),
        (TEXTS, {"vocab": 5}, "vocab=5 .* 5 control tokens"),
        ([], {}, "empty"),
        (["", "  "], {}, "empty"),
    ],
)
def test_refusals(texts, kwargs, message):
    with pytest.raises(ValueError, match=message):
        Tokens.train(texts, **kwargs)


def test_padding_stands_on_the_right():
    assert pad([[7], [8, 9]]).tolist() == [[7, PAD], [8, 9]]
    assert pad([[7]], to=3).tolist() == [[7, PAD, PAD]]
    with pytest.raises(ValueError, match="4 tokens .* 3"):
        pad([[1, 2, 3, 4]], to=3)
    with pytest.raises(ValueError, match="empty batch"):
        pad([])


def test_buckets_hold_every_number_once_and_similar_lengths_together():
    lengths = [(i * 7919 % 31,) for i in range(1000)]
    batches = buckets(lengths, batch=16, seed=3)
    assert sorted(i for batch in batches for i in batch) == list(range(1000))
    assert max(map(len, batches)) == 16
    spread = [max(lengths[i][0] for i in b) - min(lengths[i][0] for i in b) for b in batches]
    assert sum(spread) / len(spread) < 3  # in random batches of 16 it is above 25


def test_buckets_depend_on_the_seed_alone():
    lengths = [(i % 5,) for i in range(100)]
    assert buckets(lengths, 8, seed=1) == buckets(lengths, 8, seed=1) != buckets(lengths, 8, seed=2)
