"""`train <task>`: trains a model, evaluates it on held-out data, and saves it."""

import hashlib
import os
import re
from contextlib import nullcontext, redirect_stdout
from itertools import chain
from pathlib import Path
from statistics import fmean

from course_lib.cli import arguments
from course_lib.cli.arguments import MANY, checked, choice, not_negative, number, positive_integer, size
from course_lib.experiments import recipes
from course_lib.utils.device import best_device, require_device

HELP = "trains a model and evaluates it on held-out data"
ALL = MANY  # more checkpoints than any run writes
TOKENS = ("characters", "words", "bpe", "bytes")
TOKENIZERS = ("patches", "convolutions", "convolutional stem")  # as in course_lib.models.vit, which
POSITIONS = ("learned", "sinusoidal 2d", "none")  # needs PyTorch
POOLINGS = ("class token", "mean", "max", "flatten")

at_least_one = checked(int, lambda value: 1 <= value <= ALL, "an integer from 1, or all")


def number_or_all(text: str) -> int:
    """A number of checkpoints, or "all"."""
    return ALL if text == "all" else at_least_one(text)


FLAGS = {  # settings with a default in the presets: the type of each, and what it means
    "data": (arguments.name, "name of a data set, or a path of your own data"),
    "max-words": (not_negative, "maximum sentence length, in words; 0: no limit"),
    "tokens": (choice(TOKENS), "characters, words (between spaces), bpe, or bytes: bpe that loses nothing"),
    "vocab": (size, "most tokens in a bpe vocabulary"),
    "context": (size, "context length, in tokens"),
    "patch-size": (size, "patch size, in pixels"),
    "tokenizer": (choice(TOKENIZERS), "patches, convolutions that overlap, or convolutional stem"),
    "positions": (choice(POSITIONS), "learned, sinusoidal 2d or none"),
    "pooling": (choice(POOLINGS), "class token, mean, max or flatten"),
    "d-model": (size, "width of the hidden states"),
    "heads": (size, "attention heads"),
    "layers": (arguments.layers, "blocks, for a translator in the encoder and in the decoder"),
    "dropout": (arguments.probability, "dropout probability; helps only after several epochs"),
    "form": (None, "{}; modern: rotary positions, QK-norm, …; bert: post-norm, for `export`"),
    "augment": (str, "crop, flip, cutout, randaugment, mixup, cutmix, joined by +; empty: none"),
    "label-smoothing": (arguments.probability, "fraction of the target probability spread over all answers"),
    "schedule": (choice(("linear", "cosine", "noam", "constant")), "linear, cosine, noam or constant"),
    "weight-decay": (number(0.0, 1000.0), "weight decay, for matrices only"),
    "evaluate-every": (not_negative, "steps between evaluations; the best weights are kept; 0: none"),
    "batch": (size, "batch size"),
    "optimizer": (choice(("adamw", "muon")), "adamw, or muon: for the blocks, with adamw for the rest"),
    "lr": (arguments.positive(1e30), "peak learning rate"),
    "warmup": (not_negative, "warm-up steps"),
    "average": (arguments.probability, "decay of a moving average (EMA) of the weights; 0: none"),
}
MORE = {  # flags of single tasks whose default follows from others
    "decoder-layers": (arguments.layers, "blocks in the decoder (as --layers)"),
    "heads": (size, "attention heads (one for each 64 of d_model)"),
    "d-ff": (size, "width of the feed-forward layers (four times d_model)"),
    "image-size": (size, "side that images of your own are scaled to, in pixels (32)"),
}
EVALUATE = {  # how a checkpoint is chosen, and on what it is scored
    "translation": (number_or_all, "STEP|all", "score this checkpoint, or all, on the validation sentences"),
    "vision": (positive_integer, "STEP", "test this checkpoint"),
}
KINDS = {  # of models: what `train <kind>` does; the class of each is named in `run`
    "translation": "trains a translator from one language to another",
    "gpt": "trains a language model that continues texts",
    "vision": "trains a Vision Transformer to classify images",
    "classification": "trains an encoder to classify texts",
}


