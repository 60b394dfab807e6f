"""`train <kind>`: a model trained from the command line, measured on held-out data, and saved."""

from contextlib import nullcontext, redirect_stdout

from course_lib.commands import train_gpt, train_settings, train_translation, train_vision

HELP = "train a model from the command line, and measure it on held-out data"
KINDS = {  # each with HELP, add_arguments(parser), run(args)
    "translation": train_translation,
    "gpt": train_gpt,
    "vision": train_vision,
}


def add_arguments(parser):
    """One sub-command for each kind of model."""
    kinds = parser.add_subparsers(dest="what", required=True, metavar="what")
    for name, kind in KINDS.items():
        kind.add_arguments(kinds.add_parser(name, help=kind.HELP, description=kind.HELP, allow_abbrev=False))


def run(args) -> int:
    """Train; 1 where that failed, with the reason printed."""
    from course_lib.datasets import BrokenArchive, DataSetUnavailable
    from course_lib.training import Diverged

    try:
        train_settings.settle(args)
        with nullcontext() if train_settings.is_main() else redirect_stdout(None):
            return KINDS[args.what].run(args)
    except (ValueError, OSError, DataSetUnavailable, BrokenArchive, Diverged) as problem:
        print(f"Not trained: {problem}")
        return 1
