"""What the setup cell of every notebook does once it has found the course, and what it says if that fails.

Standard library only at import; even a Python that is too old can import it.
"""

from __future__ import annotations

import re
import sys
import traceback
from pathlib import Path

RUNTIME = "https://aka.ms/vs/17/release/vc_redist.x64.exe"
MODULES = {"ipython": "IPython", "scikit-learn": "sklearn"}  # of packages whose module has another name


def start() -> None:
    """Set the style of figures and print the device of this kernel.

    Raises RuntimeError, saying what to do, in a Python that is too old or lacks packages of the course.
    """
    if sys.version_info < (3, 11):  # noqa: UP036 - a notebook's kernel may be any Python
        raise RuntimeError(f"The course needs Python 3.11 or newer; {here()}")
    try:
        from course_lib.utils.device import device_summary
        from course_lib.utils.home import spare_home
        from course_lib.viz import use_style

        spare_home()
        use_style()
        print(device_summary())
    except Exception as problem:  # a broken installation can raise anything
        if not (known := explanation(problem)):
            raise
        raise RuntimeError(f"{problem}\n{known}") from None


def here() -> str:
    """Which Python this is, and how to get another one."""
    root = Path(__file__).resolve().parents[2]
    return (
        f"this is {sys.version.split()[0]}, {sys.executable}. Choose the kernel of {root / '.venv'}, "
        f"which `python -m course_lib lab` makes in {root}, or open the notebook with that command."
    )


def explanation(problem: BaseException) -> str | None:
    """Why packages do not load, if the cause is known, and what to do about it."""
    from course_lib.cli.requirements import missing

    if file := shadow(problem):
        return f"{file} takes the place of a package with this name: rename it, then restart."
    if re.search(r"WinError (126|1114)|DLL load failed|c10\.dll", str(problem)):
        return f"PyTorch needs the Microsoft Visual C++ runtime: install {RUNTIME}, then restart."
    if isinstance(problem, ImportError) and (lacking := missing()):
        return f"This Python lacks {', '.join(lacking)}; {here()}"
    return None


def shadow(problem: BaseException) -> Path | None:
    """A file in this folder that Python has imported in place of a package or of one of its own modules."""
    from course_lib.cli.requirements import requirements

    packages = {one.partition(">=")[0] for one in requirements()}
    taken = {MODULES.get(name, name) for name in packages} | sys.stdlib_module_names
    loaded = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    loaded |= {frame.filename for frame in traceback.extract_tb(problem.__traceback__)}
    files = (Path.cwd() / f"{name}.py" for name in sorted(taken))
    return next((file for file in files if str(file) in loaded), None)
