"""What every `train <kind>` shares: its arguments, its presets, and the `TrainConfig` that they make."""

import tomllib
from pathlib import Path

PRESETS = Path(__file__).parent / "presets.toml"


def presets(kind: str) -> dict[str, dict]:
    """The presets of a kind of model, by name; a preset is a value for each of some arguments."""
    return tomllib.loads(PRESETS.read_text(encoding="utf-8")).get(kind, {})


def add_arguments(kind, *, minutes, lr, warmup, batch, optimizer="adamw", average=0.0, **more):
    """How long, how fast, where; the values hold where neither a flag nor a preset says otherwise.

    more: such values for the kind's own flags, whose default must be None.
    """
    length = kind.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, help=f"how long to train ({minutes:g})")
    length.add_argument("--steps", type=int, help="how long to train, in steps")
    kind.add_argument("--device", help="cpu, cuda, … (a GPU where there is one)")
    kind.add_argument("--out", type=Path, help="folder of checkpoints and model (runs/…)")
    kind.add_argument("--batch", type=int, help=f"examples in a batch ({batch})")
    kind.add_argument("--optimizer", help=f"adamw, or muon for the matrices of the blocks ({optimizer})")
    kind.add_argument("--lr", type=float, help=f"peak learning rate ({lr:g})")
    kind.add_argument("--warmup", type=int, help=f"steps of warm-up ({warmup})")
    kind.add_argument(
        "--average", type=float, help=f"decay of an average of the weights; 0: none ({average:g})"
    )
    kind.add_argument("--precision", default="auto", help="auto, fp32, bf16 or fp16 (auto)")
    kind.add_argument("--compile", action="store_true", help="compile the model first")
    kind.add_argument("--checkpoint-every", type=int, default=500, help="steps between checkpoints (500)")
    kind.add_argument("--seed", type=int, default=0, help="of weights, batches and dropout (0)")
    own = {"minutes": minutes, "lr": lr, "warmup": warmup, "batch": batch}
    kind.set_defaults(base={**own, "optimizer": optimizer, "average": average, **more})


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


def train_config(args):
    """The settings of the training, as the settled arguments say."""
    from course_lib.schedules import TrainConfig

    same = ("steps", "minutes", "optimizer", "lr", "warmup", "average", "precision", "compile", "seed")
    return TrainConfig(checkpoint_every=args.checkpoint_every, **{key: getattr(args, key) for key in same})


def is_main() -> bool:
    """Whether this process is the one that speaks and saves; the only one, but for `accelerate launch`."""
    from accelerate import PartialState

    return PartialState().is_main_process
