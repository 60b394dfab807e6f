"""What every `train <kind>` shares: arguments, the folder of a run, and how results are printed."""

import hashlib
import re
from pathlib import Path
from statistics import fmean

from course_lib.cli import arguments
from course_lib.cli.arguments import choice
from course_lib.experiments import recipes

schedule = choice(("linear", "cosine", "noam", "constant"))
ALL = arguments.MANY  # more checkpoints than any run writes


def number_or_all(text: str) -> int:
    """A number of checkpoints, or "all"."""
    return ALL if text == "all" else at_least_one(text)


at_least_one = arguments.checked(int, lambda value: 1 <= value <= ALL, "an integer from 1, or all")


def add_arguments(kind, what, own):
    """The arguments of `train <what>`: what is not given comes from a preset.

    own: the flags that this kind of model has for itself, each with its type and what it means.
    Returns the two groups of flags of which one excludes the others: how long to train, and how often a
    checkpoint is written.
    """
    base = recipes.defaults(what)
    length = kind.add_mutually_exclusive_group()
    length.add_argument(
        "--minutes", type=arguments.positive(1e6), help=f"training time, in minutes ({base['minutes']:g})"
    )
    length.add_argument("--steps", type=arguments.positive_integer, help="training length, in steps")
    names = recipes.presets(what)
    about = f"settings known to work: {', '.join(names)}; other flags override them"
    kind.add_argument("--preset", type=choice(names), help=about)
    for flag, type, about in (
        *own,
        ("batch", arguments.size, "batch size"),
        (
            "optimizer",
            choice(("adamw", "muon")),
            "adamw, or muon: for the matrices of the blocks, with adamw for the rest",
        ),
        ("lr", arguments.positive(1e30), "peak learning rate"),
        ("warmup", arguments.not_negative, "warm-up steps"),
        ("average", arguments.probability, "decay of a moving average (EMA) of the weights; 0: none"),
    ):
        kind.add_argument(f"--{flag}", type=type, help=f"{about} ({base[flag.replace('-', '_')]})")
    kind.add_argument("--device", type=arguments.device, help="cpu, cuda, … (a GPU where there is one)")
    kind.add_argument(
        "--out", type=arguments.output_folder, help="folder for checkpoints and the model (runs/…)"
    )
    kind.add_argument("--fresh", action="store_true", help="start over; an earlier run in the folder is kept")
    precision = choice(("auto", "fp32", "bf16", "fp16"))
    kind.add_argument("--precision", type=precision, default="auto", help="auto, fp32, bf16 or fp16 (auto)")
    kind.add_argument("--compile", action="store_true", help="compile the model first (torch.compile)")
    often = kind.add_mutually_exclusive_group()
    every = "steps between checkpoints (500)"
    often.add_argument("--checkpoint-every", type=arguments.not_negative, default=500, help=every)
    keep = "keep the N newest checkpoints, or all (2)"
    kind.add_argument("--keep", type=number_or_all, default=2, metavar="N|all", help=keep)
    kind.add_argument(
        "--seed", type=arguments.seed, default=0, help="random seed for weights, batches and dropout (0)"
    )
    return length, often


def settle(args) -> None:
    """Fill in the arguments that were not given: from the preset if there is one, else from the defaults."""
    for key, value in recipes.settle(args.what, args.preset, vars(args)).items():
        setattr(args, key, value)


def folder(args) -> Path:
    """Where checkpoints and model go: by default a folder named by the settings, so that each has its own.

    The name says which settings differ from the preset, and ends in a checksum of all of them.
    """
    if args.out:
        return args.out
    base = recipes.defaults(args.what)
    names = ("heads", "d_ff", "decoder_layers", "epochs", "minutes", "steps", "seed", "precision", "compile")
    settings = {key: getattr(args, key) for key in {*base, *names} if hasattr(args, key)}
    usual = {"seed": 0, "precision": "auto", "compile": False}
    usual |= base | recipes.presets(args.what).get(args.preset, {})
    if args.preset is None:
        usual["data"] = args.data  # it is in the name already
    if "steps" in usual and args.minutes is None:
        usual.pop("minutes", None)
    parts = [
        f"{key.replace('_', '-')}{re.sub(r'[^A-Za-z0-9.+]+', '-', str(value))}"
        for key, value in sorted(settings.items())
        if value is not None and value != usual.get(key)
    ]
    total = hashlib.sha256(repr(sorted(settings.items())).encode()).hexdigest()[:6]
    return Path("runs") / f"{'-'.join([args.what, args.preset or args.data, *parts])[:80]}-{total}"


def begin(args, settings: dict) -> Path | None:
    """The folder of the run, with its record; None if it has finished, and then its result is printed.

    Raises OtherRun if the folder holds a run with other settings.
    """
    import torch
    from accelerate import Accelerator, PartialState

    from course_lib.training import run_record
    from course_lib.training.precision import choose_precision

    if args.precision != "auto":  # refuse what the device cannot do before anything is written
        device = torch.device(args.device) if args.device else Accelerator(device_placement=False).device
        choose_precision(args.precision, device)
    out = folder(args)
    with PartialState().main_process_first():
        try:
            record = run_record.begin(out, settings, args.fresh) if is_main() else run_record.read(out)
        except run_record.OtherRun as problem:
            raise run_record.OtherRun(
                f"{problem}. Choose another --out, or start over with --fresh, which keeps the old run in "
                "a subfolder"
            ) from None
    if "result" in record and (out / "model").is_dir():
        print(f"finished on {record['finished']} in {out}; stored result:\n{record['result']}")
        return None
    return out


def told(lines) -> str:
    """Print each line as it comes; returns them all."""
    from course_lib.utils.progress_bar import say

    said = []
    for line in lines:
        say(line)
        said.append(line)
    return "\n".join(said)


def summary(history, counted: str) -> str:
    """How long a training run took, how fast it was, and where it ended. counted: what its losses are of."""
    last = history.losses[-100:]
    speed = f"{history.tokens / history.seconds:,.0f} {counted} per second"
    return (
        f"{history.steps:,} steps in {history.seconds / 60:.2f} minutes, {speed}; "
        f"last losses {fmean(last):.3f}"
    )


def is_main() -> bool:
    """Whether this process is the one that speaks and saves; the only one, but for `accelerate launch`."""
    from accelerate import Accelerator  # what knows of several processes on CPUs, too

    return Accelerator(device_placement=False).is_main_process
