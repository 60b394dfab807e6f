"""The tables of `data/`, read once. data/README.md explains every column."""

import csv
from functools import cache

from course_lib.files import data_folder


@cache
def rows(table: str) -> tuple[dict[str, str], ...]:
    """The lines of `data/<table>.csv`, each as a dictionary from column to text.

    Raises ValueError where a line has more or fewer cells than the heading.
    """
    path = data_folder() / f"{table}.csv"
    with open(path, encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))
    heading, body = lines[0], lines[1:]
    for number, line in enumerate(body, start=2):
        if len(line) != len(heading):
            raise ValueError(f"{path.name}, line {number}: {len(line)} cells under {len(heading)} headings")
    return tuple(dict(zip(heading, line, strict=True)) for line in body)
