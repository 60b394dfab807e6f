"""Synthetic English-Spanish sentence pairs from a phrase grammar; its lexicon is in the tables of `data/`.

Each English sentence has exactly one Spanish translation, by these conventions (data/README.md has more):
- "you" is informal singular: tú, te, tu. "I", "you" and "we" are masculine, "they" is ellos.
- yo, tú and nosotros are dropped; él, ella and ellos are kept, because the verb does not distinguish them.
- A noun for a person has the gender given in data/people.csv; as a predicate ("Ana is a doctor"), a
  profession agrees with its subject.
- The simple past is the preterite for events and the imperfect for states; "used to" is the imperfect;
  "was reading" is estaba leyendo; "have read" is he leído; "will" is the future; "going to" is ir a.
- Yes/no questions keep the word order of statements; after a question word, the verb precedes its subject.
- Only English negatives are contracted (don't, isn't). The vocabulary of both languages is American.
"""

from collections.abc import Callable
from functools import cache

from course_lib.datasets.grammar import patterns
from course_lib.datasets.grammar.phrases import Dice, Nonsense, Pair, generate
from course_lib.datasets.grammar.tables import rows

LONGEST = 8  # words in a sentence
SEED = 20260
# Number of pairs to generate from each pattern; a small pattern may produce fewer.
WANTED: dict[Callable[[Dice], Pair], int] = {
    getattr(patterns, row["pattern"]): int(row["pairs"]) for row in rows("patterns")
}


def _draw(pattern: Callable[[Dice], Pair], dice: Dice, _: int) -> Pair | None:
    """Draw once from a pattern; None if the draw makes no sense or is too long."""
    try:
        pair = pattern(dice)
    except Nonsense:
        return None
    return pair if all(len(text.split()) <= LONGEST for text in pair) else None


@cache
def _pairs() -> tuple[Pair, ...]:
    roll = Dice(SEED).roll
    return tuple(sorted(generate(SEED, WANTED, _draw).items(), key=lambda _: roll()))


def pairs() -> list[Pair]:
    """All pairs (English, Spanish): distinct, at most 8 words per sentence, in a fixed shuffled order.

    Because of the shuffle, the first n pairs are a random sample of all patterns.
    """
    return list(_pairs())


def sentences(language: str) -> list[str]:
    """All distinct sentences of one language, "en" or "es", in the order of `pairs`.

    Raises ValueError for any other language.
    """
    sides = {"en": 0, "es": 1}
    if language not in sides:
        raise ValueError(f"language={language!r} is neither 'en' nor 'es'")
    return list(dict.fromkeys(pair[sides[language]] for pair in _pairs()))
