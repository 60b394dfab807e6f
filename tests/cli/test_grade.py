"""A class's notebooks are graded by what their functions return; a hostile one costs its own row only."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import psutil
import pytest
import torch
from helpers.handed_in import ASLEEP, CELLS, notebook, write_all

from course_lib import __main__ as command_line
from course_lib.cli.grading import handed_in, messages, report, running, student
from course_lib.exercises import Verdict, catalogue
from course_lib.exercises.checking import attempt, judge
from course_lib.exercises.comparing import alike

TEMPERATURE, STANDARD_DEVIATION = "01.temperature", "01.standard_deviation"
MISTAKE = "mistake: your code multiplies by the temperature"
pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows cannot fork")


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    """Where the results of the whole class are."""
    work, to = tmp_path_factory.mktemp("class"), tmp_path_factory.mktemp("results")
    write_all(work)
    before = sorted((path, path.lstat().st_size) for path in work.rglob("*"))
    limits = ["--minutes", "0.4", "--memory", "2", "--jobs", "2"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_SECRET", "instructor")
        assert command_line.main(["grade", str(work), "--to", str(to), *limits]) == 0
    assert sorted((path, path.lstat().st_size) for path in work.rglob("*")) == before
    return to


@pytest.fixture(scope="module")
def rows(results) -> dict[str, dict[str, str]]:
    """The rows of the table, by student."""
    with (results / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "state", "status"),
    [
        ("right", "passed", "finished"),
        ("mistaken", MISTAKE, "finished"),
        ("'=mistaken too", MISTAKE, "finished"),
        ("not_tried", "not tried", "finished"),
        ("commented_out", "not tried", "finished"),
        ("retried", "passed", "finished"),
        ("magics", "passed", "finished"),
        ("system_exit", "passed", "finished"),
        ("deletes", "passed", "finished"),
        ("no_kernel", "passed", "finished"),
        ("with_folder", "passed", "finished"),
        ("leaves a daemon", "passed", "finished"),
        ("memory", "passed", "finished"),
        ("exits", "passed", "crashed (exit code 0)"),
        ("endless", "passed", "time limit"),
        ("forked memory", "not reached", "memory limit"),
    ],
)
def test_each_notebook_costs_its_own_row(rows, name, state, status):
    assert (rows[name][TEMPERATURE], rows[name]["status"]) == (state, status)


@pytest.mark.slow
def test_nobody_is_left_out_and_nobody_counts_twice(rows):
    others = {"no_json", "deep", "link", "huge", "no_kernel", "with_folder"}
    names = {report.as_text(name) for name in CELLS} | others
    assert set(rows) == names
    assert rows["with_folder"]["notebook"] == "renamed.ipynb"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [("no_json", "JSONDecodeError"), ("deep", "RecursionError"), ("link", "a link"), ("huge", "20 MB")],
)
def test_what_cannot_be_read_is_named(rows, name, words):
    assert rows[name]["status"].startswith("unreadable") and words in rows[name]["status"]


@pytest.mark.slow
def test_the_rest_of_a_notebook_runs_after_an_error(rows):
    assert rows["syntax_error"][TEMPERATURE].startswith("error: SyntaxError")
    assert rows["raises"][TEMPERATURE].startswith("error: AttributeError")
    assert rows["syntax_error"][STANDARD_DEVIATION] == rows["memory"][STANDARD_DEVIATION] == "passed"
    assert rows["endless"][STANDARD_DEVIATION] == rows["exits"][STANDARD_DEVIATION] == "not reached"
    assert rows["right"][STANDARD_DEVIATION] == "not tried" and rows["right"]["passed"] == "1"


@pytest.mark.slow
def test_floods_are_stopped_and_no_process_survives(rows):
    assert rows["forks"]["status"] in ("process limit", "memory limit")
    # IPython keeps what a cell prints: the memory ends the process, or a MemoryError ends the cell
    assert rows["prints"]["status"] in ("time limit", "memory limit", "finished")
    alive = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    assert not [
        words for words in alive if "599.25" in " ".join(words) or "grading.student" in " ".join(words)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["forges", "replaces check", "replaces builtins"])
def test_a_forged_result_is_not_believed(rows, name):
    assert rows[name][TEMPERATURE] != "passed" and rows[name]["passed"] == "0"
    assert rows[name]["status"] != "finished"


@pytest.mark.slow
def test_what_was_replaced_is_named(rows):
    assert "course_lib.exercises.check" in rows["replaces check"]["status"]
    assert rows["forges"]["status"].startswith("tampered")


class Page(HTMLParser):
    """The tags of a page and its text."""

    def __init__(self, text: str):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.words.append(data)


@pytest.mark.slow
def test_the_page_shows_the_mistakes_and_loads_nothing(results):
    text = (results / "grades.html").read_text(encoding="utf-8")
    page = Page(text)
    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "img", "link", "iframe"})
    assert not [one for _, one in page.tags if {"src", "href", "onerror"} & set(one)]
    assert "<img src=x>" in page.words  # the name of a student, as text
    mistakes = page.words.index("your code multiplies by the temperature")
    assert "2" in page.words[mistakes : mistakes + 3]
    assert "mistaken, =mistaken too" in page.words or "=mistaken too, mistaken" in page.words


def run_one(path: Path, seconds: float = 60.0, chapter: str = "") -> running.Graded:
    return running.graded(
        handed_in.HandedIn("one", path), running.Limits(seconds, 2 * 10**9, chapter=chapter)
    )


def test_a_notebook_sees_nothing_of_the_instructor(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_SECRET", "instructor")
    monkeypatch.setenv("HTTPS_PROXY", "http://instructor@proxy")
    cell = (
        "import os\nfrom pathlib import Path\n"
        "told = ' '.join(sorted({*os.environ.values(), str(Path.home()), os.getcwd()}))\n"
        "raise ValueError('instructor' in told or str(Path.home()) not in os.getcwd())\n"
        'check("01.standard_deviation", 4)'
    )
    (tmp_path / "one.ipynb").write_text(notebook([cell]))
    assert run_one(tmp_path / "one.ipynb").raised == {STANDARD_DEVIATION: "ValueError: False"}


def survivors(words: str) -> list[str]:
    """The command lines, of all processes on this machine, that contain these words."""
    lines = (" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"]))
    return [line for line in lines if words in line]


@pytest.mark.slow
def test_an_interruption_ends_the_notebooks_as_well(tmp_path):
    mark = tmp_path / "running"
    cell = f"import sys, subprocess\nopen({str(mark)!r}, 'w').close()\n"
    cell += f"subprocess.run([sys.executable, '-c', 'import time; time.sleep({ASLEEP})'])"
    (tmp_path / "one.ipynb").write_text(notebook([cell, 'check("01.standard_deviation", 4)']))
    command = [sys.executable, "-m", "course_lib", "grade", str(tmp_path), "--to", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        while not mark.exists():
            assert process.poll() is None
            time.sleep(0.1)
        process.terminate()
        assert process.wait(timeout=60) == 128 + signal.SIGTERM
    finally:
        process.kill()
    assert not survivors(ASLEEP) and not (tmp_path / "grades.csv").exists()


def test_only_one_chapter(tmp_path):
    (tmp_path / "one.ipynb").write_text(notebook(["raise SystemExit", 'check("01.standard_deviation", 4)']))
    other = run_one(tmp_path / "one.ipynb", chapter="02")
    assert other.skipped and other.verdicts == {}


def test_notebooks_are_found_below_the_folder_of_a_student(tmp_path):
    for name in ("b.ipynb", "ana/x.ipynb", "ana/deep/er/y.ipynb", "ana/.git/z.ipynb", "ana/notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "elsewhere").symlink_to(tmp_path / "ana")
    found = [(one.student, one.path.name) for one in handed_in.find(tmp_path)]
    assert found == [("b", "b.ipynb"), ("ana", "x.ipynb"), ("ana", "y.ipynb")]


def answers() -> list:
    for exercise in catalogue().values():
        for function in (exercise.reference, *(wrong for one in exercise.mistakes for wrong in one.wrong)):
            yield exercise, function() if exercise.inputs == ((),) else function


def test_every_answer_arrives_as_it_was_sent(unchecked):
    """Without the shape checks of tests, whose errors a kernel does not know."""
    for exercise, answer in answers():
        made = attempt(exercise, answer)
        line = json.dumps(messages.encoded_attempt(made)).encode()
        again = messages.decoded_attempt(messages.parsed(line), len(exercise.inputs))
        pairs = zip(made.results, again.results, strict=True)
        assert all(alike(here, there, 0.0) and here.changed == there.changed for here, there in pairs)
        assert made.state == again.state and len(line) < 2**20, exercise.id


def test_the_verdict_on_what_arrives():
    exercise = catalogue()[TEMPERATURE]
    for function, state, name in (
        (exercise.reference, "passed", None),
        (exercise.mistakes[0].wrong[0], "mistake", exercise.mistakes[0].name),
        (lambda scores, temperature: scores, "wrong", None),
        (lambda scores, temperature: ..., "not tried", None),
        (3, "wrong", None),
    ):
        message = json.dumps(messages.encoded_attempt(attempt(exercise, function)))
        verdict = judge(exercise, messages.decoded_attempt(json.loads(message), len(exercise.inputs)))
        assert (verdict.state, verdict.mistake) == (state, name)


def kind(value: object) -> str:
    """A test's name that is the same in every process."""
    return type(value).__name__


