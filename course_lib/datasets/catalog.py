"""The catalog of data sets; to add a set, add a table to catalog.toml."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from course_lib.datasets.spec import DataSet


def _entry(name: str, table: dict[str, Any]) -> DataSet:
    """A data set from its table in catalog.toml."""
    parts, each = table.pop("parts", {}), table.pop("each", {})
    members = tuple(table.pop("members", {}).items())
    whole = DataSet(name=name, members=members, **_frozen(table))
    rows = tuple(replace(whole, **_frozen(each, part), **sums) for part, sums in parts.items())
    return replace(whole, parts=rows)


def _frozen(table: dict[str, Any], part: str = "{}") -> dict[str, Any]:
    """The fields of a table, lists as tuples, with the name of a part in place of {}."""

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(map(filled, value))
        return value.replace("{}", part) if isinstance(value, str) else value

    return {field: filled(value) for field, value in table.items()}


_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_ENTRIES = tuple(_entry(name, table) for name, table in _TABLES.items())


def list_datasets() -> dict[str, DataSet]:
    """Return all data sets by name.

    >>> [name for name, entry in list_datasets().items() if entry.kind == "images"]
    ['digits', 'mnist', 'cifar10']
    """
    return {entry.name: entry for entry in _ENTRIES}


def find_set(name: str) -> DataSet:
    """Look up a data set; raises ValueError, listing the known names, if there is none of this name.

    >>> find_set("grammar").source, find_set("grammar").target
    ('English', 'Spanish')
    """
    sets = list_datasets()
    if name not in sets:
        raise ValueError(f"unknown data set {name!r}; known: {', '.join(sets)}")
    return sets[name]
