"""Lexicon: the entries of the tables of `data/`, with regular forms filled in by rule."""

from functools import cache

from course_lib.datasets.grammar import english, spanish
from course_lib.datasets.grammar.tables import rows

LISTS = {"kinds", "subject", "object", "places", "manner", "deeds"}


class Entry:
    """A row of a table; its columns are attributes, and those with several values are tuples.

    data/README.md explains the columns of each table.
    """

    def __init__(self, **cells: str):
        lists = {name: tuple(cell.split()) for name, cell in cells.items() if name in LISTS}
        self.__dict__ |= cells | lists


class Noun(Entry):
    """A noun in both languages; for a person, in the gender that the table gives the English noun."""

    count, preposition, plural, spanish_plural = "count", "", "", ""

    def __init__(self, **cells: str):
        super().__init__(**cells)
        self.plural = self.plural or english.plural(self.english)
        self.spanish_plural = self.spanish_plural or spanish.plural(self.spanish)
        self.stressed_a = self.gender == "f*"  # a feminine noun that takes "el": el agua
        self.gender = self.gender[0]


class Adjective(Entry):
    """An adjective with its copula (ser or estar) and the kinds of nouns it can describe."""

    def __init__(self, **cells: str):
        super().__init__(**cells)
        self.comparative = self.comparative or english.comparative(self.english)


class Verb(Entry):
    """One use of a verb: its kinds of subjects and objects, and the constructions it allows."""


class Place(Entry):
    """A place with a proper name, or with an idiom in English ("at home")."""


@cache
def entries(table: str, kind: type[Entry] = Entry) -> tuple:
    """All entries of a table, as objects of this class."""
    return tuple(kind(**row) for row in rows(table))


def _person(english: str, plural: str, masculine: str, feminine: str, gender: str, kinds: str) -> Noun:
    form, sex = (masculine, "man") if gender == "m" else (feminine, "woman")
    kinds = f"person {sex} {kinds}"
    return Noun(english=english, plural=plural, spanish=form, gender=gender, kinds=kinds)


@cache
def people() -> tuple[Noun, ...]:
    """All nouns for people, in the gender given in the table."""
    return tuple(_person(**row) for row in rows("people"))


def nouns() -> tuple[Noun, ...]:
    """All nouns for things and animals."""
    return entries("nouns", Noun)


def adjectives() -> tuple[Adjective, ...]:
    """All adjectives."""
    return entries("adjectives", Adjective)


def verbs() -> tuple[Verb, ...]:
    """All uses of verbs."""
    return entries("verbs", Verb)


@cache
def of_kind(*kinds: str) -> tuple[Noun, ...]:
    """All nouns of any of these kinds; raises ValueError if there are none."""
    found = tuple(noun for noun in people() + nouns() if set(noun.kinds) & set(kinds))
    if not found:
        raise ValueError(f"no noun is of kind {' or '.join(kinds)}")
    return found


@cache
def places(*kinds: str) -> tuple[Noun | Place, ...]:
    """All places of any of these kinds, by name or by noun."""
    known = *entries("places", Place), *(noun for noun in nouns() if noun.preposition)
    return tuple(place for place in known if set(place.kinds) & set(kinds))


@cache
def describing(noun: Noun) -> tuple[Adjective, ...]:
    """All adjectives that can describe a noun."""
    return tuple(adjective for adjective in adjectives() if set(adjective.kinds) & set(noun.kinds))


@cache
def adverbials(kind: str) -> tuple[tuple[str, str, bool], ...]:
    """All adverbials of a kind: English, Spanish, and whether it may open a sentence."""
    found = (one for one in entries("adverbials") if kind in one.kinds)
    return tuple((one.english, one.spanish, one.front == "yes") for one in found)


@cache
def expressions(kind: str) -> tuple[tuple[str, str], ...]:
    """All fixed expressions of a kind, in English and Spanish; the frequent ones are repeated."""
    return tuple((row["english"], row["spanish"]) for row in rows("expressions") if row["kind"] == kind)
