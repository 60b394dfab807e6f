"""Bilingual phrases: noun phrases, people and places, and the random source that draws them."""

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar

from course_lib.datasets.grammar import english, spanish
from course_lib.datasets.grammar.lexicon import Adjective, Entry, Noun, Person, entries, of_kind
from course_lib.datasets.grammar.tables import rows

Card = TypeVar("Card")
Pair = tuple[str, str]  # English, Spanish
NOTHING: Pair = ("", "")
OWN = {"m": "his", "f": "her"}
POSSESSIVES = ("my", "your", "his", "her", "our", "their")
NUMBERS = ("two", "three", "four", "five", "six", "ten")


class Nonsense(Exception):
    """Raised when a random draw makes no sense; another draw is needed."""


def require(sensible: bool) -> None:
    """Rejection sampling: reject the draw, by raising Nonsense, unless it is sensible."""
    if not sensible:
        raise Nonsense


class Dice:
    """Random source that uses only `Random.random`, whose stream is the same in every version of Python."""

    def __init__(self, seed: int | str):
        self.roll = random.Random(seed).random

    def pick(self, cards: Sequence[Card]) -> Card:
        """Draw one item, all equally likely."""
        return cards[int(self.roll() * len(cards))]

    def chance(self, probability: float) -> bool:
        """Draw True with this probability."""
        return self.roll() < probability

    def entry(self, tables: str, *kinds: str) -> Any:
        """Draw an entry of these tables, of one of these kinds if any are given."""
        return self.pick(of_kind(tables, *kinds) if kinds else entries(tables))

    def noun(self, *kinds: str) -> Noun:
        """Draw a noun of any of these kinds."""
        return self.entry("people nouns", *kinds)

    def words(self, table: str, *kinds: str) -> Pair:
        """Draw an entry of a table: its words in English and Spanish."""
        found = self.entry(table, *kinds)
        return found.english, found.spanish


def generate(
    seed: int, wanted: Mapping[Any, int], draw: Callable[[Any, Dice, int], tuple[str, Card] | None]
) -> dict[str, Card]:
    """Draw so many sentences from each pattern, each at most 8 times as often.

    draw: given a pattern and the number of the draw, a sentence with its translation (or label), or None.
    Raises ValueError if a sentence gets two translations (or labels).
    """
    found: dict[str, Card] = {}
    for pattern, more in wanted.items():
        dice, full = Dice(f"{seed} {pattern.__name__}"), len(found) + more
        for number in range(8 * more):
            if len(found) == full:
                break
            drawn = draw(pattern, dice, number)
            if drawn and found.setdefault(*drawn) != drawn[1]:
                raise ValueError(f"{drawn[0]!r} is both {found[drawn[0]]!r} and {drawn[1]!r}")
    return found


class Phrase(NamedTuple):
    """A noun phrase in both languages, with the features that other words must agree with.

    person: 0 I, 1 you, 2 he/she/it, 3 we, 4 they. own: the English possessive of the same person.
    Only pronouns have an English `object` form, a Spanish form after prepositions (`strong`), and a `clitic`.
    """

    english: str
    spanish: str
    person: int = 2
    gender: str = "m"
    own: str = "its"
    object: str = ""
    strong: str = ""
    clitic: str = ""
    noun: Noun | None = None

    @property
    def many(self) -> bool:
        """Whether the phrase is plural."""
        return self.person > 2


PRONOUNS = tuple(Phrase(**dict[str, Any](row) | {"person": int(row["person"])}) for row in rows("pronouns"))
WITH = {"con mí": "conmigo", "con ti": "contigo"}


def join(*words: str) -> str:
    """Join the nonempty words with single spaces."""
    return " ".join(filter(None, words))


def prepositional(link: str, pronoun: Phrase) -> str:
    """A Spanish preposition and a pronoun: "de ella", "conmigo"."""
    return WITH.get(f"{link} {pronoun.strong}", f"{link} {pronoun.strong}")


@cache
def _determiners(number: str) -> dict[str, dict[str, str]]:
    return {row[number]: row for row in rows("determiners") if row[number]}


def determiner(word: str, gender: str, many: bool) -> str:
    """The Spanish determiner for an English one, or "" for none; raises KeyError for an unknown word."""
    if not word:
        return ""
    return _determiners("plural" if many else "singular")[word][gender + ("p" if many else "s")]


