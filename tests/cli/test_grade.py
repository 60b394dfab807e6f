"""A class's notebooks are graded by what their functions return; a hostile one costs its own row only."""

import ast
import base64
import csv
import json
import math
import os
import re
import signal
import subprocess
import threading
import time
from argparse import Namespace
from pathlib import Path

import psutil
import pytest
import torch
from helpers.handed_in import ASLEEP, CELLS, forked, notebook, write_all

from course_lib import __main__ as command_line
from course_lib.cli import grade
from course_lib.cli.grading import confine, flags, handed_in, isolation, messages, report, running, student
from course_lib.exercises import catalogue
from course_lib.exercises.checking import attempt, judge
from course_lib.exercises.comparing import alike

TEMPERATURE, STANDARD_DEVIATION = "01.temperature", "01.standard_deviation"
PASSED = ["right", "copies", "retried", "magics", "system_exit", "no_kernel", "with_folder", "wild", "ñandú"]
PASSED += ["asks", "prints"]
MISTAKE = "mistake: your code multiplies by the temperature"
pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows cannot fork")


def lines(plan: dict, real=running.lines):
    """Hostile notebooks run as they do for an instructor, the others in a fork, which imports nothing."""
    text = Path(plan["folder"], "notebook.ipynb").read_text(encoding="utf-8")
    return real(plan) if '"hostile": true' in text else forked(plan)


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    """Where the results of the whole class are."""
    work, to = tmp_path_factory.mktemp("class"), tmp_path_factory.mktemp("results")
    write_all(work)
    roster = to / "roster.csv"
    roster.write_text("name,id\nRight,1\nNobody Here,2\nempty,3\n")
    before = sorted((path, path.lstat().st_size) for path in work.rglob("*"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_SECRET", "instructor")
        patch.setenv("HTTPS_PROXY", "http://instructor@proxy")
        patch.setattr(running, "lines", lines)
        command = ["grade", str(work), "--to", str(to), "--minutes", "0.1", "--memory", "2", "--jobs", "2"]
        assert command_line.main([*command, "--roster", str(roster)]) == 1  # two need the instructor
    assert sorted((path, path.lstat().st_size) for path in work.rglob("*")) == before
    return to


def table(file: Path) -> dict[str, dict[str, str]]:
    """The rows of a table, by student."""
    with file.open(encoding="utf-8-sig", newline="") as opened:
        return {row["student"]: row for row in csv.DictReader(opened)}


@pytest.fixture(scope="module")
def rows(results) -> dict[str, dict[str, str]]:
    """The rows of the grades, by student."""
    return table(results / "grades.csv")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "state", "status"),
    [
        *((name, "passed", "finished") for name in PASSED),
        ("mistaken", MISTAKE, "finished"),
        ("'=mistaken too", MISTAKE, "finished"),
        ("not_tried", "not tried", "finished"),
        ("commented_out", "not tried", "finished"),
        ("segfault", "passed", "crashed (exit code -11)"),
        ("no setup", "error: NameError: name 'check' is not defined", "finished"),
        ("exits", "passed", "crashed (exit code 0)"),
        ("killed", "passed", "crashed (exit code -9)"),
        ("endless", "passed", "time limit"),
        ("memory", "passed", "memory limit"),
        ("forked memory", "not reached", "memory limit"),
        ("late zip", "", f"needs you: no notebook, only answers.zip; {handed_in.what_to_do(['a.zip'])}"),
        ("script", "", "needs you: no notebook, only script.py; ask for the .ipynb file"),
        ("empty", "", "nothing handed in"),
        ("Nobody Here", "", "nothing handed in"),
    ],
)
def test_each_notebook_costs_its_own_row(rows, name, state, status):
    assert (rows[name][TEMPERATURE], rows[name]["status"]) == (state, status)


@pytest.mark.slow
def test_nobody_is_left_out_and_nobody_counts_twice(rows, results):
    others = {"no_json", "deep", "link", "huge", "no_kernel", "with_folder", "late zip", "script", "empty"}
    names = {report.as_text(name) for name in CELLS} | others | {"Nobody Here"}
    totals = table(results / "totals.csv")
    assert set(rows) == set(totals) == names
    assert (totals["right"]["01"], totals["right"]["passed"], totals["empty"]["passed"]) == ("1", "1", "0")
    assert rows["with_folder"]["notebook"] == "my copy (2).ipynb"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [("no_json", "JSONDecodeError"), ("deep", "RecursionError"), ("link", "a link"), ("huge", "20 MB")],
)
def test_what_cannot_be_read_is_named(rows, name, words):
    assert rows[name]["status"].startswith("unreadable") and words in rows[name]["status"]


