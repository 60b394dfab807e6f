"""Byte-level BPE: equal to the package tokenizers, merge by merge, and exact round trips on any text."""

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.text.bpe import (
    BYTES,
    FIRST,
    ByteBPE,
    merge_pair,
    most_frequent_pair,
    split_words,
)
from course_lib.text.fast_bpe import as_characters, merges_of, train_with_tokenizers, with_merges
from course_lib.text.tokenizers import BOS, EOS, PAD, SPECIAL_TOKENS, Tokenizer, load_tokenizer

SENTENCES = [
    "I am eating an apple, and they are eating two pears.",
    "¿Qué estás comiendo? Mañana comeré una manzana, señora.",
    "the thing that they think is nothing",
    "banana bandana ananas aaaa aaaaa  aaaaaa\n\tend",
]
ANY_TEXT = [
    "",
    " ",
    "\n\n a",
    "犬が走る",
    "🍎🐕‍🦺",
    "مرحبا",
    "e\u0301 é",
    "\x00\u202e\ufeff\ue000",
    "_x__",
    "½²",
    "a\u00a0b",
]


def made_up(seed: int) -> list[str]:
    """Texts of few letters, so that pairs overlap and are often equally frequent."""
    draw = random.Random(seed)
    return ["".join(draw.choices("aab ñ", k=draw.randrange(1, 30))) for _ in range(60)]


@pytest.mark.parametrize("texts", [SENTENCES, *map(made_up, range(8))])
def test_it_learns_and_applies_the_merges_of_the_package_tokenizers(texts: list[str]) -> None:
    tokenizer = ByteBPE.train(texts, 60)
    other = train_with_tokenizers(texts, len(tokenizer) - FIRST - BYTES)
    vocabulary = {piece.decode("latin-1"): i for i, piece in enumerate(tokenizer.pieces)}
    assert vocabulary == other.get_vocab()
    assert tokenizer.merges[: len(learned := merges_of(other))] == learned
    for word in {word for text in [*texts, *made_up(99), *ANY_TEXT] for word in split_words(text)}:
        assert [i - FIRST for i in tokenizer.encode(word)] == other.encode(as_characters(word)).ids


@pytest.fixture(scope="module")
def tokenizer() -> ByteBPE:
    return ByteBPE.train(SENTENCES, 80)


def test_a_merge_never_crosses_words(tokenizer: ByteBPE) -> None:
    learned = [piece.decode(errors="replace") for piece in tokenizer.pieces[BYTES:]]
    assert learned and all(" " not in piece[1:] for piece in learned if piece.strip())


def test_without_merges_the_ids_are_the_bytes() -> None:
    assert ByteBPE().encode("aé") == [FIRST + byte for byte in (97, 0xC3, 0xA9)]
    assert len(ByteBPE()) == FIRST + BYTES


def test_a_part_of_a_character_is_shown_as_a_replacement(tokenizer: ByteBPE) -> None:
    ids = ByteBPE().encode("🍎")
    assert len(ids) == 4 and ByteBPE().decode(ids[:3]) == "�" and tokenizer[ids[0]] == "�"
    assert ByteBPE().decode([BOS, *ids, EOS, PAD]) == "🍎"
    assert [tokenizer[i] for i in range(FIRST)] == SPECIAL_TOKENS


def test_most_frequent_pair_counts_words_as_often_as_they_occur() -> None:
    assert most_frequent_pair([[1, 2, 3], [2, 3], [7, 8]], [1, 1, 3]) == (7, 8)
    assert most_frequent_pair([[3, 2], [1, 9]], [1, 1]) == (1, 9)  # equally frequent
    assert most_frequent_pair([[1], []], [5, 5]) is None


def test_merges_do_not_overlap() -> None:
    assert merge_pair([1, 1, 1, 2, 1, 1], (1, 1), 9) == [9, 1, 2, 9]
    assert merge_pair([2, 1], (1, 2), 9) == [2, 1]


def test_training_stops_when_nothing_is_left_to_merge() -> None:
    assert len(ByteBPE.train(["ab", "ab"], 50).merges) == 1
    assert ByteBPE.train([], 5).merges == []
    with pytest.raises(ValueError, match="merges=-1 must be at least 0"):
        ByteBPE.train(["ab"], -1)


