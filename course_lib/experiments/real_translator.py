"""The English-Spanish translator that ships with the course: real sentences of any length (Tatoeba).

    python -m course_lib train translation --preset spa-eng-stored --out FOLDER
    python -m course_lib.experiments real_translator FOLDER

trains it, and stores it in bf16 in models/spanish, with its scores; `real_translator()` loads it.
"""

import argparse
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch

from course_lib.datasets import load_translation
from course_lib.experiments import storage
from course_lib.models.seq2seq import Seq2Seq
from course_lib.tasks.translation import load_translator, save_translator, translate
from course_lib.text.bleu import held_out_scores
from course_lib.text.tokenizers import Tokenizer
from course_lib.training import run_record
from course_lib.utils import machine

STORED = Path(__file__).parent / "models" / "spanish"
SCORES = "scores.json"
BEAM = 4
SENTENCES = [
    "The car was running.",
    "I am a student.",
    "The old man is reading a red book in the garden.",
    "She often sleeps in the kitchen.",
    "Where can I buy a ticket for the train?",
    "If I had more time, I would learn to play the piano.",
    # two failures, which widgets show as such: an invented word, and nonsense
    "I was talking to my friend about his old car to find out if it was still running reliably.",
    "What is the current state of Charlie's old car?",
]


@cache
def real_translator() -> tuple[Seq2Seq, Tokenizer]:
    """The English-Spanish model, trained on sentences of Tatoeba, and its tokenizer."""
    model, tokenizer = load_translator(STORED)
    return model.requires_grad_(False), tokenizer


def stored_scores() -> dict[str, Any]:
    """What `main` measured when it stored the model."""
    return json.loads((STORED / SCORES).read_text(encoding="utf-8"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Store the model of a training run in bf16, and score it on the test sentences before and after."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("run", type=Path, help="the folder of the run")
    run = parser.parse_args(arguments).run
    record = run_record.read(run)
    model, tokenizer = load_translator(run / "model")
    data = load_translation(record["settings"]["data"])
    before = scored(model, tokenizer, data.test)
    (STORED / SCORES).unlink(missing_ok=True)  # of the model before
    save_translator(STORED, model.to(torch.bfloat16), tokenizer)

    after = scored(*load_translator(STORED), data.test)
    same = sum(a == b for a, b in zip(before["greedy"], after["greedy"], strict=True))
    scores = {
        "data": record["settings"]["data"],
        "training": record["result"].splitlines()[0],
        "sentences": len(data.test),
        "fp32": before["scores"],
        "bf16": after["scores"],
        "greedy translations that bf16 leaves as they are": same,
        "machine": machine.describe("cpu"),
    }
    storage.write_scores(STORED / SCORES, scores)


def scored(model: Seq2Seq, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Greedy translations, and BLEU and chrF of greedy decoding and of a beam; computed in fp32."""
    sources, references = zip(*pairs, strict=True)
    found: dict[str, Any] = {"scores": {}}
    for way, width in (("greedy", 1), (f"beam of {BEAM}", BEAM)):
        said = translate(model, tokenizer, sources, width=width, precision="fp32")
        scores = held_out_scores(said, list(references))
        found["scores"][way] = {"BLEU": round(scores.bleu, 1), "chrF": round(scores.chrf, 1)}
        found.setdefault("greedy", said)
    return found


if __name__ == "__main__":
    main()