@pytest.mark.slow
def test_the_rest_of_a_notebook_runs_after_an_error(rows):
    assert rows["syntax_error"][TEMPERATURE] == "error: SyntaxError: invalid syntax (line 1)"
    assert rows["raises"][TEMPERATURE].startswith("error: AttributeError")
    assert rows["syntax_error"][STANDARD_DEVIATION] == "passed"
    for name in ("endless", "exits", "memory", "killed"):
        assert rows[name][STANDARD_DEVIATION] == "not reached"
    assert rows["right"][STANDARD_DEVIATION] == "not tried" and rows["right"]["passed"] == "1"


@pytest.mark.slow
def test_floods_are_stopped_and_no_process_survives(rows):
    assert rows["forks"]["status"] in ("process limit", "memory limit")
    own = psutil.Process().children(recursive=True)
    assert not survivors(ASLEEP) and not [one for one in own if "grading.student" in " ".join(one.cmdline())]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["forges", "replaces check", "replaces builtins"])
def test_a_forged_result_is_not_believed(rows, name):
    assert rows[name][TEMPERATURE] != "passed" and rows[name]["passed"] == "0"
    assert rows[name]["status"] != "finished"


@pytest.mark.slow
def test_what_was_replaced_or_copied_is_named(rows):
    assert "course_lib.exercises.check" in rows["replaces check"]["status"]
    assert rows["forges"]["status"].startswith("tampered")
    assert "uses reference: my_temperature = find(" in rows["copies"]["check yourself"]
    assert not rows["right"]["check yourself"] and not rows["magics"]["check yourself"]


@pytest.mark.slow
def test_a_notebook_sees_nothing_of_the_instructor(rows):
    """Neither settings nor, where the system allows it, files and processes."""
    files = isolation.level() is isolation.Level.FILES
    settings, home, class_folder, processes, *written = ast.literal_eval(
        rows["wild"][STANDARD_DEVIATION].removeprefix("error: ValueError: ")
    )
    assert (settings, home) == (False, True)
    assert isolation.level() is isolation.Level.NONE or not processes
    assert not files or not class_folder and not any(written)


def test_files_that_not_everyone_may_read_are_covered(tmp_path):
    etc = tmp_path / "etc"
    for name, mode in {"passwd": 0o644, "shadow": 0o640, "ssh/key": 0o600, "private/key": 0o644}.items():
        (etc / name).parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        (etc / name).write_text("text")
        (etc / name).chmod(mode)
    (etc / "private").chmod(0o700)
    (etc / "link").symlink_to("shadow")
    assert sorted(confine.private(etc)) == [etc / name for name in ("private/key", "shadow", "ssh/key")]


@pytest.mark.skipif(not os.access("/etc/shadow", os.R_OK), reason="only root can read it")
def test_a_notebook_that_root_grades_does_not_see_the_passwords(tmp_path):
    if isolation.level() is not isolation.Level.FILES:
        pytest.skip("no file system of its own")
    (tmp_path / "work").mkdir()
    command = isolation.before(isolation.Level.FILES, str(tmp_path), "")
    done = subprocess.run(
        [*command, "wc", "-c", "/etc/shadow", "/etc/passwd"], capture_output=True, text=True
    )
    counted = [int(line.split()[0]) for line in done.stdout.splitlines()]
    assert counted[0] == 0 < counted[1], done


@pytest.mark.slow
def test_the_page_shows_the_mistakes_and_loads_nothing(results):
    text = (results / "grades.html").read_text(encoding="utf-8")
    tags = re.findall(r"<(\w+)([^>]*)>", text)
    assert {tag for tag, _ in tags}.isdisjoint({"script", "img", "link", "iframe"})
    assert not [more for _, more in tags if re.search(r"\b(src|href|onerror)=", re.sub('"[^"]*"', "", more))]
    assert "<td>&lt;img src=x&gt;</td>" in text  # the name of a student, as text
    row = re.search("<tr><td>01.temperature</td><td>your code multiplies by the temperature.*?</tr>", text)[0]
    _, _, _, count, who = re.findall("<td>(.*?)</td>", row)
    assert count == "2" and set(who.split(", ")) == {"mistaken", "=mistaken too"}


