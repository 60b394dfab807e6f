"""A tiny translation training that tests share; one of them runs it in its own process and kills it."""

import os
import subprocess
import sys

import torch

from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.tasks.translation import TranslationBatches, TranslationLoss
from course_lib.text.tokenizers import Tokenizer
from course_lib.training.config import TrainConfig
from course_lib.training.trainer import train

NUMBERS = ["one", "two", "three", "four", "five", "six"]
NUMEROS = ["uno", "dos", "tres", "cuatro", "cinco", "seis"]
PAIRS = [(f"{a}.", f"{c}.") for a, c in zip(NUMBERS, NUMEROS, strict=True)] + [
    (f"{a} and {b}.", f"{c} y {d}.")
    for a, c in zip(NUMBERS, NUMEROS, strict=True)
    for b, d in zip(NUMBERS, NUMEROS, strict=True)
]


def parts(seed=0, dropout=0.1, batch=8, **sizes):
    """Vocabulary, objective and batches of the tiny training."""
    tokens = Tokenizer.train([text for pair in PAIRS for text in pair], vocab=80)
    torch.manual_seed(seed)
    sizes = {"d_model": 32, "heads": 2, "d_ff": 64, "encoder_layers": 1, "decoder_layers": 1, **sizes}
    model = Seq2Seq(Seq2SeqConfig(vocab=len(tokens), max_tokens=24, dropout=dropout, **sizes))
    return tokens, TranslationLoss(model, label_smoothing=0.0), TranslationBatches(PAIRS, tokens, batch)


def run(folder=None, steps=40, evaluate=None, device="cpu", **settings):
    """Train the tiny model."""
    _, objective, batches = parts()
    settings = {"lr": 3e-3, "warmup": 10, "checkpoint_every": 5, "precision": "fp32", **settings}
    config = TrainConfig(steps=steps, **settings)
    history = train(
        objective, batches, config, folder=folder, device=device, progress=False, evaluate=evaluate
    )
    return history, objective.model


def in_processes(number, script, *arguments):
    """Run a script in so many processes that know of one another, on the CPU; what they print.

    accelerate's own launcher would start a single one: on CPUs it leaves the number to MPI.
    """
    env = {**os.environ, "ACCELERATE_USE_CPU": "true", "CUDA_VISIBLE_DEVICES": ""}
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(number)]
    command = [*launch, str(script), *map(str, arguments)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


if __name__ == "__main__":
    torch.set_num_threads(1)
    run(sys.argv[1], steps=int(sys.argv[2]))
