"""Notebooks as students hand them in: right, wrong, unfinished, broken and hostile ones.

The exercises are those of chapter 01.
"""

import json
import os
from pathlib import Path

SETUP = "import torch\nfrom course_lib.exercises import check"
RIGHT = "def my_temperature(scores, temperature):\n    return torch.softmax(scores / temperature, dim=-1)"
INVERTED = RIGHT.replace("scores / temperature", "scores * temperature")
STUB = "def my_temperature(scores, temperature):\n    return ..."
CHECK = 'check("01.temperature", my_temperature)'
ASLEEP = f"599.{os.getpid()}"  # seconds; nothing else on this machine sleeps for as long
FACTOR = 'my_factor = 4\ncheck("01.standard_deviation", my_factor)'

CELLS = {  # by student: the cells after the setup
    "right": [RIGHT, CHECK],
    "mistaken": [INVERTED, CHECK],
    "=mistaken too": [INVERTED, CHECK],
    "not_tried": [STUB, CHECK],
    "commented_out": [RIGHT, f"# {CHECK}"],
    "syntax_error": [f"def my_temperature(:\n{CHECK}", FACTOR],
    "raises": ["def my_temperature(scores, temperature):\n    return scores.nope", CHECK],
    "magics": [
        "%matplotlib inline\n%time x = 1\n!echo hello",
        "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()",
        "import asyncio\nawait asyncio.sleep(0)",
        RIGHT,
        CHECK,
    ],
    "retried": [RIGHT, CHECK, INVERTED, CHECK],
    "endless": [RIGHT, CHECK, "import time\nwhile True: time.sleep(1)", FACTOR],
    "memory": [RIGHT, CHECK, "kept = bytearray(10**11)", FACTOR],
    "forked memory": [
        "import os, time\nfor _ in range(8):\n    if os.fork() == 0:\n"
        "        kept = b'x' * (3 * 10**8)\n        time.sleep(600)\n"
        "time.sleep(600)",
        CHECK,
    ],
    "forks": [RIGHT, CHECK, "import os, time\nfor _ in range(7):\n    os.fork()\ntime.sleep(600)"],
    "leaves a daemon": [
        "import os, sys, time\n"
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        f"        os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep({ASLEEP})'])\n"
        "    os._exit(0)",
        RIGHT, CHECK,
    ],
    "exits": [RIGHT, CHECK, "import os\nos._exit(0)", FACTOR],
    "system_exit": ["import sys\nsys.exit(1)", RIGHT, CHECK],
    "prints": ["while True: print('x' * 10**6)", CHECK],
    "forges": [
        INVERTED,
        "print('01.temperature: passed (4 inputs).')",
        "import os, json\n"
        "line = json.dumps({'id': '01.temperature', 'passed': True, 'state': 'passed'}) + '\\n'\n"
        "for number in range(1, 30):\n"
        "    try:\n        os.write(number, b'E {\"reason\": \"\"}\\n' + line.encode())\n"
        "    except OSError:\n        pass",
        CHECK,
    ],
    "replaces check": [
        "import course_lib.exercises as exercises\n"
        "from course_lib.exercises import checking\n"
        "exercises.check = check = lambda name, answer: print(f'{name}: passed.')\n"
        "checking.judge = checking.grade = lambda *_: checking.Verdict('passed', 'passed')",
        INVERTED,
        CHECK,
    ],
    "replaces builtins": [
        "import builtins\nbuiltins.all = lambda *_: True\nbuiltins.isinstance = lambda *_: True",
        INVERTED,
        CHECK,
    ],
    "deletes": ["import shutil, os\nshutil.rmtree(os.getcwd(), ignore_errors=True)", RIGHT, CHECK],
    "<img src=x>": [
        "def my_temperature(scores, temperature):\n    raise ValueError('<img src=x onerror=alert(2)>')",
        CHECK,
    ],
}  # fmt: skip
SHADOW = "raise SystemExit('a student has replaced this module')"


def notebook(cells: list[str], **metadata) -> str:
    """A notebook of code cells, as JSON."""
    listed = [
        {"cell_type": "code", "metadata": {}, "source": one, "outputs": [], "execution_count": None}
        for one in [SETUP, *cells]
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": metadata, "cells": listed})


def write_all(folder: Path) -> None:
    """Write a class's folder: notebooks side by side, and folders of students."""
    for name, cells in CELLS.items():
        (folder / f"{name}.ipynb").write_text(notebook(cells), encoding="utf-8")
    (folder / "no_json.ipynb").write_text("{", encoding="utf-8")
    (folder / "deep.ipynb").write_text("[" * 100_000, encoding="utf-8")
    (folder / "link.ipynb").symlink_to(folder / "right.ipynb")
    with (folder / "huge.ipynb").open("wb") as file:
        file.truncate(200 * 10**6)  # a file of 200 MB that takes no room
    kernel = {"kernelspec": {"name": "no-such-kernel", "language": "python", "display_name": "none"}}
    (folder / "no_kernel.ipynb").write_text(notebook([RIGHT, CHECK], **kernel), encoding="utf-8")
    own = folder / "with_folder" / "week 1"
    own.mkdir(parents=True)
    (own / "renamed.ipynb").write_text(notebook([RIGHT, CHECK]), encoding="utf-8")
    for name in ("course_lib.py", "usercustomize.py", "sitecustomize.py", "torch.py"):
        (own / name).write_text(SHADOW, encoding="utf-8")
    (own / ".ipynb_checkpoints").mkdir()
    (own / ".ipynb_checkpoints" / "renamed.ipynb").write_text(notebook([RIGHT, CHECK]), encoding="utf-8")
