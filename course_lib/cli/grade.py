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

from course_lib.cli import arguments
from course_lib.cli.grading import handed_in, report, running
from course_lib.cli.grading.running import Graded, Limits
from course_lib.exercises import catalogue
from course_lib.utils.chapters import CHAPTER
from course_lib.utils.files import atomic_path
from course_lib.utils.progress_bar import say, tracked

HELP = "grades the notebooks that students hand in: a table and a page for the class"

OPEN = (
    "This system gives notebooks no namespaces of their own: they can reach the network and your processes. "
    "Read docs/grading.md."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The notebooks, where the results go, and what each notebook may take."""
    parser.add_argument("folder", type=arguments.folder, help="notebooks, or one folder for each student")
    parser.add_argument(
        "--to",
        type=arguments.output_folder,
        default=".",
        metavar="FOLDER",
        help="where to write grades.csv and grades.html (default: here)",
    )
    parser.add_argument(
        "--chapter",
        type=arguments.matching(CHAPTER, "a chapter, such as 03, 03b or A1"),
        help="grade only the notebooks of this chapter; ignore the others",
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
    """Grade all notebooks and write both files; returns 0 whatever the grades. Raises ValueError for none."""
    known = catalogue()
    chapters = {one.partition(".")[0] for one in known}
    if args.chapter and args.chapter not in chapters:
        raise ValueError(f"there is no chapter {args.chapter!r}; there are {', '.join(sorted(chapters))}")
    found = handed_in.find(args.folder)
    if not found:
        raise ValueError(f"{args.folder} contains no notebooks: no file there ends in .ipynb")
    if not running.isolation():
        print(
            "This system gives notebooks no namespaces of their own: they see the network and your processes."
        )
    threads = max(1, (os.cpu_count() or 1) // args.jobs)
    limits = Limits(args.minutes * 60, int(args.memory * 1e9), threads, args.chapter or "")
    results = []
    with pool(args.jobs) as workers:
        done = workers.map(lambda work: running.graded(work, limits), found)
        for one in tracked(done, "grading", "notebook", total=len(found)):
            if not one.skipped:
                results.append(one)
                say(line(one))
    write(args, results)
    return 0


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
    name = report.clean(f"{one.handed_in.student}: {one.handed_in.path.name}")
    passed = sum(verdict.state == "passed" for verdict in one.verdicts.values())
    ending = "" if one.status == "finished" else f", {report.clean(one.status)}"
    return f"{name}: chapter {report.clean(one.chapter) or '?'}, {passed} passed{ending}"


def write(args: argparse.Namespace, results: list[Graded]) -> None:
    """Write grades.csv and grades.html, each at once."""
    chapters = {one.chapter for one in results}
    exercises = [one for one in catalogue().values() if one.id.partition(".")[0] in chapters]
    texts = {
        # The mark at the beginning tells spreadsheets that the file is UTF-8.
        "grades.csv": ("\ufeff" + report.as_csv(results, exercises)),
        "grades.html": report.as_page(results, exercises),
    }
    for name, text in texts.items():
        with atomic_path(args.to / name) as part:
            part.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        print(args.to / name)
