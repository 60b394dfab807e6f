"""`grade`: the exercises in the notebooks that a class hands in.

Each notebook runs in separate processes, with limits. They only send back what the student's functions
return; this process compares that with its own references. What this protects against, and what it does not,
is in docs/grading.md.
"""

import argparse
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from course_lib.cli import arguments
from course_lib.cli.grading import handed_in, isolation, report, running
from course_lib.cli.grading.running import Graded, Limits
from course_lib.exercises import catalogue
from course_lib.utils.chapters import CHAPTER
from course_lib.utils.files import atomic_path
from course_lib.utils.progress_bar import say, tracked

HELP = "grades the notebooks that students hand in: a table and a page for the class"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The notebooks, where the results go, and what each notebook may take."""
    parser.add_argument("folder", type=arguments.folder, help="notebooks, or one folder for each student")
    parser.add_argument(
        "--to",
        type=arguments.output_folder,
        default=".",
        metavar="FOLDER",
        help="where to write grades.csv, totals.csv and grades.html (default: here)",
    )
    parser.add_argument(
        "--chapter",
        type=arguments.matching(CHAPTER, "a chapter, such as 03, 03b or A1"),
        help="grade only the notebooks of this chapter; ignore the others",
    )
    parser.add_argument(
        "--roster",
        type=arguments.file,
        metavar="FILE",
        help="the class, one student in each line, or a CSV file; each gets a row, also without a hand-in",
    )
    parser.add_argument(
        "--seed",
        type=arguments.integer(0, 2**31 - 1),
        metavar="N",
        help="judge on other inputs, drawn from N, where an exercise allows it",
    )
    parser.add_argument(
        "--minutes",
        type=arguments.positive(1440.0),
        default=15.0,
        help="time limit per notebook, in minutes (default: 15)",
    )
    parser.add_argument(
        "--memory",
        type=arguments.number(0.5, 1024.0),
        default=4.0,
        help="memory limit per notebook, in GB (default: 4)",
    )
    parser.add_argument(
        "--jobs",
        type=arguments.integer(1, 64),
        default=1,
        help="how many notebooks run at the same time (default: 1)",
    )


def run(args: argparse.Namespace) -> int:
    """Grade all notebooks; returns 1 if anyone handed in files but no notebook, and 0 whatever the grades."""
    known = catalogue()
    chapters = {one.partition(".")[0] for one in known}
    if args.chapter and args.chapter not in chapters:
        raise ValueError(f"there is no chapter {args.chapter!r}; there are {', '.join(sorted(chapters))}")
    found = handed_in.find(args.folder, args.roster)
    if not found and not args.roster:
        raise ValueError(f"{args.folder} holds no hand-ins: neither a notebook nor a folder for each student")
    notes = [isolation.WORDS[isolation.level()]] if any(one.path for one in found) else []
    own = [name for name in handed_in.left_out(args.folder) if name != getattr(args.roster, "name", "")]
    notes += [f"Not taken for hand-ins: {', '.join(own)}."] if own else []
    if args.roster:
        found, strange = handed_in.with_roster(found, handed_in.read_roster(args.roster))
        notes += [f"Not on the roster: {', '.join(strange)}."] if strange else []
    for note in notes:
        print(report.clean(note))
    threads = max(1, (os.cpu_count() or 1) // args.jobs)
    limits = Limits(
        seconds=args.minutes * 60,
        memory=int(args.memory * 1e9),
        threads=threads,
        chapter=args.chapter or "",
        hidden=str(args.folder),
        seed=args.seed,
    )
    results = []
    with pool(args.jobs) as workers:
        done = workers.map(lambda work: running.graded(work, limits), found)
        for one in tracked(done, "grading", "notebook", total=len(found)):
            if not one.skipped:
                results.append(one)
                say(line(one))
    write(args.to, results, notes)
    return int(any(one.status.startswith(handed_in.NEEDS_YOU) for one in results))


@contextmanager
def pool(jobs: int) -> Iterator[ThreadPoolExecutor]:
    """Threads; an interruption starts no further notebook and ends those that run."""
    workers = ThreadPoolExecutor(jobs)
    try:
        yield workers
    except BaseException:
        workers.shutdown(wait=False, cancel_futures=True)
        running.stop()
        raise
    finally:
        workers.shutdown(cancel_futures=True)


def line(one: Graded) -> str:
    """A notebook's result in a line for the terminal."""
    if one.handed_in.path is None:
        return report.clean(f"{one.handed_in.student}: {one.status}")
    name = report.clean(f"{one.handed_in.student}: {one.handed_in.name}")
    passed = sum(verdict.state == "passed" for verdict in one.verdicts.values())
    ending = "" if one.status == "finished" else f", {report.clean(one.status)}"
    read = f", {len(one.flags)} lines to read" if one.flags else ""
    return f"{name}: chapter {report.clean(one.chapter) or '?'}, {passed} passed{ending}{read}"


def write(folder: Path, results: list[Graded], notes: list[str]) -> None:
    """Write grades.csv, totals.csv and grades.html, each at once."""
    chapters = {one.chapter for one in results}
    exercises = [one for one in catalogue().values() if one.id.partition(".")[0] in chapters]
    mark = "\ufeff"  # tells spreadsheets that a table is UTF-8
    texts = {
        "grades.csv": mark + report.as_csv(report.grades(results, exercises)),
        "totals.csv": mark + report.as_csv(report.totals(results, exercises)),
        "grades.html": report.as_page(results, exercises, notes),
    }
    for name, text in texts.items():
        with atomic_path(folder / name) as part:
            part.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        print(folder / name)
