"""The row of the language models."""

import torch

from course_lib.benchmarks import language
from course_lib.benchmarks.timing import Plan

SHORT = Plan(seconds=0.0, least=2, warm_up=1, tiny=True)


def test_the_whole_row_runs():
    found = list(language.language(SHORT))
    assert [c.row for c in found] == ["gpt"] * len(found) and len(found) == 6
    assert all(len(c.rates(side)) == 2 for c in found for side in c.seconds)


def test_all_ways_of_writing_write_the_same():
    start = torch.randint(13, (3, 2), generator=torch.Generator().manual_seed(0))
    written = {name: write(start, 10) for name, write in language.writers(SHORT).items()}
    as_lists = [w if isinstance(w, list) else w.tolist() for w in written.values()]
    assert as_lists[0] == as_lists[1] == as_lists[2] and len(as_lists[0][0]) == 10
