"""The repository's code keeps to the style that pyproject.toml sets; and no test is skipped unseen."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.__main__ import NEEDS

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    "arguments", [("check", "--output-format=concise"), ("format", "--check", "--quiet")]
)
def test_ruff(arguments):
    command = [sys.executable, "-m", "ruff", *arguments, "--no-cache", "."]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        again = " ".join(["python -m ruff", *arguments])
        pytest.fail(f"{done.stdout[-3000:]}{done.stderr[-1000:]}\n{again}", pytrace=False)


def test_the_readme_names_every_file_of_the_library():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `([\w]+(?:\.py|\.json|/))` \|", readme, re.MULTILINE))
    library = (ROOT / "course_lib").iterdir()
    present = {f"{one.name}/" if one.is_dir() else one.name for one in library if one.name[0] not in "_."}
    assert named == present


def test_the_readme_names_every_notebook_and_command():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    notebooks = [path.stem for path in (ROOT / "notebooks").glob("*.ipynb")]
    for name in [*notebooks, *NEEDS]:
        assert re.search(rf"^\| `{name}[` ]", readme, re.MULTILINE), name


def test_a_skip_that_nobody_expects_is_a_failure(tmp_path):
    bodies = {
        "surprise": "pytest.skip('just so')",
        "absent": "pytest.importorskip('no_such_package')",
        "expected": "pytest.skip('no CUDA device')",
        "known": "pytest.xfail('known')",
        "passes": "pass",
    }
    tests = "".join(f"def test_{name}():\n    {body}\n\n" for name, body in bodies.items())
    (tmp_path / "test_one.py").write_text(f"import pytest\n\n{tests}")
    (tmp_path / "test_two.py").write_text("import pytest\n\npytest.importorskip('no_such_package')\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    real_data\n    cuda\n")
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    command = [sys.executable, "-m", "pytest", "--continue-on-collection-errors", str(tmp_path)]
    variables = {**os.environ, "COURSE_STRICT_SKIPS": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert "2 failed, 1 passed, 1 skipped, 1 xfailed, 1 error" in done.stdout
    for name in ("test_one.py::test_surprise", "test_one.py::test_absent", "test_two.py"):
        assert f"{name}: skipped where nothing may be skipped" in done.stdout
