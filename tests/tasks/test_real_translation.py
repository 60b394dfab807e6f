"""A short training on real sentence pairs, through the command line, as a newcomer would run it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.tasks.translation import load_translator, translate

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "-m course_lib train translation --steps 250 --warmup 50 --d-model 128 --batch 64 --lr 3e-3"


@pytest.mark.real_data
def test_bleu_rises_on_spa_eng(tmp_path):
    """The floors lie far above an untrained model, and well below the 3.5 BLEU and 18.0 chrF reached."""
    command = [sys.executable, *COMMAND.split(), "--out", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"held-out, greedy: BLEU ([\d.]+), chrF ([\d.]+) on 2,000", done.stdout)
    bleu, chrf = map(float, found.groups())
    assert bleu > 1.5 and chrf > 14, done.stdout
    assert re.search(r"[\d,]+ target tokens per second", done.stdout)
    model, tokenizer = load_translator(tmp_path / "model")
    assert translate(model, tokenizer, ["I am here."])[0]
