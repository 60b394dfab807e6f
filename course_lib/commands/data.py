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
    entry, files = datasets.find_set(name), datasets.find_files(name)
    where = places(files) if files else "not on this machine; fetched when it is asked for"
    return f"{name}\n  what     {entry.about}\n  where    {where}\n  licence  {entry.licence}"


def verified(name: str) -> bool:
    """Fetch one set if need be, verify it, and say so; False where that failed."""
    try:
        entry, files = datasets.find_set(name), datasets.locate_files(name)
        how = f"verified by {entry.check(*files)}" if entry.file else "part of the course"
    except (datasets.DataSetUnavailable, OSError, ValueError) as problem:
        print(f"{name}: {problem}", file=sys.stderr)
        return False
    print(f"{name}: {how}\n  {places(files)}")
    return True


def places(files: list[Path]) -> str:
    """Where a set's file or folder lies, or its files, and how large they are together."""
    where = files if len(files) == 1 else dict.fromkeys(file.parent for file in files)
    return f"{' and '.join(map(str, where))} ({sum(map(size, files)) / 1e6:.1f} MB)"


def size(path: Path) -> int:
    """The bytes of a file, or of all files in a folder together."""
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    return sum(one.stat().st_size for one in files)
