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

from course_lib.datasets.grammar import asking, deeds, feelings, settings, states
from course_lib.datasets.grammar.clauses import Pair
from course_lib.datasets.grammar.phrases import Dice

LONGEST = 8  # words in a sentence
SEED = 20260
# Number of pairs to generate from each pattern; a small pattern may produce fewer.
WANTED: dict[Callable[[Dice], Pair | None], int] = {
    deeds.statement: 30000,
    deeds.denial: 13000,
    asking.question: 7000,
    deeds.routine: 3500,
    deeds.helping: 1000,
    deeds.willing: 5000,
    deeds.giving: 2500,
    deeds.portion: 1000,
    deeds.order: 2500,
    deeds.not_yet: 800,
    asking.asked_what: 2000,
    asking.asked_which: 1000,
    asking.asked_where: 1800,
    asking.asked_whither: 500,
    asking.asked_who: 1500,
    asking.asked_whom: 700,
    asking.asked_being: 900,
    asking.why_being: 700,
    asking.ever: 600,
    states.quality: 5000,
    states.two_qualities: 1200,
    states.comparison: 2000,
    states.profession: 900,
    states.kinship: 500,
    states.this_is: 1000,
    states.belonging: 1000,
    states.origin: 700,
    settings.whereabouts: 2000,
    settings.existence: 2000,
    settings.weather: 500,
    settings.hour: 900,
    settings.age: 700,
    feelings.liking: 1800,
    feelings.liking_to: 1200,
    feelings.aching: 700,
    feelings.interest: 500,
    feelings.feeling: 700,
    feelings.opinion: 1300,
    feelings.reason: 900,
}


def _fits(pair: Pair) -> bool:
    return all(text.count(" ") < LONGEST for text in pair)


def _fill(pattern: Callable[[Dice], Pair | None], wanted: int, found: dict[str, str]) -> None:
    """Rejection sampling: draw from a pattern until it has `wanted` new pairs, at most 8 draws per pair.

    Raises ValueError if an English sentence gets two translations.
    """
    dice = Dice(f"{SEED} {pattern.__name__}")
    full, draws = len(found) + wanted, 0
    while len(found) < full and draws < 8 * wanted:
        draws += 1
        pair = pattern(dice)
        if pair is None or not _fits(pair):
            continue
        if found.setdefault(*pair) != pair[1]:
            raise ValueError(f"{pair[0]!r} has two translations: {found[pair[0]]!r} and {pair[1]!r}")


@cache
def _pairs() -> tuple[Pair, ...]:
    found: dict[str, str] = {}
    for pattern, wanted in WANTED.items():
        _fill(pattern, wanted, found)
    roll = Dice(SEED).roll
    return tuple(sorted(found.items(), key=lambda _: roll()))


def pairs() -> list[Pair]:
    """All pairs (English, Spanish): distinct, at most 8 words per sentence, in a fixed shuffled order.

    Because of the shuffle, the first n pairs are a random sample of all patterns.
    """
    return list(_pairs())


def sentences(language: str) -> list[str]:
    """All distinct sentences of one language, "en" or "es", in the order of `pairs`.

    Raises ValueError for any other language.
    """
    if language not in ("en", "es"):
        raise ValueError(f"language={language!r} is neither 'en' nor 'es'")
    side = ("en", "es").index(language)
    return list(dict.fromkeys(pair[side] for pair in _pairs()))
