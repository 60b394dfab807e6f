"""nbval as the course runs it: strict, with the sanitizer."""

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

from course_lib.cli.environment import child_environment

SANITIZER = Path(__file__).parents[1] / "nbval_sanitize.cfg"


def nbval(folder: Path, variables: dict[str, str] | None = None) -> dict[str, list[bool]]:
    """Run strict nbval over the notebooks of a folder; returns for each whether its cells passed.

    variables: the environment, in place of this process's.
    """
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", f"--junitxml={report}",
               f"--nbval-sanitize-with={SANITIZER}", "-p", "no:cacheprovider", "-q", str(folder)]  # fmt: skip
    environment = {**(variables or child_environment()), "PYTEST_ADDOPTS": ""}
    ran = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8"
    )
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    results: dict[str, list[bool]] = {}
    for case in ET.parse(report).iter("testcase"):
        passed = case.find("failure") is None and case.find("error") is None and case.find("skipped") is None
        results.setdefault(case.get("classname").split(".")[0], []).append(passed)
    return results
