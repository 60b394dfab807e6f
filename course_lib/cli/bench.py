"""`bench`: the speed of the library next to `nn.Transformer` and d2l, and of the widgets, on this machine."""

import argparse
import json
from pathlib import Path
from typing import Any

from course_lib.cli import arguments
from course_lib.cli.requirements import ROOT, is_repository
from course_lib.utils.files import PACKAGE

HELP = "compares speed with nn.Transformer and d2l, and writes the numbers to a file"
RESULTS = PACKAGE / "benchmarks" / "results"
ENOUGH = ("torch", "jaxtyping", "accelerate", "tokenizers", "safetensors")  # on a given device
SECONDS = {False: 30.0, True: 3.0}  # for one comparison; quick or not


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which rows, on what, how long, where to."""
    threads = arguments.integer(1, 1024)
    parser.add_argument(
        "rows",
        nargs="*",
        metavar="row",
        help="rows of the table (default: all); or `widgets` alone: how long each widget takes to redraw",
    )
    parser.add_argument("--device", type=arguments.device, help="cpu, cuda, … (a GPU where there is one)")
    parser.add_argument("--threads", type=threads, help="CPU threads (default: PyTorch's choice)")
    parser.add_argument(
        "--store",
        action="store_true",
        help="keep each row in the stored file of this machine (of the GPU, if it is the device), as soon as "
        "it is measured; given rows replace theirs",
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds, for a quick estimate")
    parser.add_argument(
        "--out",
        type=arguments.output_file,
        help="JSON file for the results (full runs: course_lib/benchmarks/results/[widgets-]<machine>.json)",
    )


def run(args: argparse.Namespace) -> int:
    """Measure, print the table, write the file; returns 0. Raises ValueError for an unknown row."""
    import torch

    from course_lib.benchmarks import report, rows
    from course_lib.benchmarks.timing import Plan
    from course_lib.utils import machine
    from course_lib.utils.device import best_device, require_device
    from course_lib.utils.progress_bar import say

    require_device(args.device, "--device")
    device = args.device or str(best_device())
    if args.threads:
        torch.set_num_threads(args.threads)
    if alone := args.rows == [rows.GROUP]:  # needs ipywidgets, which a machine with a GPU may lack
        from course_lib.benchmarks import redraws
    seconds = SECONDS[args.quick] / (1 if device == "cpu" else 2)  # a GPU's rounds are short
    plan = Plan(device, seconds, least=3 if args.quick else 5)
    out = args.out
    if out is None and (args.store or ((alone or not args.rows) and not args.quick)):
        name = (redraws if alone else machine).file_name(machine.describe(device))
        out = RESULTS / name
    renews = args.store and args.rows and not alone and out.exists()
    stored = results(out) if renews else None

    def write(result: dict[str, Any]) -> None:
        report.write(out, rows.renewed(stored, result) if stored else result)

    at_once = write if args.store and not alone else lambda result: None
    result = redraws.run(plan, say) if alone else rows.run(args.rows or rows.ROWS, plan, say, at_once)
    if out is not None:
        write(result)
        print(f"The numbers are in {out}.")
    if args.store and out.parent == RESULTS and is_repository():
        report.show_gpus(ROOT / "docs" / "results.md", RESULTS)
    return 0


def results(path: Path) -> dict[str, Any]:
    """The stored results of a full run. Raises ValueError if the file holds something else."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if {"machine", "measured", "rows", "left_out"} <= found.keys():
            return found
    except (AttributeError, ValueError):
        pass
    raise ValueError(f"{path} holds no results of `bench` that --store could update")