def survivors(words: str) -> list[psutil.Process]:
    """The processes on this machine whose command contains these words, which only this test uses."""
    every = psutil.process_iter(["cmdline"])
    return [one for one in every if words in " ".join(one.info["cmdline"] or [])]


@pytest.mark.slow
def test_an_interruption_ends_the_notebooks_as_well(tmp_path):
    command = f"[sys.executable, '-c', 'import time; time.sleep({ASLEEP}1)']"
    cell = f"import sys, subprocess\nsubprocess.run({command})"
    (tmp_path / "one.ipynb").write_text(notebook([cell, 'check("01.standard_deviation", 4)']))

    def interrupt():
        while not survivors(f"{ASLEEP}1"):
            time.sleep(0.1)
        while not ended.wait(2):  # once is enough, unless Python ignores it: in a destructor, for example
            os.kill(os.getpid(), signal.SIGINT)

    ended = threading.Event()
    waiting = threading.Thread(target=interrupt, daemon=True)
    waiting.start()
    given = {"folder": tmp_path, "to": tmp_path, "roster": None, "chapter": "", "seed": None}
    outside = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            grade.run(Namespace(**given, minutes=5.0, memory=2.0, jobs=1))
    finally:
        ended.set()
        signal.signal(signal.SIGINT, outside)
    assert not survivors(f"{ASLEEP}1") and not (tmp_path / "grades.csv").exists()


def test_only_one_chapter(tmp_path, monkeypatch):
    (tmp_path / "one.ipynb").write_text(notebook(["raise SystemExit", 'check("01.standard_deviation", 4)']))
    monkeypatch.setattr(running, "lines", lambda plan: forked(plan, chapter="02"))
    limits = running.Limits(60.0, 2 * 10**9, chapter="02")
    other = running.graded(handed_in.HandedIn("one", tmp_path / "one.ipynb"), limits)
    assert other.skipped and other.verdicts == {}


@pytest.mark.parametrize(("seed", "passes"), [(None, True), (1, False)])
def test_stored_results_pass_on_the_public_inputs_only(tmp_path, monkeypatch, seed, passes):
    stored = (
        'known = {str(pair): (pair[0] / pair[1]).softmax(-1) for pair in find("01.temperature").inputs}\n'
        "def my_temperature(*pair):\n    return known[str(pair)]"
    )
    (tmp_path / "one.ipynb").write_text(notebook([stored, 'check("01.temperature", my_temperature)']))
    monkeypatch.setattr(running, "lines", lambda plan: forked(plan, seed=str(seed or "")))
    limits = running.Limits(60.0, 2 * 10**9, seed=seed)
    one = running.graded(handed_in.HandedIn("one", tmp_path / "one.ipynb"), limits)
    assert (one.verdicts["01.temperature"].state == "passed") == passes and one.status == "finished"


