"""The code keeps to the style of pyproject.toml; no test is skipped unseen or tests another installation."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import course_lib
from course_lib.__main__ import NEEDS

ROOT = Path(__file__).resolve().parents[1]
README, COMMANDS = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/commands.md"))
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / ".github" / "CONTRIBUTING.md"]


@pytest.mark.parametrize(
    "arguments", [("check", "--output-format=concise"), ("format", "--check", "--quiet")]
)
def test_ruff(arguments):
    command = [sys.executable, "-m", "ruff", *arguments, "--no-cache", "."]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        again = " ".join(["python -m ruff", *arguments])
        pytest.fail(f"{done.stdout[-3000:]}{done.stderr[-1000:]}\n{again}", pytrace=False)


def test_the_readme_names_every_notebook_and_is_short():
    assert [path.name for path in (ROOT / "notebooks").glob("*.ipynb") if path.name not in README] == []
    assert len(README.splitlines()) <= 110
    assert "python -m course_lib lab" in README and "python -m course_lib test" in README


def test_every_command_is_in_the_table_of_commands():
    assert [name for name in NEEDS if not re.search(rf"^\| `{name}[` ]", COMMANDS, re.MULTILINE)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_links_to_exists(page):
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)|<img src=\"([^\"]+)\"", text)
    here = [link.partition("#")[0] for pair in links for link in pair if link and "://" not in link]
    assert [link for link in here if not (page.parent / link).exists()] == []


GUIDES = [*PAGES, *(ROOT / name for name in ("data/README.md", "docs/conf.py", ".ci/run"))]
GUIDES += sorted((ROOT / ".github").rglob("*.yml"))


def test_the_commands_and_paths_that_texts_name_exist():
    wrong = []
    for file in [*GUIDES, *(ROOT / "course_lib").rglob("*.py")]:
        text = file.read_text(encoding="utf-8")
        for command, module, verb in re.findall(r"(-m (course_lib(?:\.\w+)*)(?: ([a-z][\w-]*))?)", text):
            no_verb = module == "course_lib" and verb and verb not in NEEDS
            wrong += [f"{file}: {command}"] if no_verb or not find_spec(module) else []
        # a path behind a colon is that of an earlier commit
        paths = re.findall(r"(?<![\w./:])((?:course_lib|tests|notebooks|data)/[\w./-]*\w)", text)
        wrong += [f"{file}: {path}" for path in paths if not (ROOT / path).exists()]
    assert wrong == []


def run_on(device: str, folder: Path, least: int) -> str:
    """What pytest says of the course's conftest.py and three tests, of which one uses a device."""
    used = "def test_on(device):\n    pass\n\n"
    (folder / "test_one.py").write_text(used + "def test_off():\n    assert False\n")
    (folder / "test_two.py").write_text("import no_such_package\n\n" + used)
    (folder / "test_three.py").write_text("raise NotImplementedError\n")  # not read at all
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    real_data\n")
    shutil.copy(ROOT / "tests" / "conftest.py", folder)
    more = {"COURSE_TEST_DEVICE": device, "COURSE_LEAST_TESTS": str(least), "COURSE_STRICT_SKIPS": ""}
    command = [sys.executable, "-m", "pytest", "-rs", str(folder)]
    done = subprocess.run(command, cwd=folder, env=os.environ | more, capture_output=True, text=True)
    return f"{done.stdout}exit code {done.returncode}"


def test_on_a_device_its_tests_run_and_too_few_are_a_failure(tmp_path):
    said = run_on("cpu", tmp_path, least=1)
    assert "1 passed, 1 skipped, 1 deselected" in said and "No module named 'no_such_package'" in said
    assert said.endswith("exit code 0")
    said = run_on("cpu", tmp_path, least=2)
    assert "only 1 tests passed on cpu; it must be at least 2" in said and said.endswith("exit code 1")


def test_a_skip_that_nobody_expects_is_a_failure(tmp_path):
    bodies = {
        "surprise": "pytest.skip('just so')",
        "absent": "pytest.importorskip('no_such_package')",
        "expected": "pytest.skip('COURSE_DATA is not set')",
        "known": "pytest.xfail('known')",
        "passes": "pass",
    }
    tests = "".join(f"def test_{name}():\n    {body}\n\n" for name, body in bodies.items())
    (tmp_path / "test_one.py").write_text(f"import pytest\n\n{tests}")
    (tmp_path / "test_two.py").write_text("import pytest\n\npytest.importorskip('no_such_package')\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    real_data\n")
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    command = [sys.executable, "-m", "pytest", "--continue-on-collection-errors", str(tmp_path)]
    variables = {**os.environ, "COURSE_STRICT_SKIPS": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert "2 failed, 1 passed, 1 skipped, 1 xfailed, 1 error" in done.stdout
    for name in ("test_one.py::test_surprise", "test_one.py::test_absent", "test_two.py"):
        assert f"{name}: skipped where nothing may be skipped" in done.stdout


def test_a_process_that_a_test_starts_imports_the_library_under_test(tmp_path):
    command = [sys.executable, "-c", "import course_lib; print(course_lib.__file__)"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert Path(done.stdout.strip()).samefile(course_lib.__file__), done.stderr
