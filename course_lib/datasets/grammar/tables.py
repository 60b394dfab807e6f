"""Reading the tables of `data/`, each once. data/README.md explains every column."""

import csv
from functools import cache

from course_lib.utils.files import data_folder


@cache
def rows(table: str) -> tuple[dict[str, str], ...]:
    """The rows of `data/<table>.csv`, each as a dictionary from column name to text.

    Raises ValueError if a row does not have as many cells as the header.
    """
    path = data_folder() / f"{table}.csv"
    with open(path, encoding="utf-8", newline="") as file:
        header, *body = csv.reader(file)
    width = len(header)
    for number, line in enumerate(body, start=2):
        if len(line) != width:
            raise ValueError(f"{path.name}, line {number}: {len(line)} cells, but the header has {width}")
    return tuple(dict(zip(header, line, strict=True)) for line in body)
