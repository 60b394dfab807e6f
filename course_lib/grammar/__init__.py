"""The embedded English-Spanish phrase grammar: lexicon tables in `data/`, rules here, sentence pairs out.

One Spanish sentence stands for each English one, by these conventions (data/README.md gives more):
- "you" is one friend: tú, te, tu. "I", "you" and "we" are masculine, "they" is ellos.
- yo, tú and nosotros are left out; él, ella and ellos are written, as the verb alone does not tell which.
- A noun for a person has the gender that data/people.csv gives it; said of somebody ("Ana is a doctor"),
  a profession agrees with them.
- The simple past is the preterite for events and the imperfect for states; "used to" is the imperfect;
  "was reading" is estaba leyendo; "have read" is he leído; "will" is the future; "going to" is ir a.
- Yes/no questions keep the order of the statement; after a question word the verb comes before its subject.
- English negatives are contracted (don't, isn't), nothing else is. Vocabulary is American in both languages.
"""

from collections.abc import Callable
from functools import cache

from course_lib.grammar import asking, deeds, feelings, settings, states
from course_lib.grammar.clauses import Pair
from course_lib.grammar.phrases import Dice

LONGEST = 8  # words on either side
SEED = 20260
# How many pairs of each pattern are wanted; a small pattern may have fewer to give.
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
    """Throw the dice until `wanted` new pairs are found, or eight throws for each one wanted are spent.

    Raises ValueError where an English sentence comes out with two translations.
    """
    dice = Dice(f"{SEED} {pattern.__name__}")
    full, throws = len(found) + wanted, 0
    while len(found) < full and throws < 8 * wanted:
        throws += 1
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
    """Every pair (English, Spanish): distinct, at most 8 words a side, always in the same mixed order.

    The order is a fixed shuffle, so the first n pairs are a fair sample of all patterns.
    """
    return list(_pairs())


def sentences(language: str) -> list[str]:
    """The distinct sentences of one language, "en" or "es", in the order of `pairs`.

    Raises ValueError for another language.
    """
    if language not in ("en", "es"):
        raise ValueError(f"language={language!r} is neither 'en' nor 'es'")
    side = ("en", "es").index(language)
    return list(dict.fromkeys(pair[side] for pair in _pairs()))