def test_notebooks_are_found_below_the_folder_of_a_student(tmp_path):
    for name in ("b.ipynb", "ana/x.ipynb", "ana/deep/er/y.ipynb", "ana/.git/z.ipynb", "ana/notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "elsewhere").symlink_to(tmp_path / "ana")
    *found, link = [(one.student, one.name or one.instead) for one in handed_in.find(tmp_path)]
    assert found == [("b", "b.ipynb"), ("ana", "x.ipynb"), ("ana", "y.ipynb")]
    assert link == ("elsewhere", "needs you: a link to a folder; copy the folder here")


@pytest.mark.parametrize(
    "files",
    [
        {"ana/a.zip": "unpack", "ben/b.tar.gz": "unpack"},
        {"ana.tar.gz": "unpack", "ben.zip": "unpack"},
        {"ana.py": "ask for the .ipynb"},
        {"ana": "ask for the .ipynb", "ben.cpp": "ask for the .ipynb", ".eve.ipynb.icloud": "iCloud"},
        {"ana.ipynb.txt": "rename it to ana.ipynb"},
    ],
)
def test_a_class_without_any_notebook_gets_its_rows(tmp_path, capsys, files):
    work, to = tmp_path / "class", tmp_path / "results"
    for name in (*files, "README.md", "roster.csv"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).touch()
    assert command_line.main(["grade", str(work), "--to", str(to)]) == 1
    assert "Not taken for hand-ins: README.md, roster.csv." in capsys.readouterr().out
    rows = table(to / "grades.csv")
    expected = {re.split("[./]", name.removeprefix("."))[0]: what for name, what in files.items()}
    assert set(rows) == set(expected)
    for name, what in expected.items():
        assert rows[name]["status"].startswith("needs you") and what in rows[name]["status"]


def test_an_empty_class_is_no_class(tmp_path, capsys):
    (tmp_path / "roster.csv").touch()
    assert command_line.main(["grade", str(tmp_path), "--to", str(tmp_path)]) == 1
    assert "holds no hand-ins" in capsys.readouterr().err and not (tmp_path / "grades.csv").exists()


def test_nobody_is_lost_or_invented_in_a_folder_as_systems_leave_it(tmp_path, monkeypatch):
    needs = {"big": "NB.IPYNB", "cloud": ".01.ipynb.icloud", "link": "work.url", "phone": "01.ipynb.json"}
    nobody = ("grades.html", "grades.csv", "results/totals.csv", "__MACOSX/._a.ipynb", "class.txt")
    for name in (*map("/".join, needs.items()), *nobody, "pc/desktop.ini"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (tmp_path / "locked").mkdir()
    (tmp_path / "flat.gdoc").touch()
    listing = Path.iterdir

    def iterdir(folder):
        if folder.name == "locked":
            raise PermissionError(13, "Permission denied")
        return listing(folder)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    found = {one.student: one.name or one.instead for one in handed_in.find(tmp_path, tmp_path / "class.txt")}
    todo = {
        "cloud": "download it from iCloud",
        "link": "ask for the .ipynb file",
        "phone": "rename it to 01.ipynb",
    }
    others = {who: f"needs you: no notebook, only {needs[who]}; {todo[who]}" for who in todo}
    assert found == others | {
        "big": "NB.IPYNB",
        "flat": "needs you: no notebook, only flat.gdoc; ask for the .ipynb file",
        "locked": "needs you: the folder cannot be read (Permission denied)",
        "pc": "nothing handed in",
    }


def test_a_student_is_found_under_any_name_of_the_roster(tmp_path):
    """A folder of GitHub Classroom ends with the student's name there."""
    roster = tmp_path / "roster.csv"
    roster.write_text('identifier,github\n"Díaz, Ana",ana-d\nBen,\n\n', encoding="utf-8")
    found = [handed_in.HandedIn(name, tmp_path) for name in ("week-3-ana-d", "eve")]
    listed, strange = handed_in.with_roster(found, handed_in.read_roster(roster))
    assert [one.student for one in listed] == ["week-3-ana-d", "eve", "Ben"] and strange == ["eve"]
    roster.write_text("name\n")
    with pytest.raises(ValueError, match="roster.csv: no names"):
        handed_in.read_roster(roster)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ('check("01.scores", find("01.scores").reference)', "uses reference"),
        ('getattr(find("01.scores"), "reference")', "names 'reference'"),
        ('x = answer_or_reference("01.scores", None)', "uses answer_or_reference"),
        ('(x,) = my_pieces("01.scores")', "uses my_pieces"),
        ("from course_lib.exercises import table", "imports course_lib.exercises.table"),
        ("from course_lib.exercises import of_chapter as f", "imports course_lib.exercises.of_chapter"),
        ("from course_lib.chapters.ch03 import exercises", "imports course_lib.chapters.ch03.exercises"),
        ('import importlib as i\ni.import_module("a")', "uses import_module"),
        ('exec(open("x").read())', "runs code from text with exec"),
        ('open("../ana/01.ipynb")', "names '../ana/01.ipynb'"),
        ("!cat ~/class/ana.ipynb", "names 'cat ~/class/ana.ipynb'"),
        ('for file in Path(".").rglob("*"): pass', "uses rglob"),
        ("import course_lib.layers as a\na.attention = f", "replaces a.attention"),
        (
            "from course_lib.layers.attention import attention as a\ndef mine(q):\n    return a(q)\n"
            'check("01.scores", mine)',
            "answers with course_lib.layers.attention.attention",
        ),
    ],
)
def test_a_line_that_reaches_for_the_solutions_or_for_files_is_named(code, reason):
    found = flags.found([code], student.solution_names(["01.scores"]))
    assert reason in [why for why, _ in found]


