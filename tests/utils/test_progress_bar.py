"""Progress bars: the expected end is the time of day when the rest is done, at the speed so far."""

import io
import time

import pytest

from course_lib.utils import progress_bar
from course_lib.utils.files import PACKAGE
from course_lib.utils.progress_bar import ProgressBar, expected_end, say, tracked


@pytest.fixture
def midnight(monkeypatch):
    """It is the first second of 1970; the names of hours depend on the time zone."""
    monkeypatch.setattr(progress_bar.time, "time", lambda: 0.0)


def clock_time(seconds: float) -> str:
    return time.strftime("%H:%M", time.localtime(seconds))


def test_the_expected_end_is_the_time_of_day_when_the_rest_is_done(midnight):
    assert expected_end(100, 400, 1200.0) == clock_time(3600)  # 12 seconds each, and 300 of them are left
    assert expected_end(400, 400, 1200.0) == clock_time(0)


def test_a_resumed_bar_knows_only_its_own_speed(midnight):
    with ProgressBar(total=400, initial=100, file=io.StringIO()) as bar:
        bar.update(50)
        bar.start_t = 0.0
        bar._time = lambda: 600.0  # tqdm's clock: 12 seconds for each of the 50
        assert bar.format_dict["postfix"] == f"until={clock_time(250 * 12)}"
        bar.set_postfix(loss="1.5")
        assert bar.format_dict["postfix"] == f"loss=1.5, until={clock_time(250 * 12)}"


@pytest.mark.parametrize(("total", "done"), [(None, 5), (10, 0)])
def test_a_bar_without_a_total_or_a_first_step_shows_no_end(total, done):
    with ProgressBar(total=total, file=io.StringIO()) as bar:
        bar.update(done)
        assert "until" not in str(bar)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_long_work_shows_a_bar_in_a_terminal_and_lines_above_it(monkeypatch, capsys):
    shown = Terminal()
    monkeypatch.setattr(progress_bar.sys, "stderr", shown)
    for item in tracked("abc", "spelling", "letter"):
        say(f"seen {item}")
    assert capsys.readouterr().out == "seen a\nseen b\nseen c\n"
    assert "spelling: 100%" in shown.getvalue() and "until=" in shown.getvalue()


def test_a_log_file_gets_the_lines_without_a_bar(capsys):
    for item in tracked(iter("ab"), "spelling", "letter", total=2):
        say(f"seen {item}")
    assert capsys.readouterr() == ("seen a\nseen b\n", "")


def test_a_log_file_gets_a_new_line_once_a_minute(monkeypatch):
    log = io.StringIO()
    with ProgressBar(total=10_000, desc="training", file=log) as bar:
        clock = [bar.start_t]
        bar._time = lambda: clock[0]
        for _ in range(10_000):
            clock[0] += 0.03  # five minutes in all
            bar.update()
    lines = log.getvalue().splitlines()
    assert 6 <= len([line for line in lines if line]) <= 8 and "\r" not in log.getvalue()
    assert all(line.startswith("training:") for line in lines if line) and "10000/10000" in log.getvalue()


def test_every_bar_of_the_library_is_this_one():
    users = [path for path in PACKAGE.rglob("*.py") if "import tqdm" in path.read_text(encoding="utf-8")]
    assert [path.name for path in users if path.name != "lint.py"] == ["progress_bar.py"]
