"""Byte-pair encoding: the most frequent pair, one merge, and encoding a word."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from course_lib.exercises.exercise import Answer, Exercise, mistake
from course_lib.text.bpe import Pair, merge_pair, most_frequent_pair

Words = Sequence[Sequence[int]]
Order = Callable[[Counter[Pair], Pair], object]


def _smallest_first(found: Counter[Pair], pair: Pair) -> object:
    return -found[pair], pair


def _pair_by(order: Order, pairs: Callable[[Words, Sequence[int]], Iterable[tuple[Pair, int]]]) -> Answer:
    """Count the weighted pairs, and take the first one in this order."""

    def answer(words: Words, counts: Sequence[int]) -> Pair:
        found: Counter[Pair] = Counter()
        for pair, weight in pairs(words, counts):
            found[pair] += weight
        return min(found, key=lambda pair: order(found, pair))

    return answer


def _weighted(words: Words, counts: Sequence[int]) -> list[tuple[Pair, int]]:
    return [(pair, count) for word, count in zip(words, counts, strict=True) for pair in pairwise(word)]


def _once(words: Words, counts: Sequence[int]) -> list[tuple[Pair, int]]:
    return [(pair, 1) for pair, _ in _weighted(words, counts)]


def _distinct_in_word(words: Words, counts: Sequence[int]) -> list[tuple[Pair, int]]:
    both = zip(words, counts, strict=True)
    return [(pair, count) for word, count in both for pair in dict.fromkeys(pairwise(word))]


def _without_overlap(words: Words, counts: Sequence[int]) -> list[tuple[Pair, int]]:
    """The pairs that one merge would replace: in aaa, (a, a) only once."""
    return [
        (pair, count)
        for word, count in zip(words, counts, strict=True)
        for pair in dict.fromkeys(pairwise(word))
        for _ in range(len(word) - len(merge_pair(list(word), pair, -1)))
    ]


def _last_count(words: Words, counts: Sequence[int]) -> Pair:
    found = {pair: count for pair, count in _weighted(words, counts)}  # noqa: C416 - the mistake
    return min(found, key=lambda pair: (-found[pair], pair))


def _in_twos(words: Words, counts: Sequence[int]) -> list[tuple[Pair, int]]:
    both = zip(words, counts, strict=True)
    return [(pair, count) for word, count in both for pair in zip(word[::2], word[1::2], strict=False)]


def _across(words: Words, counts: Sequence[int]) -> list[tuple[Pair, int]]:
    joined = [i for word, count in zip(words, counts, strict=True) for _ in range(count) for i in word]
    return [(pair, 1) for pair in pairwise(joined)]


PAIR = Exercise(
    id="06d.pair",
    reference=lambda words, counts: most_frequent_pair(words, counts),
    inputs=(
        ([[97, 98], [98, 99]], [1, 2]),
        ([[97, 98], [99, 100, 101], [100, 101]], [4, 3, 2]),
        ([[110, 97], [97, 110]], [2, 2]),
        ([[100, 97], [97, 100, 97, 100, 97], [97, 102]], [2, 2, 5]),
        ([[97, 98], [99, 97], [98, 99]], [3, 3, 3]),
        ([[98, 97], [97, 98, 97, 98]], [3, 2]),
        ([[120, 97], [98, 120]], [9, 9]),
        ([[97, 98, 99], [98]], [1, 5]),
        ([[97, 97, 97], [98, 99]], [2, 3]),
        ([[120, 97, 98], [99, 97, 98, 100]], [2, 3]),
    ),
    mistakes=(
        mistake(
            "your code ignores `counts`",
            "Each word is in `words` once, but occurs counts[i] times in the text. Add counts[i] for each of "
            "its pairs, not 1.",
            _pair_by(_smallest_first, _once),
            _pair_by(lambda found, pair: -found[pair], _once),
        ),
        mistake(
            "your code counts pairs across words",
            "The last id of one word and the first of the next are no pair: a token never crosses words. "
            "Count within each word.",
            _pair_by(_smallest_first, _across),
            _pair_by(lambda found, pair: -found[pair], _across),
            _pair_by(
                _smallest_first,
                lambda words, counts: [(pair, 1) for pair in pairwise(i for w in words for i in w)],
            ),
        ),
        mistake(
            "your code breaks ties by the order in which it meets the pairs",
            "Another order of the words would then give another vocabulary. Among equally frequent pairs, "
            "take the smallest: min over (-frequency, pair) does both.",
            _pair_by(lambda found, pair: -found[pair], _weighted),
        ),
        mistake(
            "your code takes the largest of equally frequent pairs",
            "max over (frequency, pair) prefers the largest pair. Use min over (-frequency, pair).",
            _pair_by(lambda found, pair: (-found[pair], -pair[0], -pair[1]), _weighted),
        ),
        mistake(
            "your code counts a pair once per word, even if the word has it twice",
            "In banana, (a, n) occurs twice. Go through all neighbors, without a set.",
            _pair_by(_smallest_first, _distinct_in_word),
        ),
        mistake(
            "your code counts only the pairs that one merge would replace",
            "Count all neighbors: in aaa, the pair (a, a) occurs twice, although a merge can replace only "
            "one of them. pairwise(word) does it.",
            _pair_by(_smallest_first, _without_overlap),
        ),
        mistake(
            "your code keeps only the last count of a pair",
            "A pair occurs in several words. Add each count to what is there: found[pair] += count.",
            _last_count,
        ),
        mistake(
            "your code leaves out every other pair",
            "Each id but the last begins a pair, so abc has the pairs ab and bc. pairwise(word) gives them "
            "all.",
            _pair_by(_smallest_first, _in_twos),
        ),
        mistake(
            "your code returns the rarest pair",
            "Merging the most frequent pair shortens the text the most.",
            _pair_by(lambda found, pair: (found[pair], pair), _weighted),
        ),
    ),
)


def _overlapping(ids: list[int], pair: Pair, new: int) -> list[int]:
    """Write `new` for each occurrence, also for those that overlap, and drop what was covered."""
    starts = {i for i, neighbors in enumerate(pairwise(ids)) if neighbors == pair}
    return [new if i in starts else one for i, one in enumerate(ids) if i in starts or i - 1 not in starts]


def _first_only(ids: list[int], pair: Pair, new: int) -> list[int]:
    for i, neighbors in enumerate(pairwise(ids)):
        if neighbors == pair:
            return [*ids[:i], new, *ids[i + 2 :]]
    return ids


def _keeps_second(ids: list[int], pair: Pair, new: int) -> list[int]:
    starts = {i for i, neighbors in enumerate(pairwise(ids)) if neighbors == pair}
    return [new if i in starts else one for i, one in enumerate(ids)]


def _drops_last(ids: list[int], pair: Pair, new: int) -> list[int]:
    merged, i = [], 0
    while i < len(ids) - 1:
        found = (ids[i], ids[i + 1]) == pair
        merged.append(new if found else ids[i])
        i += 2 if found else 1
    return merged


def _appending(append: Answer, found: Answer = lambda ids, i, pair: tuple(ids[i : i + 2]) == pair) -> Answer:
    """A merge that appends something else, or finds something else."""

    def merge(ids: list[int], pair: Pair, new: int) -> list:
        merged, i = [], 0
        while i < len(ids):
            here = found(ids, i, pair)
            merged.append(append(ids, i, pair, new, here))
            i += 2 if here else 1
        return merged

    return merge


def _matching(found: Answer) -> Answer:
    return _appending(lambda ids, i, pair, new, here: new if here else ids[i], found)


def _in_text(ids: list[int], pair: Pair, new: int) -> list[int]:
    """Merge by replacing in a text of the ids, where the end of 11 is a 1."""
    text = " ".join(map(str, ids)).replace(" ".join(map(str, pair)), str(new))
    return list(map(int, text.split()))


def _always_by_two(ids: list[int], pair: Pair, new: int) -> list[int]:
    return [new if tuple(ids[i : i + 2]) == pair else ids[i] for i in range(0, len(ids), 2)]


def _new_inserted(ids: list[int], pair: Pair, new: int) -> list[int]:
    merged, i = [], 0
    while i < len(ids):
        found = tuple(ids[i : i + 2]) == pair
        merged += [*pair, new] if found else [ids[i]]
        i += 2 if found else 1
    return merged


def _other_way(ids: list[int], pair: Pair, new: int) -> list[int]:
    merged, i = [], 0
    while i < len(ids):
        found = tuple(ids[i : i + 2]) == pair
        merged.append(ids[i] if found else new)
        i += 2 if found else 1
    return merged


def _either_order(ids: list[int], pair: Pair, new: int) -> list[int]:
    merged, i = [], 0
    while i < len(ids):
        found = tuple(ids[i : i + 2]) in (pair, pair[::-1])
        merged.append(new if found else ids[i])
        i += 2 if found else 1
    return merged


MERGE = Exercise(
    id="06d.merge",
    reference=lambda ids, pair, new: merge_pair(ids, pair, new),
    inputs=(
        ([1, 2, 3], (1, 2), 9),
        ([1, 2, 3, 1, 2], (1, 2), 9),
        ([2, 1, 2, 1], (1, 2), 9),
        ([5, 5, 5], (5, 5), 9),
        ([5, 5, 5, 5, 4], (5, 5), 9),
        ([3], (3, 3), 9),
        ([11, 2], (1, 2), 9),
        ([97, 115, 256, 32], (115, 256), 300),  # not a byte
    ),
    mistakes=(
        mistake(
            "your code merges overlapping occurrences",
            "In aaa, the pair (a, a) begins twice, but the middle a can be used only once: the result is "
            "[new, a]. After a merge, move on by two ids.",
            _overlapping,
        ),
        mistake(
            "your code merges only the first occurrence",
            "A merge replaces the pair everywhere in the word. Go on after the first one.",
            _first_only,
        ),
        mistake(
            "your code keeps the second id of the pair",
            "`new` replaces both ids, so the list gets shorter. After a merge, move on by two ids.",
            _keeps_second,
        ),
        mistake(
            "your code loses the last id",
            "A loop over neighbors ends one id too early. If the last id is not part of a merge, append it.",
            _drops_last,
        ),
        mistake(
            "your code never merges",
            "Compare two ids with `pair`: tuple(ids[i : i + 2]) == pair. A list is never equal to a tuple.",
            lambda ids, pair, new: list(ids),
        ),
        mistake(
            "your code searches in a text of the ids",
            "In the text '11 2', the pair '1 2' seems to occur. Compare ids, not their digits.",
            _in_text,
        ),
        mistake(
            "your code always moves on by two ids",
            "Only after a merge. Otherwise the next id may begin the pair: move on by one.",
            _always_by_two,
        ),
        mistake(
            "your code keeps the pair beside the new id",
            "`new` replaces both ids, so the list gets shorter.",
            _new_inserted,
        ),
        mistake(
            "your code writes `new` where the pair is not",
            "Append `new` if the pair is found here, and otherwise ids[i].",
            _other_way,
        ),
        mistake(
            "your code merges the pair in either order",
            "(1, 2) and (2, 1) are different pairs: the text that they make is different, too.",
            _either_order,
            _matching(lambda ids, i, pair: set(ids[i : i + 2]) == set(pair)),
        ),
        mistake(
            "your code compares one id only",
            "Both must match: tuple(ids[i : i + 2]) == pair.",
            _matching(lambda ids, i, pair: ids[i] == pair[0]),
            _matching(lambda ids, i, pair: ids[i] in pair),
        ),
        mistake(
            "your code looks back instead of ahead",
            "The pair begins at i: ids[i] and ids[i + 1].",
            _matching(lambda ids, i, pair: tuple(ids[max(i - 1, 0) : i + 1]) == pair),
        ),
        mistake(
            "your code appends the pair or a list",
            "Append one id: `new` if the pair is found, and otherwise ids[i].",
            _appending(lambda ids, i, pair, new, found: pair if found else ids[i]),
            _appending(lambda ids, i, pair, new, found: new if found else ids[i : i + 2]),
            _appending(lambda ids, i, pair, new, found: new if found else ids[i : i + 1]),
        ),
        mistake(
            "your code replaces each id of the pair, wherever it is",
            "Only the two ids next to each other, in this order, become `new`.",
            lambda ids, pair, new: [new if i in pair else i for i in ids],
        ),
    ),
)


def _in_order(merge: Answer = merge_pair, reverse: bool = False) -> Answer:
    """Make the merges one after the other."""

    def answer(word: str, merges: Sequence[Pair]) -> list[int]:
        ids = list(word.encode())
        for new, pair in sorted(enumerate(merges, start=256), reverse=reverse):
            ids = merge(ids, pair, new)
        return ids

    return answer


def _longest(word: str, merges: Sequence[Pair]) -> list[int]:
    """Take the longest token that the rest of the word begins with."""
    pieces = [bytes([i]) for i in range(256)]
    for a, b in merges:
        pieces.append(pieces[a] + pieces[b])
    rest, ids = word.encode(), []
    while rest:
        best = max(
            (i for i, piece in enumerate(pieces) if rest.startswith(piece)), key=lambda i: len(pieces[i])
        )
        ids.append(best)
        rest = rest[len(pieces[best]) :]
    return ids


def _of_characters(word: str, merges: Sequence[Pair]) -> list[int]:
    ids = list(map(ord, word))
    for new, pair in enumerate(merges, start=256):
        ids = merge_pair(ids, pair, new)
    return ids


def _numbered(of: Callable[[int, Sequence[Pair]], int]) -> Answer:
    """Encoding in which merge number i creates the token `of(i, merges)`."""

    def answer(word: str, merges: Sequence[Pair]) -> list[int]:
        ids = list(word.encode())
        for i, pair in enumerate(merges):
            ids = merge_pair(ids, pair, of(i, merges))
        return ids

    return answer


def _applied_only(word: str, merges: Sequence[Pair]) -> list[int]:
    ids, new = list(word.encode()), 256
    for pair in merges:
        merged = merge_pair(ids, pair, new)
        ids, new = merged, new + (merged != ids)
    return ids


ENCODE = Exercise(
    id="06d.encode",
    reference=lambda word, merges: _in_order()(word, merges),
    inputs=(
        ("ab", [(97, 98)]),
        ("abcab", [(97, 98), (256, 99)]),
        ("abcd", [(98, 99), (97, 98), (257, 99), (256, 100)]),
        ("ñu", [(195, 177), (256, 117)]),
        ("aabab", [(97, 98), (97, 256)]),
    ),
    mistakes=(
        mistake(
            "your code makes the merges in the wrong order",
            "A merge needs the tokens that earlier merges made. Use them in the order of learning.",
            _in_order(reverse=True),
            lambda word, merges: _in_order()(word, merges[::-1]),
            lambda word, merges: _in_order()(word, sorted(merges)),
        ),
        mistake(
            "your code takes the longest token that fits",
            "That is another algorithm (WordPiece's). BPE repeats its training on the word: it makes the "
            "merges in the order of learning, wherever they apply.",
            _longest,
        ),
        mistake(
            "your code starts from characters",
            "ord('ñ') is 241, but the tokenizer knows bytes, and ñ is two of them: 195 and 177. Start from "
            "list(word.encode()).",
            _of_characters,
            lambda word, merges: list(word),
            lambda word, merges: list(map(ord, word)),
        ),
        mistake(
            "your code numbers the merges from 0",
            "The ids 0 to 255 are the bytes. The first merge makes token 256.",
            _numbered(lambda i, merges: i),
        ),
        mistake(
            "your code begins with the wrong number",
            "The ids 0 to 255 are the bytes, so the first merge (i = 0) makes token 256, the next one 257.",
            _numbered(lambda i, merges: 255 + i),
            _numbered(lambda i, merges: 257 + i),
        ),
        mistake(
            "your code gives all merges the same number",
            "Merge number i makes token 256 + i. len(merges) does not change in the loop.",
            _numbered(lambda i, merges: 256 + len(merges)),
            _numbered(lambda i, merges: 256),
        ),
        mistake(
            "your code numbers only the merges that apply",
            "A merge has its number from training, whether or not this word has the pair. Count on in each "
            "round.",
            _applied_only,
        ),
        mistake(
            "your code drops the result of the merge",
            "merge_pair returns a new list and leaves `ids` as it is. Assign it: ids = merge_pair(…).",
            lambda word, merges: list(word.encode()),
        ),
        mistake(
            "your code stops after the first merge",
            "`return` ends the loop. Move it out of the loop, to the indentation of `for`.",
            lambda word, merges: _in_order()(word, merges[:1]),
        ),
        mistake(
            "your code makes each merge only once",
            "A pair can occur several times in a word. merge(ids, pair, new) replaces all of them.",
            _in_order(_first_only),
        ),
    ),
)
