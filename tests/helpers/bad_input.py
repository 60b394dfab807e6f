"""Mistakes on the command line, each with words that the answer must contain; standard library only.

In an argument, {text} is a file that is no notebook, {notebook} a good one, {folder} an empty folder, {taken}
one that holds a notebook, {read_only} a path where nothing can be made, {data} what `files()` writes.
Run as a script: makes the mistakes of PARSED, and prints the answers as JSON.
"""

import contextlib
import importlib
import io
import json
import os
import sys
from pathlib import Path

READ_ONLY = "/proc"  # holds for root, too, whom a mode of 555 would not stop
LONG = "x" * 5000
SURROGATE = "\udcff"  # what a byte that is not UTF-8 becomes in sys.argv

NOT_WHOLE = ("x", "1.5", "", "nan", "1e3", "9" * 30, "9" * 5000)
NOT_A_NUMBER = ("x", "", "nan", "inf", "1e300", "-1", "1,5")
KINDS = ("translation", "gpt", "vision", "classification")
COUNTS = {  # flags of `train` that count something, by kind; "" is every kind
    "": ("steps", "batch", "d-model", "layers", "heads", "keep"),
    "translation": ("vocab", "d-ff", "decoder-layers", "evaluate"),
    "gpt": ("vocab", "context"),
    "classification": ("vocab", "context"),
    "vision": ("image-size", "patch-size", "checkpoint-epochs", "evaluate"),
}
FROM_ZERO = {
    "": ("warmup", "checkpoint-every", "seed"),
    "translation": ("max-words",),
    "gpt": ("evaluate-every",),
}
ABOVE_ZERO = {"": ("minutes", "lr"), "vision": ("epochs",)}
FRACTIONS = {"": ("dropout", "average")} | dict.fromkeys(set(KINDS) - {"gpt"}, ("label-smoothing",))
NOT_NEGATIVE = {"": ("weight-decay",)}
NAMES = {
    "": ("preset", "optimizer", "precision", "device"),
    "translation": ("form",),
    "gpt": ("tokens", "form", "schedule"),
    "vision": ("tokenizer", "positions", "pooling", "schedule"),
    "classification": ("pooling", "schedule"),
}


def flags(table):
    """Each kind of model with each of its flags in a table; what all kinds have, once with each."""
    return [(kind, flag) for kind in KINDS for flag in (*table.get("", ()), *table.get(kind, ()))]


def each(table, *values):
    """Flag for flag with one value after the other, in turn: not all with all, which shows nothing more."""
    return [(["train", kind, f"--{flag}", value], f"--{flag}")
            for i, (kind, flag) in enumerate(flags(table))
            for value in (values[0], values[1 + i % (len(values) - 1)])]  # fmt: skip