@pytest.mark.parametrize(
    "value",
    [None, True, 3, -2.5, "text", ..., (1, [2.0, ...]), [], torch.arange(6).reshape(2, 3), torch.tensor(True),
     torch.zeros(0, 3), torch.tensor([0.5, -1.25]).bfloat16(), torch.linspace(-1, 1, 6).reshape(3, 2).T,
     torch.tensor(float("nan")), torch.ones(2, requires_grad=True), torch.ones(0, requires_grad=True)],
    ids=kind,
)  # fmt: skip
def test_a_value_survives_the_way(value):
    again = messages.decoded(json.loads(json.dumps(messages.encoded(value))))
    assert type(again) is type(value)
    if isinstance(value, torch.Tensor):
        assert again.dtype == value.dtype and again.requires_grad == value.requires_grad
        torch.testing.assert_close(again, value.contiguous(), rtol=0, atol=0, equal_nan=True)
    else:
        assert again == value


@pytest.mark.parametrize("value", [{1}, {"a": 1}, object(), 2**70, 1j, torch.eye(2).to_sparse()], ids=kind)
def test_other_values_equal_nothing(value):
    again = messages.decoded(json.loads(json.dumps(messages.encoded(value))))
    assert again != again and isinstance(again, messages.Foreign)


TENSOR = {"tensor": "float32", "shape": [1], "bytes": "AAAAAA=="}


