"""`train <kind>`: trains a model, evaluates it on held-out data, and saves it."""

import os
from contextlib import nullcontext, redirect_stdout

from course_lib.cli import train_gpt, train_settings, train_translation, train_vision
from course_lib.utils.device import require_device

HELP = "trains a model and evaluates it on held-out data"
KINDS = {  # each with HELP, add_arguments(parser), run(args)
    "translation": train_translation,
    "gpt": train_gpt,
    "vision": train_vision,
}


def add_arguments(parser):
    """One sub-command for each kind of model."""
    kinds = parser.add_subparsers(dest="what", required=True, metavar="|".join(KINDS))
    for name, kind in KINDS.items():
        kind.add_arguments(kinds.add_parser(name, help=kind.HELP, description=kind.HELP, allow_abbrev=False))


def run(args) -> int:
    """Train; returns 0. Raises ValueError for impossible settings."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as in child_environment; read when torch is loaded
    train_settings.settle(args)
    require_device(args.device, "--device")
    with nullcontext() if train_settings.is_main() else redirect_stdout(None):
        return KINDS[args.what].run(args)