def add_arguments(parser):
    """One sub-command for each kind of model."""
    kinds = parser.add_subparsers(dest="what", required=True, metavar="|".join(KINDS))
    for name, about in KINDS.items():
        add_flags(kinds.add_parser(name, help=about, description=about, allow_abbrev=False), name)


def add_flags(kind, what):
    """The arguments of `train <what>`: what is not given comes from a preset."""
    base = recipes.defaults(what)
    length = kind.add_mutually_exclusive_group()
    minutes = f"training time, in minutes ({base['minutes']:g})"
    length.add_argument("--minutes", type=arguments.positive(1e6), help=minutes)
    length.add_argument("--steps", type=positive_integer, help="training length, in steps")
    names = recipes.presets(what)
    about = f"settings known to work: {', '.join(names)}; other flags override them"
    kind.add_argument("--preset", type=choice(names), help=about)
    for flag, (type, about) in FLAGS.items():
        if (key := flag.replace("-", "_")) in base:
            forms = recipes.FORMS.get(what, ())
            about = f"{about.format(' or '.join(forms))} ({base[key]})"
            many = {}
            if (what, flag) == ("translation", "data"):  # perhaps a file for each language
                many = {"nargs": "+", "action": arguments.OneOrMore}
            kind.add_argument(f"--{flag}", type=type or choice(forms), help=about, **many)
    for flag, (type, about) in MORE.items():
        if flag.replace("-", "_") in recipes.OWN[what]:
            kind.add_argument(f"--{flag}", type=type, help=about)
    if what in EVALUATE:
        type, metavar, about = EVALUATE[what]
        kind.add_argument("--evaluate", type=type, metavar=metavar, help=f"do not train: {about}")
    kind.add_argument("--device", type=arguments.device, help="cpu, cuda, … (a GPU where there is one)")
    about = "folder for checkpoints and the model (runs/…)"
    kind.add_argument("--out", type=arguments.output_folder, help=about)
    kind.add_argument("--fresh", action="store_true", help="start over; an earlier run in the folder is kept")
    precision = choice(("auto", "fp32", "bf16", "fp16"))
    kind.add_argument("--precision", type=precision, default="auto", help="auto, fp32, bf16 or fp16 (auto)")
    kind.add_argument("--compile", action="store_true", help="compile the model first (torch.compile)")
    often = kind.add_mutually_exclusive_group()
    every = "steps between checkpoints (500)"
    often.add_argument("--checkpoint-every", type=not_negative, default=500, help=every)
    keep = "keep the N newest checkpoints, or all (2)"
    kind.add_argument("--keep", type=number_or_all, default=2, metavar="N|all", help=keep)
    about = "random seed for weights, batches and dropout (0)"
    kind.add_argument("--seed", type=arguments.seed, default=0, help=about)
    if "epochs" in recipes.OWN[what]:
        length.add_argument("--epochs", type=arguments.positive(1e6), help="training length, in epochs")
        often.add_argument("--checkpoint-epochs", type=positive_integer, help="epochs between checkpoints")


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
    if getattr(args, "image_size", None):
        settings["image_size"] = args.image_size
    data = args.data if isinstance(args.data, str) else args.data[0]
    data = re.sub(r"[^\w.+-]+", "-", Path(data).name) or "data"
    usual = {"seed": 0, "precision": "auto", "compile": False}
    usual |= base | recipes.presets(args.what).get(args.preset, {})
    if args.preset is None:
        usual["data"] = args.data  # it is in the name already
        usual |= recipes.OWN_DATA[args.what] if recipes.is_own(args.data) else {}
    if "steps" in usual and args.minutes is None:
        usual.pop("minutes", None)
    parts = [
        f"{key.replace('_', '-')}{re.sub(r'[^A-Za-z0-9.+]+', '-', str(value))}"
        for key, value in sorted(settings.items())
        if value is not None and value != usual.get(key)
    ]
    total = hashlib.sha256(repr(sorted(settings.items())).encode()).hexdigest()[:6]
    return Path("runs") / f"{'-'.join([args.what, args.preset or data, *parts])[:80]}-{total}"


