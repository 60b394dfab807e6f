"""What this system lets the command do to keep a notebook away from the instructor's files and processes."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from enum import IntEnum
from functools import cache
from pathlib import Path

from course_lib.cli.environment import ROOT
from course_lib.datasets.location import CACHE_VARIABLE, DATA_VARIABLE, cache_folder, folder_in

NAMESPACES = (  # own processes, so that it sees and can kill no others; no network
    "unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc", "--net",
    "--ipc",
)  # fmt: skip
CONFINE = str(Path(__file__).with_name("confine.py"))
HOMES = ("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME", "IPYTHONDIR", "MPLCONFIGDIR")
PROBE = "import sys; sys.path.insert(0, sys.argv[1]); import course_lib.exercises"


class Level(IntEnum):
    """How far a notebook is kept away, from not at all to a separate file system."""

    NONE = 0
    PROCESSES = 1
    FILES = 2


WORDS = {
    Level.NONE: "This system gives notebooks no namespaces of their own: they could read and change all your "
    "files, what other students handed in included, reach the network, and end your processes. Nothing "
    "here could prevent that.",
    Level.PROCESSES: "This system gives notebooks no file system of their own: they could read and change "
    "all your files, what other students handed in included. Nothing here could prevent that.",
    Level.FILES: "Each notebook had its own file system, without the class folder, your home and the "
    "network.",
}


@cache
def level() -> Level:
    """What the system allows, tried out once."""
    program = shutil.which(NAMESPACES[0]) if sys.platform == "linux" else None
    with tempfile.TemporaryDirectory(prefix="grade-") as own:
        Path(own, "work").mkdir()
        for allowed in (Level.FILES, Level.PROCESSES) if program else ():
            words = [*before(allowed, own, ""), sys.executable, "-I", "-c", PROBE, str(ROOT)]
            if subprocess.run(words, capture_output=True, timeout=300).returncode == 0:
                return allowed
    return Level.NONE


def before(allowed: Level, own: str, hidden: str) -> list[str]:
    """The command in front of the student's own; a copy of the folder `own` becomes its /tmp."""
    if allowed is Level.NONE:
        return []
    if allowed is Level.PROCESSES:
        return list(NAMESPACES)
    visible = [str(ROOT / "course_lib"), sys.prefix, sys.base_prefix, *map(str, data_folders().values())]
    plan = {"own": own, "hidden": os.path.realpath(hidden or "/"), "visible": visible}
    return [*NAMESPACES, sys.executable, "-I", CONFINE, json.dumps(plan)]


def data_folders() -> dict[str, str]:
    """Where the data sets are, by the variable that says so."""
    found = {CACHE_VARIABLE: cache_folder(), DATA_VARIABLE: folder_in(DATA_VARIABLE)}
    return {name: os.path.abspath(place) for name, place in found.items() if place}


def environment(home: str, threads: int) -> dict[str, str]:
    """The student's environment variables: nothing of the instructor's but where the data sets are."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LANG") if name in os.environ}
    return {
        **kept,
        **data_folders(),
        **dict.fromkeys(HOMES, home),
        "COURSE_PROGRESS": "",
        "MPLBACKEND": "Agg",
        "OMP_NUM_THREADS": str(threads),
    }
