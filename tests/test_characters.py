"""Vocabularies of characters and of words between blanks."""

import pytest

from course_lib.characters import Characters, Words, load_vocabulary
from course_lib.tokens import BOS, CLS, EOS, PAD, UNK, Tokens

TEXT = "To be, or not to be:\n  that is the question.\n"


def test_characters_come_back_exactly():
    tokens = Characters.train([TEXT])
    assert tokens.decode(tokens.encode(TEXT)) == TEXT
    assert len(tokens) == 5 + len(set(TEXT))
    assert [tokens[i] for i in range(5, len(tokens))] == sorted(set(TEXT))
    assert [tokens[i] for i in (PAD, BOS, EOS, UNK, CLS)] == ["[PAD]", "[BOS]", "[EOS]", "[UNK]", "[CLS]"]


def test_unknown_characters_are_unk_and_shown():
    tokens = Characters.train(["abc"])
    assert tokens.encode("aéb") == [5, UNK, 6]
    assert tokens.decode([BOS, 5, UNK, 6, EOS, PAD]) == "a⁇b"
    assert UNK not in tokens.encode("[UNK]".replace("[UNK]", "abc"))


def test_text_never_gives_control_tokens():
    tokens = Words.train(["[PAD] a [EOS]"])
    assert min(tokens.encode("[PAD] a [EOS]")) > CLS


def test_words_between_blanks_with_ends_of_lines():
    tokens = Words.train([" = A title = \n \n a <unk> word \n"])
    ids = tokens.encode(" a <unk> word \n")
    assert [tokens[i] for i in ids] == ["a", "<unk>", "word", "<eos>"]
    assert tokens.decode(ids) == "a <unk> word \n"
    assert tokens.encode("strange") == [UNK]


def test_a_batch_is_its_texts():
    tokens = Characters.train(["abc"])
    assert tokens.encode_batch(["ab", "", "c"]) == [[5, 6], [], [7]]


@pytest.mark.parametrize("kind", [Characters, Words])
def test_saved_and_loaded(tmp_path, kind):
    tokens = kind.train([TEXT, "Ünïcode 😀\t"])
    tokens.save(tmp_path / "tokens.json")
    for again in (kind.load(tmp_path / "tokens.json"), load_vocabulary(tmp_path / "tokens.json")):
        assert type(again) is kind and again.pieces == tokens.pieces
        assert again.encode(TEXT) == tokens.encode(TEXT)


def test_any_vocabulary_is_loaded_as_what_it_is(tmp_path):
    Tokens.train([TEXT], 60).save(tmp_path / "bpe.json")
    assert isinstance(load_vocabulary(tmp_path / "bpe.json"), Tokens)
    Characters.train([TEXT]).save(tmp_path / "characters.json")
    with pytest.raises(ValueError, match="words between blanks"):
        Words.load(tmp_path / "characters.json")
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "other.json").write_text("[1]")
    for name in ("broken.json", "other.json"):
        with pytest.raises(ValueError, match="vocabulary"):
            load_vocabulary(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        load_vocabulary(tmp_path / "absent.json")


@pytest.mark.parametrize("kind", [Characters, Words])
def test_nothing_to_learn_is_refused(kind):
    with pytest.raises(ValueError, match="empty"):
        kind.train(["", ""])
