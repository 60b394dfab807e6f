"""A tiny translation training that tests share; one of them runs it in its own process and kills it."""

import os
import subprocess
import sys

import torch
from torch import nn

from course_lib.datasets.batching import Batches, RandomBatchSampler, TensorExamples
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


def learn(objective, batches, folder=None, keep=2, evaluate=None, device="cpu", unigram=None, **settings):
    """Train with these settings, in fp32 unless they name another format."""
    config = TrainConfig(**{"precision": "fp32", **settings})
    where = {"folder": folder, "keep": keep, "device": device, "progress": False}
    return train(objective, batches, config, evaluate=evaluate, unigram=unigram, **where)


def run(folder=None, steps=40, evaluate=None, device="cpu", **settings):
    """Train the tiny model."""
    _, objective, batches = parts()
    settings = {"steps": steps, "lr": 3e-3, "warmup": 10, "checkpoint_every": 5, **settings}
    history = learn(objective, batches, folder, evaluate=evaluate, device=device, **settings)
    return history, objective.model


class Rows(Batches):
    """Batches of these rows of numbers, in order."""

    def __init__(self, rows, batch=1):
        sampler = RandomBatchSampler(len(rows), batch)
        sampler.batches = lambda epoch: [list(range(i, i + batch)) for i in range(0, len(rows), batch)]
        sampler.compact = sampler.batches
        super().__init__(TensorExamples(torch.tensor(rows, dtype=torch.float)), sampler, tuple)


class Scale(nn.Module):
    """An objective whose gradient is known: the sum of x · weight over all x that are not 0."""

    def __init__(self):
        super().__init__()
        self.model = nn.Linear(1, 1, bias=False)
        nn.init.ones_(self.model.weight)

    def forward(self, x):
        counted = x[x != 0]
        return self.model(counted[:, None]).sum(), torch.tensor(len(counted))


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
