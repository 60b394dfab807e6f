"""`data`: the available data sets, where they are stored, and whether they are intact."""

import argparse
import sys
from pathlib import Path

from course_lib import datasets

HELP = "lists the data sets; with names, downloads and verifies them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="name", help="data sets to download and verify")


def run(args: argparse.Namespace) -> int:
    """List all sets, or fetch and verify the named ones; returns 1 if one is unavailable."""
    if not args.names:
        print("\n\n".join(described(name) for name in datasets.list_datasets()))
        print("\nTo download and verify: python -m course_lib data <name> …")
        return 0
    return int(not all([verified(name) for name in args.names]))


def described(name: str) -> str:
    """One set in a few lines: what it is, where it lies, its size and its license."""
    entry, files = datasets.find_set(name), datasets.find_files(name)
    where = places(files) if files else "not on this machine; downloaded when needed"
    return f"{name}\n  what     {entry.about}\n  where    {where}\n  license  {entry.license}"


def verified(name: str) -> bool:
    """Fetch one set if necessary, verify it, and report; False if that failed."""
    try:
        entry, files = datasets.find_set(name), datasets.locate_files(name)
        how = f"verified by {entry.check(*files)}" if entry.file else "part of the course"
    except (datasets.DataSetUnavailable, OSError, ValueError) as problem:
        print(f"{name}: {problem}", file=sys.stderr)
        return False
    print(f"{name}: {how}\n  {places(files)}")
    return True


def places(files: list[Path]) -> str:
    """The folder or files of a set, and their total size."""
    where = files if len(files) == 1 else dict.fromkeys(file.parent for file in files)
    inside = (one for file in files for one in (file, *file.rglob("*")) if one.is_file())
    megabytes = sum(one.stat().st_size for one in inside) / 1e6
    return f"{' and '.join(map(str, where))} ({megabytes:.1f} MB)"