PARSED = [  # answered before a package is imported
    *each(COUNTS, "0", "-3", *NOT_WHOLE),
    *each(FROM_ZERO, "-1", *NOT_WHOLE),
    *each(ABOVE_ZERO, "0", *NOT_A_NUMBER),
    *each(FRACTIONS, "1", *NOT_A_NUMBER),
    *each(NOT_NEGATIVE, "-1", "nan", "inf", "x"),
    *each(NAMES, "xyz", "", "ADAMW", "é", SURROGATE),
    (["train"], "translation|gpt|vision|classification"),
    (["train", "nope"], "'nope'"),
    (["train", "vision", "--nope"], "--nope"),
    (["train", "vision", "extra"], "extra"),
    (["train", "vision", "--step", "3"], "--step"),
    (["train", "vision", "--steps"], "--steps"),
    (["train", "vision", "--steps", "3", "--minutes", "1"], "--minutes"),
    (["train", "vision", "--steps", "3", "--epochs", "1"], "--epochs"),
    (["train", "vision", "--minutes", "3", "--epochs", "1"], "--epochs"),
    (["train", "vision", "--checkpoint-every", "3", "--checkpoint-epochs", "1"], "--checkpoint-epochs"),
    (["train", "vision", "--device", "cuda:x"], "cuda:x"),
    (["train", "vision", "--device", "cpu:3"], "cpu:3"),
    (["train", "vision", "--device", "meta"], "meta"),
    (["train", "gpt", "--lr", "-inf"], "--lr"),
    (["train", "gpt", "--lr=-inf"], "--lr"),
    (["train", "gpt", "--data", ""], "--data"),
    (["train", "gpt", "--out", ""], "--out"),
    (["train", "gpt", "--out", "{text}"], "{text}"),
    (["train", "gpt", "--out", "{text}/below"], "{text}"),
    (["train", "vision", "--out", LONG], "--out"),
    (["lab", "--port", "0"], "65,535"),
    (["lab", "--port", "-1"], "65,535"),
    (["lab", "--port", "65536"], "65,535"),
    (["lab", "--port", "1.5"], "1.5"),
    (["lab", "--port", ""], "--port"),
    (["lab", "--port"], "--port"),
    (["doctor", "x"], "x"),
    (["doctor", "--nope"], "--nope"),
    (["doctor", "--port", "1"], "--port"),
    (["bench", "--threads", "0"], "--threads"),
    (["bench", "--threads", "-1"], "--threads"),
    (["bench", "--threads", "x"], "--threads"),
    (["bench", "--threads", "9" * 12], "--threads"),
    (["bench", "--device", "xyz"], "xyz"),
    (["bench", "--device", ""], "--device"),
    (["bench", "--out", ""], "--out"),
    (["bench", "--out", "{folder}"], "{folder}"),
    (["bench", "--out", "{text}/x.json"], "{text}"),
    (["bench", "--nope"], "--nope"),
    (["colab", "--repo", "../.."], "../.."),
    (["colab", "--repo", "./."], "./."),
    (["colab", "--repo", "a/.."], "a/.."),
    (["colab", "--repo=-a/b"], "-a/b"),
    (["colab", "--repo", "name"], "name"),
    (["colab", "--repo", "a/b/c"], "a/b/c"),
    (["colab", "--repo", "https://gitlab.com/a/b"], "https://gitlab.com/a/b"),
    (["colab", "--repo", "a/b", "--remove"], "--remove"),
    (["colab", "--repo", "é/ü"], "owner/name"),
    (["colab", "--repo", SURROGATE], "owner/name"),
    (["colab", "--repo", ""], "--repo"),
    (["colab", "--branch", ""], "--branch"),
    (["colab", "--branch", ".."], "--branch"),
    (["colab", "--branch", "a..b"], "--branch"),
    (["colab", "--branch", "a b"], "--branch"),
    (["colab", "--branch=-x"], "--branch"),
    (["colab", "--branch", "a/.b"], "--branch"),
    (["colab", "--branch", "x.lock"], "--branch"),
    (["colab", "--branch", "main/"], "--branch"),
    (["colab", "--nope"], "--nope"),
    (["colab", "x"], "x"),
    (["leb"], "'leb'"),
    ([""], "''"),
    (["Train"], "'Train'"),
    (["--nope"], "'--nope'"),
    (["trainé"], "trainé"),
    ([SURROGATE], "There is no command"),
]

