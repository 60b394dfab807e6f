"""What the browser tests need: Chromium, Playwright to drive it, axe-core to audit pages, and the site.

Standard library only.
"""

import os
import shutil
import subprocess

from course_lib.cli import environment
from course_lib.cli.requirements import SetUpError

PROGRAMS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
APT = ("apt-get", "install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core")


def find() -> str | None:
    """The path of a browser of the Chromium family, or None."""
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


def provide() -> None:
    """Install what is missing: the Python packages with pip; Chromium with apt-get, which needs root."""
    environment.provide("browser", "the packages that drive a browser")
    environment.provide("site", "the packages that build the site and the slides")
    if find() is None:
        install_chromium()
    if find() is None:
        raise SetUpError("The browser tests need Chromium. On Debian: apt install chromium")


def install_chromium() -> None:
    """Install with apt-get, if we are root on a system that has it; otherwise do nothing."""
    if not (shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0):
        return
    print("Installing Chromium with apt-get.", flush=True)
    quiet = {"stdout": subprocess.DEVNULL, "env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"}}
    subprocess.run(["apt-get", "update"], **quiet)
    subprocess.run(APT, **quiet)