def agree(adjective: Adjective, gender: str, many: bool) -> str:
    """The Spanish adjective, in agreement with a gender and a number."""
    return spanish.agree(adjective.spanish, adjective.feminine, adjective.plural, gender, many)


def modified(noun: Noun, adjective: Adjective | None, many: bool) -> Pair:
    """Noun and adjective: adjective first in English, last in Spanish (except in "un buen libro")."""
    en, es = (noun.plural, noun.spanish_plural) if many else (noun.english, noun.spanish)
    if adjective is None:
        return en, es
    form = agree(adjective, noun.gender, many)
    if adjective.position == "before":
        form = form.removesuffix("o") if noun.gender == "m" and not many else form
        return f"{adjective.english} {en}", f"{form} {es}"
    return f"{adjective.english} {en}", f"{es} {form}"


@cache
def noun_phrase(word: str, noun: Noun, many: bool = False, adjective: Adjective | None = None) -> Phrase:
    """Noun phrase: determiner, adjective and noun, in agreement.

    word: the English determiner, "" for none, or "generic" for a whole kind, for which Spanish uses the
    article: "I like cats", "me gustan los gatos".
    """
    en, es = modified(noun, adjective, many)
    spanish_word = determiner("the" if word == "generic" else word, noun.gender, many)
    if noun.stressed_a and not many:
        spanish_word = {"la": "el", "una": "un"}.get(spanish_word, spanish_word)  # el agua, un águila
    word = {"a": english.article(en), "generic": ""}.get(word, word)
    own = "their" if many else OWN[noun.gender] if isinstance(noun, Person) else "its"
    return Phrase(join(word, en), join(spanish_word, es), 4 if many else 2, noun.gender, own, noun=noun)


@cache
def names() -> tuple[Phrase, ...]:
    """All first names, as phrases."""
    return tuple(Phrase(one.name, one.name, 2, one.gender, OWN[one.gender]) for one in entries("names"))


def possessed(owner: Phrase, noun: Noun, many: bool = False, adjective: Adjective | None = None) -> Phrase:
    """ "Ana's red car": "el coche rojo de Ana"."""
    thing = noun_phrase("the", noun, many, adjective)
    en = f"{owner.english}'s {modified(noun, adjective, many)[0]}"
    return thing._replace(english=en, spanish=f"{thing.spanish} de {owner.spanish}")


def both(first: Phrase, second: Phrase) -> Phrase:
    """ "Ana and Pedro": masculine unless both are feminine; first person plural with "I"."""
    gender = "f" if first.gender == second.gender == "f" else "m"
    person, own = (3, "our") if second.english == "I" else (4, "their")
    en, es = f"{first.english} and {second.english}", f"{first.spanish} y {second.spanish or 'yo'}"
    return Phrase(en, es, person, gender, own)


def pointing(many: bool) -> tuple[str, str]:
    """The demonstratives of a number."""
    return ("these", "those") if many else ("this", "that")


def human(dice: Dice, kind: str = "person") -> Phrase:
    """Draw a particular person or group, by name or by noun: "Ana", "my brother", "these tourists"."""
    if kind == "person" and dice.chance(0.35):
        return dice.pick(names())
    noun = dice.noun(kind)
    if "spouse" in noun.kinds:
        return noun_phrase(dice.pick(("my", "your", "his" if noun.gender == "f" else "her")), noun)
    many = "parent" not in noun.kinds and dice.chance(0.4)
    related = {"kin", "parent", "known"} & set(noun.kinds)
    words = ("my", *POSSESSIVES) if related else ("the", "the", *pointing(many))
    return noun_phrase(dice.pick(words), noun, many)


def place_phrase(place: Entry, english_link: str) -> Pair:
    """A place with an English preposition ("to", "at", or "" for none), and in Spanish without one.

    "at" means the preposition that the place requires: at home, in the park, on the island.
    """
    if not isinstance(place, Noun):
        return {"to": place.to, "at": place.at, "": place.english}[english_link], place.spanish
    thing = noun_phrase("the", place)
    return join(place.preposition if english_link == "at" else english_link, thing.english), thing.spanish


def location(dice: Dice, *kinds: str) -> Pair:
    """Draw a place of one of these kinds, with prepositions: "at home", "en casa"."""
    en, es = place_phrase(dice.entry("places nouns", *kinds), "at")
    return en, f"en {es}"
