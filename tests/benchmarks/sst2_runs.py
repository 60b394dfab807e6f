"""The stored run on SST-2: bag of words against an encoder from scratch.

cd tests && python -m benchmarks.sst2_runs

Writes course_lib/widgets/sst2_runs.json; half a minute of one thread. With --pretrained, two minutes more, it
adds an encoder that has first learnt to fill in masked tokens of the training sentences.
"""

import argparse
import json
from typing import Any

import torch

from benchmarks import machine, report
from course_lib.datasets import load_labelled
from course_lib.widgets.sst2_runs import STORED, bag_of_words, encoder_run


def main() -> None:
    """Make the runs, and store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pretrained", action="store_true")
    more = parser.parse_args().pretrained
    torch.set_num_threads(1)
    data = load_labelled("sst2")
    content: dict[str, Any] = {
        "command": "cd tests && python -m benchmarks.sst2_runs" + " --pretrained" * more,
        "machine": machine.describe("cpu"),
        "sentences": {part: len(getattr(data, part)) for part in ("train", "validation", "test")},
        "runs": {"bag of words": bag_of_words(data), "encoder": []},
    }
    for pretrained in (False, True) if more else (False,):
        content["runs"]["encoder"].append(encoder_run(data, pretrained))
        print(json.dumps(content["runs"]), flush=True)
    report.write_runs(STORED, content)


if __name__ == "__main__":
    main()
