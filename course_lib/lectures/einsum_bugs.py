"""Bugs in the notes' einsum listing: eighteen lines, in the order of the listing, from einsum_bugs.toml.

Each entry is a line of `einsum_transformer` and what the notes have instead. `einsum_repair` substitutes a
line and runs the result.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Bug:
    """One incorrect line of the listing.

    where: its class (or function) in `einsum_transformer`. after: how the line before it starts.
    says: the line in the notes, formatted as here; empty if a line is missing. right: the corrected line.
    leaves: what code with this bug does. why: the consequence, and what is meant.
    """

    name: str
    where: str
    after: str
    says: str
    right: str
    leaves: str
    why: str


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
BUGS = tuple(Bug(**bug) for bug in _TABLE["bugs"])
BY_NAME = {bug.name: bug for bug in BUGS}