@pytest.mark.parametrize("seed", range(20))
def test_any_merges_are_made_in_their_order_the_leftmost_first(seed: int) -> None:
    """Also where two merges give the same token, so that a merge can make an earlier one possible."""
    draw = random.Random(seed)
    for _ in range(50):
        tokenizer = ByteBPE()
        for _ in range(draw.randrange(12)):
            pair = tuple(draw.choices([97, 98, 99, *range(BYTES, len(tokenizer.pieces))], k=2))
            if pair not in tokenizer.rules:
                tokenizer._add(pair)
        word = bytes(draw.choices(b"abc", k=draw.randrange(25)))
        ids = list(word)
        while found := [
            (tokenizer.rules[p][0], i) for i, p in enumerate(pairwise(ids)) if p in tokenizer.rules
        ]:
            _, i = min(found)
            ids[i : i + 2] = [tokenizer.rules[ids[i], ids[i + 1]][1]]
        assert tokenizer._encode_word(word) == ids


def test_the_work_grows_with_the_length_of_a_word_and_not_with_its_square() -> None:
    class Rules(dict):
        looked_up = 0

        def __contains__(self, pair: object) -> bool:
            self.looked_up += 1
            return super().__contains__(pair)

    tokenizer = ByteBPE.train(["aaaa aaaaaaaa aaaaaaaaaaaaaaaa"], 6)
    work = []
    for letters in (1000, 4000):
        tokenizer.rules = Rules(tokenizer.rules)
        tokenizer.encode("a" * letters)
        work.append(tokenizer.rules.looked_up)
    assert work[1] < 5 * work[0] < 20 * 1000


def test_words_are_those_of_gpt_2_but_for_digits_and_english_endings() -> None:
    regex = pytest.importorskip("regex")
    theirs = regex.compile(r" ?[\p{L}\p{N}_]+| ?[^\s\p{L}\p{N}_]+|\s+(?!\S)|\s+")
    draw = random.Random(0)
    for _ in range(2000):
        text = "".join(draw.choices("ab1 _!  \n\tñ\u0301\u093f", k=12))
        assert split_words(text) == theirs.findall(text)
    assert split_words("a   b  ") == ["a", "  ", " b", "  "]
    assert split_words("I don't, do I?") == ["I", " don", "'", "t", ",", " do", " I", "?"]


def test_saved_and_loaded(tokenizer: ByteBPE, tmp_path) -> None:
    tokenizer.save(tmp_path / "bytes.json")
    again = ByteBPE.load(tmp_path / "bytes.json")
    assert (again.pieces, again.merges, again.rules) == (tokenizer.pieces, tokenizer.merges, tokenizer.rules)
    for wrong in (
        "{}",
        "[1]",
        "no",
        '{"merges": 5}',
        '{"merges": [[1, 999]]}',
        '{"merges": [[-1, 2]]}',
        '{"merges": [1]}',
    ):
        (tmp_path / "wrong.json").write_text(wrong)
        with pytest.raises(ValueError, match="wrong.json"):
            ByteBPE.load(tmp_path / "wrong.json")


OWN = ByteBPE.train([*SENTENCES, *ANY_TEXT], merges=60)
FAST = Tokenizer(with_merges(OWN.merges))
PARTS = st.sampled_from(
    [*ANY_TEXT, *SENTENCES, *SPECIAL_TOKENS, " ", "\r\n", "\t", "\x00", "\x1c", "▁", "Ġ", "👩‍👩‍👧"]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(PARTS, st.text(max_size=8)), max_size=6).map("".join))
def test_no_text_loses_a_character_and_the_fast_tokenizer_gives_the_ids_of_the_slow_one(text):
    assert FAST.encode(text) == OWN.encode(text)
    assert (
        FAST.decode(FAST.encode(text)) == OWN.decode(OWN.encode(text)) == "".join(split_words(text)) == text
    )
    assert min(FAST.encode(text), default=FIRST) >= FIRST  # no special token


def test_the_fast_tokenizer_learns_the_same_merges_and_is_saved_whole(tmp_path):
    fast = Tokenizer.train(iter(SENTENCES), vocab=FIRST + BYTES + 30, kind="bytes")
    slow = ByteBPE.train(SENTENCES, merges=30)
    assert len(fast) == len(slow) == FIRST + BYTES + 30
    assert fast.encode_batch(SENTENCES) == slow.encode_batch(SENTENCES)
    fast.save(tmp_path / "tokens.json")
    again = load_tokenizer(tmp_path / "tokens.json")
    assert again.fingerprint == fast.fingerprint
    assert again.decode(again.encode("[PAD] a\r\n")) == "[PAD] a\r\n"


@pytest.mark.parametrize(("texts", "vocab", "message"), [(["a"], 260, "vocab=260 is too small: .* 261"),
                                                         (["", ""], 300, "the texts are empty")])  # fmt: skip
def test_what_has_no_byte_level_vocabulary(texts, vocab, message):
    with pytest.raises(ValueError, match=message):
        Tokenizer.train(texts, vocab, "bytes")
