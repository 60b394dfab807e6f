"""A home folder that cannot be written, and what then takes its place. Standard library only."""

import os
import tempfile
from pathlib import Path

USED = (".jupyter", ".ipython", ".config", ".local", ".local/share", ".local/share/jupyter", "Library")
PLACES = {
    "MPLCONFIGDIR": "matplotlib",
    "IPYTHONDIR": "ipython",
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_DATA_DIR": "data",
    "JUPYTER_RUNTIME_DIR": "runtime",
}


def locked_home() -> Path | None:
    """The home folder, or a folder for settings in it, if it cannot be written; None if all can."""
    home = Path.home()
    used = [home, *(home / one for one in USED if (home / one).exists())]
    return next((one for one in used if not os.access(one, os.W_OK)), None)


def spare_home() -> str:
    """If the home folder cannot be written, use a temporary one for settings, here and in child processes.

    Returns a sentence that says so, or "".
    """
    new = {name: place for name, place in PLACES.items() if name not in os.environ}
    if not new or not (locked := locked_home()):
        return ""
    folder = Path(tempfile.mkdtemp(prefix="course_lib-"))
    for name, place in new.items():
        (folder / place).mkdir(exist_ok=True)
        os.environ[name] = str(folder / place)
    return f"{locked} cannot be written: the settings of Jupyter and matplotlib are now in {folder}."
