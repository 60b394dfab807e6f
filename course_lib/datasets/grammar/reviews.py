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

from course_lib.datasets.grammar.phrases import Dice, join

CLASSES = ("negative", "positive")
SEED = 20261

Review = tuple[str, int]

QUALITIES = {  # adjectives by kind of thing: negative, positive
    "tale": ("boring silly predictable confusing", "exciting moving funny clever"),
    "actor": ("wooden dull weak bad", "brilliant convincing strong good"),
    "food": ("cold salty stale bland", "fresh tasty delicious warm"),
    "person": ("rude careless unfriendly impatient", "polite helpful friendly patient"),
    "room": ("dirty noisy dark cramped", "clean quiet bright comfortable"),
    "place": ("ugly crowded dirty dull", "beautiful peaceful clean lovely"),
    "sky": ("awful dreadful bad miserable", "lovely pleasant good glorious"),
}
WORLDS = (  # things that occur together, each with its kind of adjectives
    {"film": "tale", "story": "tale", "dialogue": "tale", "hero": "actor", "villain": "actor"},
    {"soup": "food", "bread": "food", "cake": "food", "waiter": "person", "kitchen": "room"},
    {"room": "room", "hotel": "room", "garden": "place", "breakfast": "food", "porter": "person"},
    {"beach": "place", "village": "place", "weather": "sky", "guide": "person", "lunch": "food"},
)
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


def a_clause(dice: Dice, world: dict[str, str], verdict: int, besides: str = "") -> tuple[str, str]:
    """Draw a thing from this world, and a clause with this sentiment about it: "the soup was not cold"."""
    thing = dice.pick([name for name in world if name != besides])
    denied = dice.chance(0.25)
    quality = dice.pick(QUALITIES[world[thing]][verdict ^ denied].split())
    return thing, join("the", thing, "was", dice.pick(NEGATIONS if denied else STRESS), quality)


def plain(dice: Dice, verdict: int) -> str:
    """ "The soup was hardly warm." """
    return a_clause(dice, dice.pick(WORLDS), verdict)[1]


def contrast(dice: Dice, verdict: int) -> str:
    """ "The room was dirty, but the breakfast was fresh." """
    world = dice.pick(WORLDS)
    thing, main = a_clause(dice, world, verdict)
    other = a_clause(dice, world, 1 - verdict, besides=thing)[1]
    forms = (f"{other}, but {main}", f"although {other}, {main}", f"{main}, although {other}")
    return dice.pick(forms)


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
    return join(
        dice.pick(PEOPLE), "not" if denied else "", feeling, "when the", dice.pick(EVENTS), "was over"
    )


def advice(dice: Dice, verdict: int) -> str:
    """ "Nobody should criticise the play." """
    blames = dice.chance(0.5)
    who = dice.pick(SPEAKERS[verdict ^ blames])
    return join(
        who,
        dice.pick(("criticise", "avoid") if blames else ("praise", "recommend")),
        "the",
        dice.pick(EVENTS),
    )


WANTED: dict[Callable[[Dice, int], str], int] = {
    plain: 1200,
    contrast: 4500,
    agreement: 3500,
    expectation: 2400,
    ending: 400,
    advice: 200,
}


@cache
def _reviews() -> tuple[Review, ...]:
    found: dict[str, int] = {}
    for pattern, wanted in WANTED.items():
        dice, full, draws = Dice(f"{SEED} {pattern.__name__}"), len(found) + wanted, 0
        while len(found) < full and draws < 8 * wanted:
            draws += 1
            verdict = draws % 2
            sentence = pattern(dice, verdict)
            sentence = f"{sentence[0].upper()}{sentence[1:]}."
            if found.setdefault(sentence, verdict) != verdict:
                raise ValueError(f"{sentence!r} has two labels")
    return tuple(sorted(found.items(), key=lambda review: hashlib.sha256(review[0].encode()).hexdigest()))


def reviews() -> list[Review]:
    """All sentences with their labels: distinct, in a fixed shuffled order.

    Raises ValueError if a sentence gets both labels.
    """
    return list(_reviews())
