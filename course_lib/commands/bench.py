"""`bench`: how fast the pieces are beside `nn.Transformer` and d2l, and the widgets, on this machine."""

import argparse
import json
import sys
from functools import partial
from pathlib import Path

from course_lib.commands.requirements import ROOT
from course_lib.commands.venv import SetUpError

HELP = "measures speed against nn.Transformer and d2l, and writes the numbers to a file"
TESTS = ROOT / "tests"
SECONDS = {False: 30.0, True: 3.0}  # for one comparison; quick or not


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which rows, on what, how long, where to."""
    parser.add_argument(
        "rows",
        nargs="*",
        metavar="row",
        help="rows of the table (all of them); or `widgets` alone, the time that each widget takes to redraw",
    )
    parser.add_argument("--device", help="cpu, cuda, … (a GPU where there is one)")
    parser.add_argument("--threads", type=int, help="threads of the CPU (as torch chooses)")
    parser.add_argument(
        "--store", action="store_true", help="put single rows into the stored file, for its older ones"
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds, for a first impression")
    parser.add_argument(
        "--out",
        type=Path,
        help="JSON file for the numbers (after a full run tests/benchmarks/results/[widgets-]<machine>.json)",
    )


def run(args: argparse.Namespace) -> int:
    """Measure, print the table, write the file; 1 where that is impossible."""
    if not (TESTS / "benchmarks").is_dir():
        raise SetUpError("The benchmarks are in the course's repository; run this in a copy of it.")
    import torch

    sys.path.insert(0, str(TESTS))
    from benchmarks import machine, redraws, report, rows
    from benchmarks.timing import Plan

    device = args.device or ("cuda" if torch.cuda.is_available() else "cpu")
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise SetUpError("There is no CUDA device here: leave --device out.")
    if args.threads:
        torch.set_num_threads(args.threads)
    say = partial(print, flush=True)
    alone = args.rows == [redraws.GROUP]
    plan = Plan(device, SECONDS[args.quick], least=3 if args.quick else 5)
    try:
        result = redraws.run(plan, say) if alone else rows.run(args.rows or rows.ROWS, plan, say)
    except ValueError as problem:
        raise SetUpError(str(problem)) from None
    out = args.out
    if out is None and (args.store or ((alone or not args.rows) and not args.quick)):
        name = (redraws if alone else machine).file_name(result["machine"])
        out = TESTS / "benchmarks" / "results" / name
    if out is not None:
        if args.store and args.rows and not alone and out.exists():
            result = rows.renewed(json.loads(out.read_text(encoding="utf-8")), result)
        report.write(out, result)
        print(f"The numbers are in {out}.")
    return 0
