"""`runs [FOLDER]`: lists the runs of `train` with their data, size and score."""

import os
from pathlib import Path

from course_lib.cli import arguments

HELP = "lists trained models: task, data, size and score"
SCORES = ("held-out, beam", "test accuracy", "test, windows", "validation, windows")  # how a line begins


def add_arguments(parser):
    """The folder that holds the runs."""
    parser.add_argument("folder", nargs="?", type=arguments.folder, default=Path("runs"), help="(runs)")


def run(args) -> int:
    """Print a line for each run below the folder."""
    locked: list[OSError] = []
    places = os.walk(args.folder, onerror=locked.append)
    folders = sorted(Path(place) for place, _, files in places if "run.json" in files)
    for problem in locked:
        print(f"{problem.filename}: cannot be read: {problem.strerror}")
    if not folders and not locked:
        print(f"There are no runs in {args.folder}; `python -m course_lib train` makes one.")
    for folder in folders:
        print(f"{folder}\n    {about(folder)}")
    return 0


def about(folder: Path) -> str:
    """What is known about a run, in one line."""
    from course_lib.tasks.runs import model_folder, task_of
    from course_lib.training import run_record
    from course_lib.training.model_folder import WEIGHTS

    try:
        record = run_record.read(folder)
        data = record["settings"].get("data", "?")
        if "result" not in record:
            return f"{data}; not finished, started on {record['started']}"
        place = model_folder(folder)
        size = (place / WEIGHTS).stat().st_size / 1e6
        lines = record["result"].splitlines()
        score = next((line for key in SCORES for line in lines if line.startswith(key)), "no score")
        return f"{task_of(place)}; {data}; {size:.1f} MB; {score}"
    except (ValueError, OSError, LookupError, TypeError, AttributeError) as error:
        return f"cannot be read: {error}"