@pytest.mark.parametrize(
    "value",
    [{}, {"tensor": "float32"}, {**TENSOR, "shape": [2]}, {**TENSOR, "shape": [-1]}, {**TENSOR, "shape": 1},
     {**TENSOR, "tensor": "quint8"}, {**TENSOR, "bytes": "%"}, {**TENSOR, "shape": [10**30, 0]},
     {**TENSOR, "shape": [True]}, {**TENSOR, "gradient": 1}, {**TENSOR, "tensor": "int32", "gradient": True},
     {"tuple": 3}, {"ellipsis": 1}, [[{"x": 1}]]],
    ids=str,
)  # fmt: skip
def test_a_message_that_no_check_sends_is_refused(value):
    message = {"state": "tried", "results": [{"value": value, "changed": False}]}
    with pytest.raises(messages.Malformed):
        messages.decoded_attempt(message, 1)


def test_an_attempt_has_one_result_for_each_input():
    assert messages.decoded_attempt({"state": "tried", "results": [TENSOR | {"changed": False}]}, 1)
    for results in ([], None, [{}], [{"value": 1}]):
        with pytest.raises(messages.Malformed):
            messages.decoded_attempt({"state": "tried", "results": results}, 1)
    for line in (b"", b"[]", b"{", b"[" * 10**5, b"9" * 5000, b"\xff"):
        with pytest.raises(messages.Malformed):
            messages.parsed(line)


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@sum", "\t=1", "\r=1"])
def test_no_cell_of_the_table_is_a_formula(cell):
    assert report.as_text(cell).startswith("'")


def test_a_cell_is_one_short_line():
    assert report.as_text("a\nb\x1b[31m\u202e") == "a b [31m "
    assert len(report.as_text("x" * 10**6)) == report.LONGEST


def test_a_passed_attempt_counts_whatever_follows():
    first, second = Verdict("passed", ""), Verdict("wrong", "")
    assert running.best([first, second]) is first and running.best([second, second]) is second


def test_the_chapter_is_that_of_most_checks():
    assert student.main_chapter(["01.a", "02.a", "02.b"]) == "02" and student.main_chapter([]) == ""
    assert student.CHECKED.findall("check('A1.x', 1); recheck(1); check( \"01.y\",") == ["A1.x", "01.y"]
