"""The small GPT that ships with the course: byte-level BPE, trained on sentences of Wikipedia (WikiText-2).

    python -m course_lib.experiments real_gpt text FILE.txt
    python -m course_lib train gpt --preset wikitext-2-stored --data FILE.txt --out FOLDER
    python -m course_lib.experiments real_gpt store FOLDER

writes the text as people write it, trains the model, and stores it in bf16 in models/wikipedia, with its
scores on the test text; `real_gpt()` loads it.
"""

import argparse
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch

from course_lib.datasets.texts import load_text
from course_lib.experiments import storage
from course_lib.models.gpt import GPT
from course_lib.tasks.language_modeling import (
    bits_per_character,
    load_language_model,
    mean_loss,
    perplexity,
    save_language_model,
)
from course_lib.text.tokenizers import Vocabulary
from course_lib.training import run_record
from course_lib.utils import machine
from course_lib.utils.files import atomic_path

STORED = Path(__file__).parent / "models" / "wikipedia"
SCORES = "scores.json"
PROMPTS = [
    "The game was released in the United",
    "In the early 20th",
    "He was born in London, and",
    "She played the role of a young woman who",
    "The song received positive reviews from music",
]
END = re.compile(r"(?<= [.!?]) (?=[A-Z\"])")
JOINED = (  # WikiText writes every mark as a separate word
    (re.compile(r" @(.)@ "), r"\1"),
    (re.compile(r" ([.,;:!?%)\]]|'s|'t|'re|'ve|'ll|'d|'m)(?= |$)"), r"\1"),
    (re.compile(r"([(\[$£]) "), r"\1"),
    (re.compile(r'" ([^"]*?) "'), r'"\1"'),
    (re.compile(r" n't\b"), "n't"),
)


@cache
def real_gpt() -> tuple[GPT, Vocabulary]:
    """The stored model and its tokenizer; cached."""
    model, tokenizer = load_language_model(STORED)
    return model.requires_grad_(False), tokenizer


def as_written(text: str) -> str:
    """WikiText as people write it: spacing of prose, no headings, and no sentence with an unknown word.

    >>> as_written(" = Title = \\n He ( Ann 's son ) has a well @-@ known hat . The <unk> left . \\n")
    "He (Ann's son) has a well-known hat.\\n"
    """
    lines = []
    for paragraph in text.splitlines():
        if paragraph.strip().startswith("="):
            continue
        kept = " ".join(one for one in END.split(paragraph.strip()) if one and "<unk>" not in one)
        for pattern, to in JOINED:
            kept = pattern.sub(to, kept)
        lines += [kept] * bool(kept)
    return "".join(f"{line}\n" for line in lines)


def write_text(file: Path) -> None:
    """Write the training text of WikiText-2, as people write it."""
    with atomic_path(file) as temporary:
        temporary.write_text(as_written(load_text("wikitext-2").train), encoding="utf-8")


def store(run: Path) -> None:
    """Store the model of a training run in bf16, and score it on the test text before and after."""
    model, tokenizer = load_language_model(run / "model")
    text = as_written(load_text("wikitext-2").test)
    before = scored(model, tokenizer, text)
    (STORED / SCORES).unlink(missing_ok=True)  # of the model before
    save_language_model(STORED, model.to(torch.bfloat16), tokenizer)
    scores = {
        "data": "the test text of wikitext-2, as people write it",
        "training": run_record.read(run)["result"].splitlines()[0],
        "characters": len(text),
        "fp32": before,
        "bf16": scored(*load_language_model(STORED), text),
        "machine": machine.describe("cpu"),
    }
    storage.write_scores(STORED / SCORES, scores)


def scored(model: GPT, tokenizer: Vocabulary, text: str) -> dict[str, float]:
    """Loss and perplexity per token, and bits per character, in non-overlapping windows."""
    ids = torch.tensor(tokenizer.encode(text))
    loss = mean_loss(model, ids)
    bits = bits_per_character(loss, len(ids), len(text))
    return {
        "loss": round(loss, 3),
        "perplexity": round(perplexity(loss), 1),
        "bits per character": round(bits, 3),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the text to train on, or store the model of a run."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("what", choices=("text", "store"))
    parser.add_argument("path", type=Path, help="the file of the text, or the folder of the run")
    args = parser.parse_args(arguments)
    (write_text if args.what == "text" else store)(args.path)


if __name__ == "__main__":
    main()
