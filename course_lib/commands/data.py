"""`data`: which data sets there are, where they lie, and whether they are whole."""

import argparse
import sys
from pathlib import Path

from course_lib import datasets

HELP = "lists the data sets; with names, fetches and verifies them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which sets."""
    parser.add_argument("names", nargs="*", metavar="name", help="data sets to fetch and verify")


def run(args: argparse.Namespace) -> int:
    """List all sets, or fetch and verify the named ones; 1 where one of these cannot be had."""
    if not args.names:
        print("\n\n".join(described(name) for name in datasets.catalogue()))
        print("\nFetch and verify: python -m course_lib data <name> …")
        return 0
    return int(sum([not verified(name) for name in args.names]) > 0)


def described(name: str) -> str:
    """One set in a few lines: what it is, where it lies, its size and its licence."""
    entry, path = datasets.catalogue()[name], datasets.find(name)
    where = f"{path} ({size(path)})" if path else "not on this machine; fetched when it is asked for"
    return f"{name}\n  what     {entry.about}\n  where    {where}\n  licence  {entry.licence}"


def verified(name: str) -> bool:
    """Fetch one set if need be, verify it, and say so; False where that failed."""
    try:
        path = datasets.locate(name)
        entry = datasets.find_set(name)
        how = f"verified by {entry.check(path)}" if entry.file else "part of the course"
    except (datasets.DataSetUnavailable, OSError, ValueError) as problem:
        print(f"{name}: {problem}", file=sys.stderr)
        return False
    print(f"{name}: {how}\n  {path} ({size(path)})")
    return True


def size(path: Path) -> str:
    """How large a file is, or all files of a folder together."""
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    return f"{sum(one.stat().st_size for one in files) / 1e6:.1f} MB"
