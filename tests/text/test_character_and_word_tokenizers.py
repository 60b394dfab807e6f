"""Character and word tokenizers."""

import pytest

from course_lib.text.tokenizers import (
    BOS,
    CLS,
    EOS,
    PAD,
    UNK,
    CharTokenizer,
    Tokenizer,
    WordTokenizer,
    load_tokenizer,
)

TEXT = "To be, or not to be:\n  that is the question.\n"


def test_characters_come_back_exactly():
    tokenizer = CharTokenizer.train([TEXT])
    assert tokenizer.decode(tokenizer.encode(TEXT)) == TEXT
    assert len(tokenizer) == 5 + len(set(TEXT))
    assert [tokenizer[i] for i in range(5, len(tokenizer))] == sorted(set(TEXT))
    assert [tokenizer[i] for i in (PAD, BOS, EOS, UNK, CLS)] == ["[PAD]", "[BOS]", "[EOS]", "[UNK]", "[CLS]"]


def test_unknown_characters_are_unk_and_shown():
    tokenizer = CharTokenizer.train(["abc"])
    assert tokenizer.encode("aéb") == [5, UNK, 6]
    assert tokenizer.decode([BOS, 5, UNK, 6, EOS, PAD]) == "a⁇b"
    assert UNK not in tokenizer.encode("[UNK]".replace("[UNK]", "abc"))


def test_text_never_gives_special_tokens():
    tokenizer = WordTokenizer.train(["[PAD] a [EOS]"])
    assert min(tokenizer.encode("[PAD] a [EOS]")) > CLS


def test_words_between_spaces_with_ends_of_lines():
    tokenizer = WordTokenizer.train([" = A title = \n \n a <unk> word \n"])
    ids = tokenizer.encode(" a <unk> word \n")
    assert [tokenizer[i] for i in ids] == ["a", "<unk>", "word", "<eos>"]
    assert tokenizer.decode(ids) == "a <unk> word \n"
    assert tokenizer.encode("strange") == [UNK]


def test_a_batch_is_its_texts():
    tokenizer = CharTokenizer.train(["abc"])
    assert tokenizer.encode_batch(["ab", "", "c"]) == [[5, 6], [], [7]]


@pytest.mark.parametrize("kind", [CharTokenizer, WordTokenizer])
def test_saved_and_loaded(tmp_path, kind):
    tokenizer = kind.train([TEXT, "Ünïcode 😀\t"])
    tokenizer.save(tmp_path / "tokens.json")
    for again in (kind.load(tmp_path / "tokens.json"), load_tokenizer(tmp_path / "tokens.json")):
        assert type(again) is kind and again.pieces == tokenizer.pieces
        assert again.encode(TEXT) == tokenizer.encode(TEXT)


def test_any_vocabulary_is_loaded_as_what_it_is(tmp_path):
    Tokenizer.train([TEXT], 60).save(tmp_path / "bpe.json")
    assert isinstance(load_tokenizer(tmp_path / "bpe.json"), Tokenizer)
    CharTokenizer.train([TEXT]).save(tmp_path / "characters.json")
    with pytest.raises(ValueError, match="is not a vocabulary of words"):
        WordTokenizer.load(tmp_path / "characters.json")
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "other.json").write_text("[1]")
    for name in ("broken.json", "other.json"):
        with pytest.raises(ValueError, match="vocabulary"):
            load_tokenizer(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        load_tokenizer(tmp_path / "absent.json")


@pytest.mark.parametrize("kind", [CharTokenizer, WordTokenizer])
def test_nothing_to_learn_is_refused(kind):
    with pytest.raises(ValueError, match="empty"):
        kind.train(["", ""])