LOADED = [  # answered before anything is measured, started or written
    (["data", "nope"], "'nope'"),
    (["data", ""], "''"),
    (["data", "Grammar"], "'Grammar'"),
    (["data", "grammar", "../x"], "'../x'"),
    (["data", SURROGATE], "unknown data set"),
    (["data", "--nope"], "--nope"),
    (["lab", "--nope"], "--nope"),
    (["lab", "--porrt=8889"], "--porrt"),
    (["lab", "no_such.ipynb"], "no_such.ipynb"),
    (["colab-test", "no_such.py"], "no_such.py"),
    (["colab-test", "--nope"], "--nope"),
    (["present", "--port", "-1"], "65,535"),
    (["present", "--port", "0"], "65,535"),
    (["present", "--port", "99999"], "65,535"),
    (["present", "--port", "x"], "--port"),
    (["present", "sofmax"], "'sofmax'"),
    (["present", "99"], "'99'"),
    (["present", ""], "''"),
    (["present", SURROGATE], "neither a chapter"),
    (["present", "03", "04"], "04"),
    (["present", "--nope"], "--nope"),
    (["release"], "folder"),
    (["release", ""], "''"),
    (["release", "{read_only}/x"], "{read_only}"),
    (["release", "{text}"], "{text}"),
    (["release", "{text}/below"], "{text}"),
    (["release", "{taken}"], "contains"),
    (["release", LONG], "too long"),
    (["release", "a", "b"], "b"),
    (["grade"], "folder"),
    (["grade", ""], "''"),
    (["grade", "no_such"], "no_such does not exist"),
    (["grade", "{text}"], "not a folder"),
    (["grade", "{folder}"], "holds no hand-ins"),
    (["grade", SURROGATE], "does not exist"),
    (["grade", LONG], "does not exist"),
    (["grade", "{data}", "--to", "{text}"], "{text}"),
    (["grade", "{data}", "--to", "{read_only}/x"], "{read_only}"),
    (["grade", "{data}", "--to", ""], "--to"),
    (["grade", "{data}", "--minutes", "0"], "--minutes"),
    (["grade", "{data}", "--minutes", "nan"], "--minutes"),
    (["grade", "{data}", "--minutes", "1e9"], "--minutes"),
    (["grade", "{data}", "--memory", "0"], "--memory"),
    (["grade", "{data}", "--memory", "inf"], "--memory"),
    (["grade", "{data}", "--memory", "x"], "--memory"),
    (["grade", "{data}", "--jobs", "0"], "--jobs"),
    (["grade", "{data}", "--jobs", "-1"], "--jobs"),
    (["grade", "{data}", "--jobs", "1.5"], "--jobs"),
    (["grade", "{data}", "--jobs", "65"], "--jobs"),
    (["grade", "{data}", "--chapter", "3"], "--chapter"),
    (["grade", "{data}", "--chapter", ""], "--chapter"),
    (["grade", "{data}", "--chapter", "99"], "'99'"),
    (["grade", "{data}", "--nope"], "--nope"),
    (["grade", "{data}", "{data}"], "{data}"),
    (["slides"], "notebooks"),
    (["slides", ""], "''"),
    (["slides", "no_such.ipynb"], "no_such.ipynb"),
    (["slides", "{folder}"], "{folder}"),
    (["slides", "{text}"], "text.txt"),
    (["slides", "{data}/empty.ipynb"], "empty.ipynb"),
    (["slides", "{data}/binary.ipynb"], "binary.ipynb"),
    (["slides", "{data}/list.ipynb"], "list.ipynb"),
    (["slides", "{data}/number.ipynb"], "number.ipynb"),
    (["slides", "{data}/old.ipynb"], "old.ipynb"),
    (["slides", "{data}/no_cells.ipynb"], "no_cells.ipynb"),
    (["slides", "{data}/bad_cells.ipynb"], "bad_cells.ipynb"),
    (["slides", "{data}/deep.ipynb"], "deep.ipynb"),
    (["slides", SURROGATE], "does not exist"),
    (["slides", "{notebook}", "--to", ""], "--to"),
    (["slides", "{notebook}", "--to", "{text}"], "{text}"),
    (["slides", "{notebook}", "--to", "{text}/below"], "{text}"),
    (["slides", "{notebook}", "--to", "{read_only}/x"], "{read_only}"),
    (["slides", "{notebook}", "--to", LONG], "too long"),
    (["slides", "{notebook}", "{taken}/good.ipynb", "--to", "{folder}"], "good.ipynb"),
    (["refresh", "no_such.ipynb"], "no_such.ipynb"),
    (["refresh", ""], "''"),
    (["refresh", "{folder}"], "{folder}"),
    (["refresh", "{text}"], "text.txt"),
    (["refresh", "{data}/deep.ipynb"], "deep.ipynb"),
    (["refresh", "{data}/old.ipynb"], "old.ipynb"),
    (["refresh", "--timeout", "0"], "--timeout"),
    (["refresh", "--timeout", "-1"], "--timeout"),
    (["refresh", "--timeout", "nan"], "--timeout"),
    (["refresh", "--timeout", "1e9"], "--timeout"),
    (["bench", "nonsense"], "nonsense"),
    (["bench", "widgets", "training"], "widgets"),
    (["bench", ""], "no row"),
    (["bench", "bucketing", "--device", "cuda:99"], "cuda:99"),
    (["bench", "data", "--quick", "--out", "{read_only}/x.json"], "{read_only}"),
    (["bench", "data", "--quick", "--store", "--out", "{data}/list.ipynb"], "list.ipynb"),
    (["train", "vision", "--device", "cuda:99"], "cuda:99"),
    (["train", "vision", "--data", "nope"], "'nope'"),
    (["train", "vision", "--data", "spa-eng"], "'spa-eng'"),
    (["train", "vision", "--out", "{read_only}/x"], "{read_only}"),
    (["train", "vision", "--heads", "5"], "heads=5"),
    (["train", "vision", "--d-model", "7", "--heads", "2"], "heads=2"),
    (["train", "vision", "--patch-size", "3"], "patch_size=3"),
    (["train", "vision", "--patch-size", "99"], "patch_size=99"),
    (["train", "vision", "--batch", "999999"], "batch=999999"),
    (["train", "vision", "--augment", "crop+turn"], "'turn'"),
    (["train", "vision", "--augment", "crop++flip"], "''"),
    (["train", "vision", "--precision", "fp16", "--device", "cpu"], "fp16"),
    (["train", "vision", "--evaluate", "7", "--out", "{folder}"], "step-000007"),
    (["train", "gpt", "--data", "digits"], "'digits'"),
    (["train", "gpt", "--data", "../grammar"], "'../grammar'"),
    (["train", "gpt", "--data", SURROGATE], "unknown data set"),
    (["train", "gpt", "--heads", "3"], "heads=3"),
    (["train", "gpt", "--context", "999999", "--data", "grammar"], "999999"),
    (["train", "gpt", "--tokens", "bpe", "--vocab", "3"], "vocab=3"),
    (["train", "gpt", "--device", "cuda:99"], "cuda:99"),
    (["train", "translation", "--data", "digits"], "'digits'"),
    (["train", "translation", "--evaluate", "7", "--out", "{folder}"], "no checkpoint of step 7"),
    (["train", "translation", "--data", "nope"], "'nope'"),
    (["train", "translation", "--d-model", "127", "--heads", "2"], "d_model=127"),
    (["train", "translation", "--vocab", "3"], "vocab=3"),
    (["train", "translation", "--device", "cuda:99"], "cuda:99"),
]


