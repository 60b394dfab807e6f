"""Phrases in both languages at once: noun phrases, people, places, and the dice that choose between them."""

import random
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, TypeVar

from course_lib.grammar import english, spanish
from course_lib.grammar.lexicon import Adjective, Noun, Place, of_kind
from course_lib.grammar.tables import rows

Card = TypeVar("Card")
OWN = ("my", "your", "his", "our", "their")
NUMBERS = ("two", "three", "four", "five", "six", "ten")


class Dice:
    """Choices by the seed alone: they use only `Random.random`, whose stream Python keeps across versions."""

    def __init__(self, seed: int | str):
        self.roll = random.Random(seed).random

    def pick(self, cards: Sequence[Card]) -> Card:
        """One of the cards, each equally likely."""
        return cards[int(self.roll() * len(cards))]

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self.roll() < probability


class Phrase(NamedTuple):
    """A noun phrase in both languages, with the features that other words agree with.

    person: 0 I, 1 you, 2 he/she/it, 3 we, 4 they. own: the English possessive of the same person.
    Pronouns alone have an English `object` form, a Spanish one after prepositions (`strong`), and a `clitic`.
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
        """Whether adjectives take the plural."""
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
    """The words that are not empty, with one blank between them."""
    return " ".join(filter(None, words))


@cache
def determiner(word: str, gender: str, many: bool) -> str:
    """The Spanish determiner for an English one, empty for none. Raises KeyError for an unknown word."""
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
    """Noun and adjective: before the noun in English, after it in Spanish, but "un buen libro"."""
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
    """Determiner, adjective and noun, agreeing. `word` is the English determiner, "" for none, "generic" for
    a whole kind, which Spanish marks with the article: "I like cats", "me gustan los gatos"."""
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
    """The people with a name, whose gender is in the table."""
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
    """ "Ana and Pedro": masculine unless both are feminine; with "I", we."""
    gender = "f" if first.gender == second.gender == "f" else "m"
    if second.english == "I":
        return Phrase(f"{first.english} and I", f"{first.spanish} y yo", 3, "m", "our")
    return Phrase(
        f"{first.english} and {second.english}", f"{first.spanish} y {second.spanish}", 4, gender, "their"
    )


def human(dice: Dice, kinds: tuple[str, ...] = ("person",)) -> Phrase:
    """A particular person or group, by name or by noun: "Ana", "my brother", "these tourists"."""
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
    """A place after an English preposition ("to", "at", "" for none), and in Spanish without a preposition.

    "at" stands for the preposition that the place itself asks for: at home, in the park, on the island.
    """
    if isinstance(place, Place):
        words = {"to": place.to, "at": place.at, "": place.english}
        return words[english_link], place.spanish
    thing = noun_phrase("the", place)
    link = place.preposition if english_link == "at" else english_link
    return join(link, thing.english), thing.spanish


@cache
def professions() -> tuple[tuple[str, str, str], ...]:
    """English, masculine and feminine of every profession that has both."""
    return tuple(
        (row["english"], row["masculine"], row["feminine"])
        for row in rows("people")
        if row["kinds"] == "job" and row["masculine"] and row["feminine"]
    )
