"""The package d2l, adapted so that the lecture's cells run as printed on the slides.

Only this lecture's system and a few comparisons need d2l; the rest of the course runs without it.
"""

import warnings
from functools import cache
from types import ModuleType
from typing import Any

from course_lib.datasets import find_set, locate
from course_lib.datasets.archives import read_member
from course_lib.datasets.location import cache_folder
from course_lib.pretrained.torchvision_ops import import_torchvision


@cache
def load_d2l() -> ModuleType:
    """Import d2l.torch and adapt its data, figures and progress board to the course's notebooks.

    - `MTFraEng` reads the sentence pairs that `course_lib.datasets` has found and verified. Other data sets
      of d2l go to the cache folder, since d2l's default, `../data`, is the folder of the course's tables.
    - The board records its points but draws nothing, and figures stay PNG (d2l would switch to SVG).

    This affects the whole process. Raises ImportError if d2l or one of its dependencies is missing.
    """
    try:
        import_torchvision()
        from d2l import torch as d2l
    except ImportError as error:
        raise ImportError(
            f"the lecture's d2l system needs the package d2l ({error}). To install it: "
            "pip install --no-deps d2l==1.0.3. Nothing else in the course needs it."
        ) from error
    _redirect(d2l)
    warnings.filterwarnings("ignore", message="Lazy modules are a new feature")
    return d2l


def _redirect(d2l: ModuleType) -> None:
    """Override unwanted behavior in d2l's own way: by adding methods to its classes."""

    @d2l.add_to_class(d2l.MTFraEng)
    def _download(self: Any) -> str:
        return read_member(locate("fra-eng"), find_set("fra-eng").member).decode("utf-8")

    drawing = d2l.ProgressBoard.__init__

    @d2l.add_to_class(d2l.ProgressBoard)
    def __init__(self: Any, *arguments: Any, **named: Any) -> None:
        drawing(self, *arguments, **named)
        self.display = False

    d2l.use_svg_display = lambda: None
    d2l.DataModule.__init__.__defaults__ = (str(cache_folder() / "d2l"), 4)
