"""What the browser tests need: Chromium, Playwright to drive it, axe-core to judge pages.

Standard library only.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from course_lib.commands import pip
from course_lib.commands.requirements import ROOT, missing, requirements
from course_lib.commands.venv import SetUpError

PROGRAMS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
APT = ("apt-get", "install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core")


def find() -> str | None:
    """The path of a browser of the Chromium family, or None where there is none."""
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


def provide() -> None:
    """Install what is missing: the Python packages with pip; Chromium with apt-get, which asks for root.

    Raises SetUpError where that is impossible.
    """
    if missing(("browser",)):
        wanted = ["-c", str(ROOT / "constraints.txt"), *requirements(("browser",))]
        try:
            pip.install(Path(sys.executable), wanted, "what drives a browser")
        except pip.PipError as problem:
            raise SetUpError(str(problem)) from None
    if find() is None:
        install_chromium()
    if find() is None:
        raise SetUpError("The browser tests need Chromium. On Debian: apt install chromium")


def install_chromium() -> None:
    """With apt-get, where this is root on a system that has it; elsewhere nothing happens."""
    if not (shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0):
        return
    print("Installing Chromium with apt-get.", flush=True)
    quiet = {"stdout": subprocess.DEVNULL, "env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"}}
    subprocess.run(["apt-get", "update"], **quiet)
    subprocess.run(APT, **quiet)
