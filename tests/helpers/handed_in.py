"""Notebooks as students hand them in: right, wrong, unfinished, broken and hostile ones.

The exercises are those of chapter 01.
"""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from course_lib.cli.grading import student

SETUP = "import torch\nfrom course_lib.exercises import check, find"
RIGHT = "def my_temperature(scores, temperature):\n    return torch.softmax(scores / temperature, dim=-1)"
INVERTED = RIGHT.replace("scores / temperature", "scores * temperature")
STUB = "def my_temperature(scores, temperature):\n    return ..."
CHECK = 'check("01.temperature", my_temperature)'
ASLEEP = f"599.{os.getpid()}"  # seconds; nothing else on this machine sleeps for as long
FACTOR = 'my_factor = 4\ncheck("01.standard_deviation", my_factor)'

LOOK = """
import os
from pathlib import Path
told = ' '.join(sorted({*os.environ.values(), str(Path.home()), os.getcwd()}))
seen = ['instructor' in told, str(Path.home()) in os.getcwd(), Path(CLASS).exists()]
seen.append(os.path.exists(f'/proc/{GRADER}'))
seen += [os.access(place, os.W_OK) for place in (CLASS, HOME, LIBRARY)]
raise ValueError(seen)
check("01.standard_deviation", 4)
"""
HOSTILE = {"endless", "memory", "forked memory", "forks", "wild", "forges"}
HOSTILE.add("replaces builtins")  # a fork with these does not even end

CELLS = {  # by student: the cells after the setup
    "right": [RIGHT, CHECK],
    "ñandú": [RIGHT, CHECK],
    "copies": ['my_temperature = find("01.temperature").reference', CHECK],
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
    "memory": [
        RIGHT, CHECK, "kept = bytearray(10**11)",
        "import torch\nkept = []\nfor _ in range(99): kept.append(torch.empty(3 * 10**7))",
        "import seaborn", FACTOR,
    ],
    "forked memory": [
        "import os, time\nfor _ in range(8):\n    if os.fork() == 0:\n"
        "        kept = b'x' * (3 * 10**8)\n        time.sleep(600)\n"
        "time.sleep(600)",
        CHECK,
    ],
    "forks": [RIGHT, CHECK, "import os, time\nfor _ in range(7):\n    os.fork()\ntime.sleep(600)"],
    "wild": [  # looks around, leaves a daemon and deletes its own folder
        LOOK,
        "import os, shutil, sys\n"
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        f"        os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep({ASLEEP})'])\n"
        "    os._exit(0)",
        "shutil.rmtree(os.getcwd(), ignore_errors=True)",
        RIGHT, CHECK,
    ],
    "killed": [RIGHT, CHECK, "import os\nos.kill(os.getpid(), 9)", FACTOR],
    "segfault": [RIGHT, CHECK, "import ctypes\nctypes.string_at(0)", FACTOR],
    "prints": ["for _ in range(100):\n    print('x' * 10**6)", RIGHT, CHECK],
    "asks": ["name = input()", RIGHT, CHECK],
    "no setup": ["del check, torch", RIGHT, CHECK],
    "exits": [RIGHT, CHECK, "import os\nos._exit(0)", FACTOR],
    "system_exit": ["import sys\nsys.exit(1)", RIGHT, CHECK],
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


def forked(plan: dict[str, Any], chapter: str = "", seed: str = "") -> Iterator[bytes]:
    """As `running.lines`, in a fork of this process: without limits and isolation, and without imports."""
    receive, send = os.pipe()
    if (child := os.fork()) == 0:
        signal.alarm(60)  # ends it, should it hang
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(send, 1)
        os.chdir(plan["folder"])
        student.main("notebook.ipynb", chapter, seed, str(2**50), "")
        os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as file:
        yield from (b"S " + line for line in file)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    yield b"E " + json.dumps({"reason": "", "code": code, "started": True}).encode()


def write_all(folder: Path) -> None:
    """Write a class's folder: notebooks side by side, and folders of students."""
    here = {
        "CLASS": folder,
        "HOME": Path.home(),
        "LIBRARY": Path(student.__file__).parent,
        "GRADER": os.getpid(),
    }
    places = "\n".join(f"{name} = {str(place)!r}" for name, place in here.items())
    for name, cells in CELLS.items():
        cells = [places, *cells] if name == "wild" else cells
        told = {"hostile": True} if name in HOSTILE else {}
        (folder / f"{name}.ipynb").write_text(notebook(cells, **told), encoding="utf-8")
    (folder / "no_json.ipynb").write_text("{", encoding="utf-8")
    (folder / "deep.ipynb").write_text("[" * 100_000, encoding="utf-8")
    (folder / "link.ipynb").symlink_to(folder / "right.ipynb")
    with (folder / "huge.ipynb").open("wb") as file:
        file.truncate(200 * 10**6)  # a file of 200 MB that takes no room
    kernel = {"kernelspec": {"name": "no-such-kernel", "language": "python", "display_name": "none"}}
    (folder / "no_kernel.ipynb").write_text(notebook([RIGHT, CHECK], **kernel), encoding="utf-8")
    (folder / "late zip").mkdir()
    (folder / "late zip" / "answers.zip").write_bytes(b"PK")
    (folder / "script.py").write_text(RIGHT)
    (folder / "empty").mkdir()
    own = folder / "with_folder" / "week 1"
    own.mkdir(parents=True)
    (own / "my copy (2).ipynb").write_text(notebook([RIGHT, CHECK]), encoding="utf-8-sig")  # of Windows
    for name in ("course_lib.py", "usercustomize.py", "sitecustomize.py", "torch.py"):
        (own / name).write_text(SHADOW, encoding="utf-8")
    (own / ".ipynb_checkpoints").mkdir()
    (own / ".ipynb_checkpoints" / "renamed.ipynb").write_text(notebook([RIGHT, CHECK]), encoding="utf-8")
