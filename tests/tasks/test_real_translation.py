"""A short training on real sentence pairs, through the command line, as a newcomer would run it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.tasks.translation import load_translator, translate

ROOT = Path(__file__).resolve().parents[2]


def command(*arguments, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "course_lib", "train", "translation", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.real_data
def test_bleu_rises_on_spa_eng(tmp_path):
    """The floors lie far above an untrained model, and well below the 3.5 BLEU and 18.0 chrF reached."""
    sizes = ("--d-model", 128, "--batch", 64, "--lr", 3e-3)
    code, out, err = command("--steps", 250, "--warmup", 50, *sizes, "--out", tmp_path)
    assert code == 0, out + err
    bleu, chrf = map(
        float, re.search(r"held-out, greedy: BLEU ([\d.]+), chrF ([\d.]+) on 2,000", out).groups()
    )
    assert bleu > 1.5 and chrf > 14, out
    assert re.search(r"[\d,]+ target tokens per second", out)
    model, tokenizer = load_translator(tmp_path / "model")
    assert translate(model, tokenizer, ["I am here."])[0]
