"""Cells of handed-out notebooks whose code shows an answer: folded until the exercise is passed."""

import base64
import sys
import textwrap
import zlib

from course_lib.utils.progress import passed

WIDTH = 76
CELL = '''# This cell shows an answer to {id}. It runs as it is, and prints its code once you have passed.
from course_lib.exercises.later import later

later("{id}", """
{code}
""")'''


def folded(exercise_id: str, code: str) -> str:
    """The source of a cell that replaces `code`.

    Example:
        >>> "secret" in folded("01.softmax", "secret = 1")
        False
    """
    packed = base64.b64encode(zlib.compress(code.encode(), 9)).decode()
    return CELL.format(id=exercise_id, code="\n".join(textwrap.wrap(packed, WIDTH)))


def unfolded(code: str) -> str:
    """The code in a folded cell.

    Example:
        >>> from course_lib.exercises.later import folded
        >>> unfolded(folded("01.softmax", "x = 1").split('"' * 3)[1])
        'x = 1'
    """
    return zlib.decompress(base64.b64decode(code)).decode()


def later(exercise_id: str, code: str) -> None:
    """Run a folded cell; once the exercise is passed, print its code first."""
    source = unfolded(code)
    if exercise_id in passed():
        print(source)
    exec(compile(source, f"<after {exercise_id}>", "exec"), sys._getframe(1).f_globals)