def run(args) -> int:
    """Train, or score checkpoints; returns 0. Raises ValueError for impossible settings."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as in child_environment; read when torch is loaded
    settle(args)
    require_device(args.device, "--device")
    if args.device is None and "COURSE_DEVICE" in os.environ:
        args.device = str(best_device())
    with nullcontext() if is_main() else redirect_stdout(None):
        from course_lib.cli import train_classifiers, train_tasks

        tasks = {
            "translation": train_tasks.Translation,
            "gpt": train_tasks.LanguageModel,
            "vision": train_classifiers.ImageClassification,
            "classification": train_classifiers.TextClassification,
        }
        task = tasks[args.what](args)
        if getattr(args, "evaluate", None) is not None:
            evaluate(args, task)
        elif (out := begin(args, task.settings())) is not None:
            learn(args, task, out)
    return 0


def learn(args, task, out: Path) -> None:
    """Train, measure on the held-out data, save; what was asked for and what came out is printed."""
    from course_lib.training import run_record
    from course_lib.training.trainer import train

    parameters = sum(p.numel() for p in task.objective.parameters())
    more = task.training(out)
    print(task.about())
    if recipes.is_own(args.data):
        told(task.look())
        print(f"{task.training_tokens() / parameters:.3g} training {task.unit} per parameter")
        print(expected_time(task, more["device"]))
    print(f"{parameters:,} parameters, {task.answers()}; checkpoints in {out}")
    places = {"folder": out / "checkpoints", "keep": args.keep}
    history = train(task.objective, task.batches, task.config, **places, **more)
    if not is_main():
        return
    lines = (task.progress(history), [summary(history, task.unit)], task.report())
    result = told(chain.from_iterable(lines))
    where = task.save(out)
    run_record.finish(out, result)
    print(f"The model is in {out / 'model'}{where}.")


def expected_time(task, device) -> str:
    """How long training will take, from the time of a few steps of a copy."""
    from course_lib.training.timing import seconds_per_step

    config, seconds = task.config, seconds_per_step(task.objective, task.batches, task.config, device)
    steps = config.steps or max(1, round(60 * config.minutes / seconds))
    about = f"about {seconds * steps / 60:.2g} minutes for {steps:,} steps"
    each = f"{seconds:.2g} s per step in a trial"
    return f"expected time: {about}, without evaluations and checkpoints ({each})"


def evaluate(args, task) -> None:
    """Score checkpoints of a run with these settings; several may also become a table and a picture."""
    from course_lib.training import run_record
    from course_lib.training.checkpoints import Checkpoints
    from course_lib.utils.device import best_device
    from course_lib.utils.progress_bar import tracked

    out = folder(args)
    checkpoints = Checkpoints(out / "checkpoints")
    steps = checkpoints.steps()
    if not steps or (args.evaluate != ALL and args.evaluate not in steps):
        path = checkpoints.path(args.evaluate)
        wanted = "" if args.evaluate == ALL else f" of step {args.evaluate}, {path.name},"
        raise ValueError(f"there is no checkpoint{wanted} in {out}; steps with a checkpoint: {steps}")
    run_record.check_same(out, run_record.read(out)["settings"], task.to_compare())
    model, rows = task.objective.model.to(args.device or best_device()), []
    for step in tracked(steps if args.evaluate == ALL else [args.evaluate], "scoring", "checkpoint"):
        checkpoints.load(step, model)
        rows.append({"step": step, **task.scores()})
        told(task.told_of(rows[-1]))
    if len(rows) > 1:
        task.write_scores(out, rows)


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
    speed = f"{history.tokens / history.seconds:,.0f} {counted} per second; last losses {fmean(last):.3f}"
    return f"{history.steps:,} steps in {history.seconds / 60:.2f} minutes, {speed}"


def is_main() -> bool:
    """Whether this process is the one that speaks and saves; the only one, but for `accelerate launch`."""
    from accelerate import Accelerator  # what knows of several processes on CPUs, too

    return Accelerator(device_placement=False).is_main_process
