"""Synthetic sentiment data: opinions about movies, meals, hotels and trips; 0 is negative, 1 is positive.

The label is the sentiment of the main clause after all negations, by these conventions:
- The clause after "but" decides; a clause with "although" does not.
- Two contrasted clauses have opposite sentiments, so the same words in another order may have the opposite
  label.
- "not bad" is positive and "not good" is negative; likewise "never", "hardly", "far from", "anything but".
- A wrong expectation means the opposite. Anyone who is sorry that something is over liked it.
"""

import hashlib
from collections.abc import Callable
from functools import cache

from course_lib.datasets.grammar.phrases import Dice, generate, join
from course_lib.datasets.grammar.tables import rows

SEED = 20261

Review = tuple[str, int]

# Adjectives by kind of thing: negative, positive.
QUALITIES = {row["kind"]: (row["negative"], row["positive"]) for row in rows("review_qualities")}
WORLDS = tuple(dict.fromkeys(row["world"] for row in rows("review_things")))  # things that occur together
EVENTS = ("film", "play", "concert", "dinner", "picnic", "holiday", "party", "trip", "lecture", "match")
STRESS = ("", "", "", "really", "very", "rather")
NEGATIONS = ("not", "not", "never", "hardly", "far from", "anything but")
HEARD = ("I was told", "I had read", "everybody said", "my sister wrote")
PEOPLE = ("I was", "we were", "my sister was", "the children were")
FEELINGS = ("glad happy relieved", "sorry sad unhappy")  # when something bad ends, when something good ends
SPEAKERS = (  # subjects that will not do it, that will
    ("nobody should", "I would never", "we will not"),
    ("everybody should", "I would gladly", "we will certainly"),
)


def a_clause(dice: Dice, world: str, verdict: int, besides: str = "") -> tuple[str, str]:
    """Draw a thing from this world, and a clause with this sentiment about it: "the soup was not cold"."""
    things = [row for row in rows("review_things") if row["world"] == world and row["english"] != besides]
    thing = dice.pick(things)
    denied = dice.chance(0.25)
    quality = dice.pick(QUALITIES[thing["kind"]][verdict ^ denied].split())
    said = join("the", thing["english"], "was", dice.pick(NEGATIONS if denied else STRESS), quality)
    return thing["english"], said


def plain(dice: Dice, verdict: int) -> str:
    """ "The soup was hardly warm." """
    return a_clause(dice, dice.pick(WORLDS), verdict)[1]


def contrast(dice: Dice, verdict: int) -> str:
    """ "The room was dirty, but the breakfast was fresh." """
    world = dice.pick(WORLDS)
    thing, main = a_clause(dice, world, verdict)
    other = a_clause(dice, world, 1 - verdict, besides=thing)[1]
    return dice.pick((f"{other}, but {main}", f"although {other}, {main}", f"{main}, although {other}"))


def agreement(dice: Dice, verdict: int) -> str:
    """ "The hero was weak, and the story was silly." """
    world = dice.pick(WORLDS)
    thing, first = a_clause(dice, world, verdict)
    return f"{first}, and {a_clause(dice, world, verdict, besides=thing)[1]}"


def expectation(dice: Dice, verdict: int) -> str:
    """ "I was told that the guide was rude, but that was wrong." """
    wrong = dice.chance(0.5)
    clause = a_clause(dice, dice.pick(WORLDS), verdict ^ wrong)[1]
    ends = ("and that was right", "and it is true"), ("but that was wrong", "but it is not true")
    return f"{dice.pick(HEARD)} that {clause}, {dice.pick(ends[wrong])}"


def ending(dice: Dice, verdict: int) -> str:
    """ "I was glad when the concert was over." """
    denied = dice.chance(0.3)
    feeling = dice.pick(FEELINGS[verdict ^ denied].split())
    who = join(dice.pick(PEOPLE), "not" if denied else "")
    return f"{who} {feeling} when the {dice.pick(EVENTS)} was over"


def advice(dice: Dice, verdict: int) -> str:
    """ "Nobody should criticise the play." """
    blames = dice.chance(0.5)
    who = dice.pick(SPEAKERS[verdict ^ blames])
    verb = dice.pick(("criticise", "avoid") if blames else ("praise", "recommend"))
    return f"{who} {verb} the {dice.pick(EVENTS)}"


PATTERNS = (plain, contrast, agreement, expectation, ending, advice)
WANTED = dict(zip(PATTERNS, (1200, 4500, 3500, 2400, 400, 200), strict=True))  # sentences of each pattern


def _draw(pattern: Callable[[Dice, int], str], dice: Dice, number: int) -> Review:
    """Draw a sentence with its label; every other one is negative."""
    verdict = 1 - number % 2
    text = pattern(dice, verdict)
    return f"{text[0].upper()}{text[1:]}.", verdict


@cache
def _reviews() -> tuple[Review, ...]:
    found = generate(SEED, WANTED, _draw)
    return tuple(sorted(found.items(), key=lambda review: hashlib.sha256(review[0].encode()).hexdigest()))


def reviews() -> list[Review]:
    """All sentences with their labels: distinct, in a fixed shuffled order."""
    return list(_reviews())