def files(folder: Path) -> dict[str, str]:
    """Write what the mistakes are made with; where each of it lies, by the name in braces."""
    cell = {"cell_type": "markdown", "id": "a", "metadata": {}, "source": "# Title"}
    good = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    written = {
        "empty": "",
        "list": "[]",
        "number": "5",
        "old": json.dumps({**good, "nbformat": 3}),
        "no_cells": '{"nbformat": 4}',
        "bad_cells": json.dumps({**good, "cells": 5}),
        "deep": "[" * 100_000,
    }
    for name in ("data", "empty", "taken"):
        (folder / name).mkdir()
    for name, text in written.items():
        (folder / "data" / f"{name}.ipynb").write_text(text, encoding="utf-8")
    (folder / "data" / "binary.ipynb").write_bytes(bytes(range(256)))
    for path in (folder / "good.ipynb", folder / "taken" / "good.ipynb"):
        path.write_text(json.dumps(good), encoding="utf-8")
    (folder / "text.txt").write_text("no notebook", encoding="utf-8")
    found = {
        "text": "text.txt",
        "notebook": "good.ipynb",
        "folder": "empty",
        "taken": "taken",
        "data": "data",
    }
    return {"read_only": READ_ONLY, **{name: os.fspath(folder / path) for name, path in found.items()}}


def filled(text: str, places: dict[str, str]) -> str:
    """The text with its names in braces replaced."""
    for name, place in places.items():
        text = text.replace(f"{{{name}}}", place)
    return text


def answer(arguments: list[str]) -> dict[str, str | int]:
    """What a mistake is answered with, and the exit code; in its place what was raised."""
    from course_lib.__main__ import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(arguments)
        except SystemExit as stopped:
            code = stopped.code
        except Exception as problem:
            code = repr(problem)
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


class Accepted(Exception):
    """The parser has found no mistake."""


def accept(*_):
    raise Accepted


if __name__ == "__main__":
    from course_lib.__main__ import NEEDS
    from course_lib.cli import environment

    environment.ensure = accept
    for verb in NEEDS:
        if NEEDS[verb] is None:
            importlib.import_module(f"course_lib.cli.{verb.replace('-', '_')}").run = accept
    places = files(Path(sys.argv[1]))
    answers = [answer([filled(one, places) for one in arguments]) for arguments, _ in PARSED]
    print(json.dumps({"answers": answers, "places": places}))
