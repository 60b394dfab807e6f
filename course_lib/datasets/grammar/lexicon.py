"""Lexicon: the entries of the tables of `data/`, with regular forms filled in by rule."""

from functools import cache
from typing import TYPE_CHECKING, Any

from course_lib.datasets.grammar import english, spanish
from course_lib.datasets.grammar.tables import rows

LISTS = {"kinds", "subject", "object", "places", "manner", "deeds"}


class Entry:
    """A row of a table; its columns (see data/README.md) are attributes, and those in LISTS are tuples."""

    def __init__(self, **cells: str):
        lists = {name: tuple(cell.split()) for name, cell in cells.items() if name in LISTS}
        self.__dict__ |= cells | lists

    if TYPE_CHECKING:  # the columns differ from table to table

        def __getattr__(self, column: str) -> Any: ...


class Noun(Entry):
    """A noun in both languages; for a person, in the gender that the table gives the English noun."""

    english: str
    spanish: str
    gender: str
    kinds: tuple[str, ...]
    count, preposition, plural, spanish_plural = "count", "", "", ""

    def __init__(self, **cells: str):
        super().__init__(**cells)
        self.plural = self.plural or english.plural(self.english)
        self.spanish_plural = self.spanish_plural or spanish.plural(self.spanish)
        self.stressed_a = self.gender == "f*"  # a feminine noun that takes "el": el agua
        self.gender = self.gender[0]


class Person(Noun):
    """A noun for a person; `masculine` and `feminine` are its Spanish forms."""

    def __init__(self, **cells: str):
        own, sex = ("masculine", "man") if cells["gender"] == "m" else ("feminine", "woman")
        super().__init__(**cells | {"spanish": cells[own], "kinds": f"person {sex} {cells['kinds']}"})


class Adjective(Entry):
    """An adjective with its copula (ser or estar) and the kinds of nouns it can describe."""

    english: str
    comparative: str
    kinds: tuple[str, ...]

    def __init__(self, **cells: str):
        super().__init__(**cells)
        self.comparative = self.comparative or english.comparative(self.english)


CLASSES = {"nouns": Noun, "measures": Noun, "people": Person, "adjectives": Adjective}


@cache
def entries(table: str) -> tuple[Any, ...]:
    """All entries of a table."""
    return tuple(CLASSES.get(table, Entry)(**row) for row in rows(table))


@cache
def of_kind(tables: str, *kinds: str) -> tuple[Any, ...]:
    """All entries of these tables that are of any of these kinds; raises ValueError if there are none."""
    known = [entry for table in tables.split() for entry in entries(table)]
    found = tuple(entry for entry in known if set(entry.kinds) & set(kinds))
    if not found:
        raise ValueError(f"no entry of {tables} is of kind {' or '.join(kinds)}")
    return found


@cache
def describing(noun: Noun) -> tuple[Adjective, ...]:
    """All adjectives that can modify a noun directly: lasting qualities, and how drinks are served."""
    fitting = (one for one in entries("adjectives") if set(one.kinds) & set(noun.kinds))
    return tuple(one for one in fitting if one.position != "never")
