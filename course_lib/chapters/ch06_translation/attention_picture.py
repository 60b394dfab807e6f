"""The picture in docs/results.md: where a trained translator attends while it translates.

python -m course_lib.chapters.ch06_translation.attention_picture runs/NAME/model "I read a book."
"""

import sys
from pathlib import Path

from course_lib.chapters.ch06_translation.translation_widget import write
from course_lib.tasks.translation import load_translator
from course_lib.utils.files import atomic_path
from course_lib.viz.figures import heatmap, png

PICTURE = Path(__file__).parents[3] / "notebooks" / "images" / "translation.png"


def main(folder: str, sentence: str) -> None:
    """Draw the cross-attention of the last layer, averaged over its heads."""
    seen = write(*load_translator(folder), sentence)
    rows, columns = ([token.replace("▁", "") for token in side] for side in (seen.target, seen.source))
    axes = heatmap(seen.maps[-1].mean(0), queries=rows, keys=columns, title="cross-attention, last layer")
    axes.set(xlabel="read", ylabel="written")
    with atomic_path(PICTURE) as temporary:
        temporary.write_bytes(png(axes.figure, dpi=160))
    print(f"{seen.text}  →  {PICTURE}")


if __name__ == "__main__":
    main(*sys.argv[1:])
