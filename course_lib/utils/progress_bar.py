"""Progress bars for long work, with the time of day at which it will be over."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from tqdm.auto import tqdm

Item = TypeVar("Item")
IN_NOTEBOOK = any("notebook" in kind.__module__ for kind in tqdm.__mro__)  # its bars are widgets there


def expected_end(done: int, total: int, seconds: float) -> str:
    """The time of day, such as 14:05, at which all is done, if so much was done in so many seconds."""
    left = (total - done) * seconds / done
    return time.strftime("%H:%M", time.localtime(time.time() + left))


class ProgressBar(tqdm):
    """tqdm's progress bar, in a terminal or a notebook, followed by `until=` and the expected end.

    The expected end is the one at the mean speed since the bar began: unlike a mean over the last steps, it
    allows for the pauses between them, such as evaluations. The bar shows it as soon as the total is known.
    Where there is neither a terminal nor a notebook, such as in a log file, it is a new line once a minute.
    """

    def __init__(self, *items: Any, **options: Any):
        file = options.get("file") or sys.stderr
        self.in_log = not IN_NOTEBOOK and not file.isatty()
        super().__init__(*items, **({"mininterval": 60, "maxinterval": 60} if self.in_log else {}) | options)

    def display(self, *text: Any, **more: Any) -> Any:
        """Draw the bar."""
        return print(self, file=self.fp, flush=True) if self.in_log else super().display(*text, **more)

    def clear(self, *now: Any, **more: Any) -> None:
        """Erase the bar, for a line above it; there is no need for that in a log."""
        if not self.in_log:
            super().clear(*now, **more)

    @property
    def format_dict(self) -> dict[str, Any]:
        """What the bar shows."""
        shown = super().format_dict
        done = self.n - self.initial
        if self.total and done > 0:
            end = expected_end(done, self.total - self.initial, shown["elapsed"])
            shown["postfix"] = ", ".join(filter(None, [shown["postfix"], f"until={end}"]))
        return shown


def tracked(items: Iterable[Item], what: str, unit: str, total: int | None = None) -> Iterator[Item]:
    """The items one by one, with a progress bar if this is a terminal; print with `say` meanwhile.

    what: the name of the work. unit: what an item is called. total: the number of items, if they have no
    length.
    """
    # None: hidden where there is no terminal, such as in a log file
    with ProgressBar(items, desc=what, unit=unit, total=total, disable=None) as bar:
        yield from bar


def say(text: str) -> None:
    """Print a line at once, above the progress bar if one is shown."""
    ProgressBar.write(text)
    sys.stdout.flush()
