"""Lexicon: the tables of `data/` as typed records, with regular forms filled in by rule."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from course_lib.datasets.grammar import english, spanish
from course_lib.datasets.grammar.tables import rows


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun in both languages; for a person, in the gender that the table gives the English noun."""

    english: str
    english_plural: str
    spanish: str
    spanish_plural: str
    gender: str
    count: str
    preposition: str
    kinds: tuple[str, ...]
    stressed_a: bool = False  # a feminine noun that takes "el": el agua


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective with its copula (ser or estar) and the kinds of nouns it can describe."""

    english: str
    comparative: str
    spanish: str
    feminine: str
    plural: str
    spanish_comparative: str
    copula: str
    graded: bool
    position: str
    kinds: tuple[str, ...]
    tone: str


@dataclass(frozen=True, eq=False)
class Verb:
    """One use of a verb: its kinds of subjects and objects, and the constructions it allows."""

    english: str
    spanish: str
    past: str
    subject: tuple[str, ...]
    object: tuple[str, ...]
    article: str
    english_link: str
    spanish_link: str
    places: tuple[str, ...]
    manner: tuple[str, ...]
    habit: str
    uses: str


@dataclass(frozen=True, eq=False)
class Place:
    """A place with a proper name, or with an idiom in English ("at home")."""

    english: str
    to: str
    at: str
    spanish: str
    kinds: tuple[str, ...]


LISTS = {"kinds", "subject", "object", "places", "manner"}


def records(table: str, kind: Callable) -> tuple:
    """The rows of a table as records; cells of list columns are split at spaces."""
    return tuple(
        kind(**{key: tuple(cell.split()) if key in LISTS else cell for key, cell in row.items()})
        for row in rows(table)
    )


def _noun(**cells) -> Noun:
    gender = cells.pop("gender")
    cells["english_plural"] = cells.pop("plural") or english.plural(cells["english"])
    cells["spanish_plural"] = cells["spanish_plural"] or spanish.plural(cells["spanish"])
    return Noun(gender=gender[0], stressed_a=gender == "f*", **cells)


def _adjective(**cells) -> Adjective:
    cells["comparative"] = cells["comparative"] or english.comparative(cells["english"])
    return Adjective(graded=cells.pop("graded") == "yes", **cells)


def person(row: dict[str, str], gender: str) -> Noun:
    """The noun in a row of people.csv, in gender "m" or "f"."""
    kinds = ["person", "man" if gender == "m" else "woman", *row["kinds"].split()]
    return _noun(
        english=row["english"],
        plural=row["plural"],
        spanish=row["masculine" if gender == "m" else "feminine"],
        spanish_plural="",
        gender=gender,
        count="count",
        preposition="",
        kinds=tuple(kinds),
    )


@cache
def people() -> tuple[Noun, ...]:
    """All nouns for people, in the gender given in the table."""
    return tuple(person(row, row["gender"]) for row in rows("people"))


@cache
def nouns() -> tuple[Noun, ...]:
    """All nouns for things and animals."""
    return records("nouns", _noun)


@cache
def adjectives() -> tuple[Adjective, ...]:
    """All adjectives."""
    return records("adjectives", _adjective)


@cache
def verbs() -> tuple[Verb, ...]:
    """All uses of verbs."""
    return records("verbs", Verb)


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
    named = tuple(place for place in records("places", Place) if set(place.kinds) & set(kinds))
    return named + tuple(noun for noun in nouns() if noun.preposition and set(noun.kinds) & set(kinds))


@cache
def describing(noun: Noun, place: str) -> tuple[Adjective, ...]:
    """Adjectives that can describe a noun: place "before" (beside the noun) or "after" (after a copula)."""
    suited = tuple(adjective for adjective in adjectives() if set(adjective.kinds) & set(noun.kinds))
    return suited if place == "after" else tuple(one for one in suited if one.position != "never")


@cache
def adverbials(kind: str) -> tuple[tuple[str, str, bool], ...]:
    """All adverbials of a kind: English, Spanish, and whether it may open a sentence."""
    return tuple(
        (row["english"], row["spanish"], row["front"] == "yes")
        for row in rows("adverbials")
        if kind in row["kinds"].split()
    )


@cache
def measure(word: str) -> Noun:
    """The noun for a measure: a glass, a kilo."""
    row = next(one for one in rows("measures") if one["english"] == word)
    return _noun(
        english=word,
        plural="",
        spanish=row["spanish"],
        spanish_plural="",
        gender=row["gender"],
        count="count",
        preposition="",
        kinds=(),
    )
