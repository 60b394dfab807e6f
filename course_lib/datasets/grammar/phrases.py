"""Bilingual phrases: noun phrases, people and places, and the random source that draws them."""

import random
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, TypeVar

from course_lib.datasets.grammar import english, spanish
from course_lib.datasets.grammar.lexicon import Adjective, Noun, Place, of_kind
from course_lib.datasets.grammar.tables import rows

Card = TypeVar("Card")
OWN = ("my", "your", "his", "our", "their")
NUMBERS = ("two", "three", "four", "five", "six", "ten")


class Dice:
    """Random source that depends on its seed alone.

    It uses only `Random.random`, whose stream is the same in every version of Python.
    """

    def __init__(self, seed: int | str):
        self.roll = random.Random(seed).random

    def pick(self, cards: Sequence[Card]) -> Card:
        """Draw one item, all equally likely."""
        return cards[int(self.roll() * len(cards))]

    def chance(self, probability: float) -> bool:
        """Draw True with this probability."""
        return self.roll() < probability


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


PRONOUNS = (
    Phrase("I", "", 0, "m", "my", "me", "mí", "me"),
    Phrase("you", "", 1, "m", "your", "you", "ti", "te"),
    Phrase("he", "él", 2, "m", "his", "him", "él", "lo"),
    Phrase("she", "ella", 2, "f", "her", "her", "ella", "la"),
    Phrase("we", "", 3, "m", "our", "us", "nosotros", "nos"),
    Phrase("they", "ellos", 4, "m", "their", "them", "ellos", "los"),
)
WITH = {"I": "conmigo", "you": "contigo"}
WHO = Phrase("who", "quién", own="their")


def join(*words: str) -> str:
    """Join the nonempty words with single spaces."""
    return " ".join(filter(None, words))


@cache
def determiner(word: str, gender: str, many: bool) -> str:
    """The Spanish determiner for an English one, or "" for none; raises KeyError for an unknown word."""
    if not word:
        return ""
    cell = ("m" if gender == "m" else "f") + ("p" if many else "s")
    return _determiners()[word, many][cell]


@cache
def _determiners() -> dict[tuple[str, bool], dict[str, str]]:
    table = {}
    for row in rows("determiners"):
        table |= {(row["singular"], False): row} if row["singular"] else {}
        table |= {(row["plural"], True): row} if row["plural"] else {}
    return table


def modified(noun: Noun, adjective: Adjective | None, many: bool) -> tuple[str, str]:
    """Noun and adjective: adjective first in English, last in Spanish (except in "un buen libro")."""
    words = (noun.english_plural, noun.spanish_plural) if many else (noun.english, noun.spanish)
    if adjective is None:
        return words
    form = spanish.agree(adjective.spanish, adjective.feminine, adjective.plural, noun.gender, many)
    if adjective.position == "before":
        short = form.removesuffix("o") if noun.gender == "m" and not many else form
        return f"{adjective.english} {words[0]}", f"{short} {words[1]}"
    return f"{adjective.english} {words[0]}", f"{words[1]} {form}"


@cache
def noun_phrase(word: str, noun: Noun, many: bool = False, adjective: Adjective | None = None) -> Phrase:
    """Noun phrase: determiner, adjective and noun, in agreement.

    word: the English determiner, "" for none, or "generic" for a whole kind, for which Spanish uses the
    article: "I like cats", "me gustan los gatos".
    """
    en, es = modified(noun, adjective, many)
    spanish_word = determiner("the" if word == "generic" else word, noun.gender, many)
    if noun.stressed_a and not many and spanish_word in ("la", "una"):
        spanish_word = {"la": "el", "una": "un"}[spanish_word]  # el agua, un águila
    if word == "a":
        word = english.article(en)
    own = "their" if many else ("her" if noun.gender == "f" else "his") if "person" in noun.kinds else "its"
    return Phrase(
        join("" if word == "generic" else word, en),
        join(spanish_word, es),
        4 if many else 2,
        noun.gender,
        own,
        noun=noun,
    )


@cache
def names() -> tuple[Phrase, ...]:
    """All first names, as phrases."""
    return tuple(
        Phrase(row["name"], row["name"], 2, row["gender"], "her" if row["gender"] == "f" else "his")
        for row in rows("names")
    )


def possessed(owner: Phrase, noun: Noun, many: bool = False, adjective: Adjective | None = None) -> Phrase:
    """ "Ana's red car": "el coche rojo de Ana"."""
    thing = noun_phrase("the", noun, many, adjective)
    return thing._replace(
        english=f"{owner.english}'s {modified(noun, adjective, many)[0]}",
        spanish=f"{thing.spanish} de {owner.spanish}",
    )


def both(first: Phrase, second: Phrase) -> Phrase:
    """ "Ana and Pedro": masculine unless both are feminine; first person plural with "I"."""
    gender = "f" if first.gender == second.gender == "f" else "m"
    if second.english == "I":
        return Phrase(f"{first.english} and I", f"{first.spanish} y yo", 3, "m", "our")
    return Phrase(
        f"{first.english} and {second.english}", f"{first.spanish} y {second.spanish}", 4, gender, "their"
    )


def human(dice: Dice, kinds: tuple[str, ...] = ("person",)) -> Phrase:
    """Draw a particular person or group, by name or by noun: "Ana", "my brother", "these tourists"."""
    if kinds == ("person",) and dice.chance(0.35):
        return dice.pick(names())
    noun = dice.pick(of_kind(*kinds))
    many = "parent" not in noun.kinds and dice.chance(0.4)
    if {"kin", "parent"} & set(noun.kinds):
        words = ("my", "my", "your", "your", "our", "his", "her", "their")
        if "spouse" in noun.kinds:
            words = ("my", "your", "his" if noun.gender == "f" else "her")
    else:
        words = ("the", "the", "the", "these" if many else "this", "those" if many else "that")
    return noun_phrase(dice.pick(words), noun, many)


def place_phrase(place: Noun | Place, english_link: str) -> tuple[str, str]:
    """A place with an English preposition ("to", "at", or "" for none), and in Spanish without one.

    "at" means the preposition that the place requires: at home, in the park, on the island.
    """
    if isinstance(place, Place):
        words = {"to": place.to, "at": place.at, "": place.english}
        return words[english_link], place.spanish
    thing = noun_phrase("the", place)
    link = place.preposition if english_link == "at" else english_link
    return join(link, thing.english), thing.spanish


@cache
def professions() -> tuple[tuple[str, str, str], ...]:
    """All professions with both genders: English, masculine and feminine."""
    return tuple(
        (row["english"], row["masculine"], row["feminine"])
        for row in rows("people")
        if row["kinds"] == "job" and row["masculine"] and row["feminine"]
    )