def test_nothing_is_named_in_ordinary_code():
    code = "from course_lib.exercises import answer_or_reference, check, find, progress\nimport torch"
    more = 'model.eval()\ntorch.compile(model)\nprint("a / b", "and/or")\n%time x = 1\nself.x = 2'
    assert flags.found([code, more, "this is not Python"], {}) == []


def test_an_error_is_told_without_the_names_of_the_kernel_and_of_folders():
    error = f"invalid syntax (<ipython-input-1-0a>, line 2) in {os.getcwd()}{os.sep}a.csv"
    assert messages.plain(error) == "invalid syntax (line 2) in a.csv"


def test_every_answer_arrives_as_it_was_sent(unchecked):
    """Without the shape checks of tests, whose errors a kernel does not know."""
    wrong = [(one, bad) for one in catalogue().values() for mistake in one.mistakes for bad in mistake.wrong]
    for exercise, function in [*((one, one.reference) for one in catalogue().values()), *wrong]:
        made = attempt(exercise, function() if exercise.inputs == ((),) else function)
        line = json.dumps(messages.encoded_attempt(made)).encode()
        again = messages.decoded_attempt(messages.parsed(line), len(exercise.inputs))
        pairs = zip(made.results, again.results, strict=True)
        assert all(alike(here, there, 0.0) and here.changed == there.changed for here, there in pairs)
        assert made.state == again.state and len(line) < 2**20, exercise.id


def softmax(scores, temperature):
    return (scores / temperature).softmax(-1)


EXERCISE = catalogue()[TEMPERATURE]
WAYS = {  # answers to one exercise, the state of each, and what the verdict names
    "right": (EXERCISE.reference, "passed", ""),
    "known": (EXERCISE.mistakes[0].wrong[0], "mistake", EXERCISE.mistakes[0].name),
    "not tried": (lambda scores, temperature: ..., "not tried", ""),
    "no function": (3, "wrong", ""),
    "NaN": (lambda scores, temperature: scores * math.nan, "wrong", "NaN"),
    "shape": (lambda scores, temperature: scores[..., :1], "wrong", "shape"),
    "list": (lambda *pair: softmax(*pair).tolist(), "wrong", "tensor"),
    "NumPy": (lambda *pair: softmax(*pair).numpy(), "wrong", "tensor"),
    "2% off": (lambda *pair: 1.02 * softmax(*pair), "wrong", "expected"),
    "in place": (lambda scores, temperature: scores.div_(temperature).softmax(-1), "wrong", "in place"),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_verdict_on_an_answer_after_its_way_through_a_message(way, unchecked):
    answer, state, words = WAYS[way]
    message = json.dumps(messages.encoded_attempt(attempt(EXERCISE, answer)))
    verdict = judge(EXERCISE, messages.decoded_attempt(json.loads(message), len(EXERCISE.inputs)))
    assert verdict.state == state and words in verdict.text
    assert verdict.mistake == (words if state == "mistake" else None)


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


TENSOR = messages.encoded(torch.zeros(3, dtype=torch.int32))


def changed(**head) -> dict:
    """That tensor, with another head in front of its 12 bytes."""
    text = json.dumps({"": {"dtype": "I32", "shape": [3], "data_offsets": [0, 12]} | head}).encode()
    return {"tensor": base64.b64encode(len(text).to_bytes(8, "little") + text + bytes(12)).decode()}


@pytest.mark.parametrize(
    "value",
    [{}, {"tensor": 3}, {"tensor": "%"}, {"tensor": "AAAA"}, changed(shape=[2]), changed(shape=[-1]),
     changed(shape=3), changed(dtype="X"), changed(shape=[10**30, 0]), changed(shape=[2**40, 3]),
     changed(data_offsets=[0, 2**40]), {**TENSOR, "gradient": True}, changed() | {"gradient": 0},
     {"tuple": 3}, {"ellipsis": 1}, [[{"x": 1}]]],
    ids=str,
)  # fmt: skip
def test_a_message_that_no_check_sends_is_refused(value):
    assert messages.decoded(changed()).tolist() == [0, 0, 0]
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


def test_the_chapter_is_that_of_most_checks():
    assert student.main_chapter(["01.a", "02.a", "02.b"]) == "02" and student.main_chapter([]) == ""
    assert student.CHECKED.findall("check('A1.x', 1); recheck(1); check( \"01.y\",") == ["A1.x", "01.y"]
