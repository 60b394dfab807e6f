"""What every `train <kind>` shares: its arguments, its presets, and the `TrainConfig` that they make."""

import tomllib
from functools import cache
from pathlib import Path

PRESETS = Path(__file__).parent / "presets.toml"


@cache  # a command works by one state of the file, even where somebody is editing it
def presets(kind: str) -> dict[str, dict]:
    """The presets of a kind of model, by name; a preset is a value for each of some arguments."""
    return tomllib.loads(PRESETS.read_text(encoding="utf-8")).get(kind, {})


def add_arguments(kind, what, base, own):
    """The arguments of `train <what>`: what is not given comes from a preset.

    base: the values that hold where neither a flag nor a preset says otherwise.
    own: the flags that this kind of model has for itself, each with its type and what it means.
    """
    length = kind.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, help=f"how long to train ({base['minutes']:g})")
    length.add_argument("--steps", type=int, help="how long to train, in steps")
    names = ", ".join(presets(what))
    kind.add_argument("--preset", help=f"settings known to work: {names}; flags go before them")
    for flag, type, about in (
        *own,
        ("batch", int, "examples in a batch"),
        ("optimizer", str, "adamw, or muon for the matrices of the blocks"),
        ("lr", float, "peak learning rate"),
        ("warmup", int, "steps of warm-up"),
        ("average", float, "decay of an average of the weights; 0: none"),
    ):
        kind.add_argument(f"--{flag}", type=type, help=f"{about} ({base[flag.replace('-', '_')]})")
    kind.add_argument("--device", help="cpu, cuda, … (a GPU where there is one)")
    kind.add_argument("--out", type=Path, help="folder of checkpoints and model (runs/…)")
    kind.add_argument("--precision", default="auto", help="auto, fp32, bf16 or fp16 (auto)")
    kind.add_argument("--compile", action="store_true", help="compile the model first")
    kind.add_argument("--checkpoint-every", type=int, default=500, help="steps between checkpoints (500)")
    kind.add_argument("--seed", type=int, default=0, help="of weights, batches and dropout (0)")
    kind.set_defaults(base=base)


def settle(args) -> None:
    """Fill in the arguments that were not given: from the preset, if one was asked for, else from the base.

    Raises ValueError for an unknown preset.
    """
    known, name = presets(args.what), getattr(args, "preset", None)
    if name is not None and name not in known:
        raise ValueError(f"there is no preset {name!r} of train {args.what}; there are {', '.join(known)}")
    values = {**args.base, **known.get(name, {})}
    if args.minutes or args.steps or values.get("steps"):
        values.pop("minutes")
    if args.minutes:
        values.pop("steps", None)
    for key, value in values.items():
        if getattr(args, key) is None:
            setattr(args, key, value)


def folder(args) -> Path:
    """Where checkpoints and model go."""
    return args.out or Path("runs") / f"{args.what}-{args.preset or args.data}"


def summary(history, counted: str) -> str:
    """How long a training took, how fast it was, and where it ended. counted: what its losses are of."""
    last = history.losses[-100:]
    speed = f"{history.tokens / history.seconds:,.0f} {counted} per second"
    return (
        f"{history.steps:,} steps in {history.seconds / 60:.2f} minutes, {speed}; "
        f"last losses {sum(last) / len(last):.3f}"
    )


def train_config(args):
    """The settings of the training, as the settled arguments say."""
    from course_lib.schedules import TrainConfig

    same = ("steps", "minutes", "optimizer", "lr", "warmup", "average", "precision", "compile", "seed")
    return TrainConfig(checkpoint_every=args.checkpoint_every, **{key: getattr(args, key) for key in same})


def is_main() -> bool:
    """Whether this process is the one that speaks and saves; the only one, but for `accelerate launch`."""
    from accelerate import Accelerator  # what knows of several processes on CPUs, too

    return Accelerator(device_placement=False).is_main_process
