"""Mistakes on the command line, each with words that the answer must contain; standard library only.

In an argument, {text} is a file that is no notebook, {notebook} a good one, {folder} an empty folder, {taken}
one that holds a notebook, {read_only} a path where nothing can be made, {data} what `files()` writes; {long}
and {surrogate} are words.
Run as a script: makes the mistakes of PARSED, and prints the answers as JSON.
"""

import contextlib
import importlib
import io
import json
import os
import shlex
import sys
from pathlib import Path

READ_ONLY = "/proc"  # holds for root, too, whom a mode of 555 would not stop
WORDS = {"read_only": READ_ONLY, "long": "x" * 5000, "surrogate": "\udcff"}  # as of a byte that is not UTF-8

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


def listed(name):
    """The mistakes in a file beside this one: the words of a command and, behind =>, some of the answer."""
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    pairs = (line.split(" => ") for line in lines)
    return [(shlex.split(words), expected) for words, expected in pairs]


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
    *each(NAMES, "xyz", "", "ADAMW", "é", "{surrogate}"),
    *listed("bad_input_parsed.txt"),
]
LOADED = listed("bad_input_loaded.txt")  # answered before anything is measured, started or written


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
    found = dict(text="text.txt", notebook="good.ipynb", folder="empty", taken="taken", data="data")
    return WORDS | {name: os.fspath(folder / path) for name, path in found.items()}


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
