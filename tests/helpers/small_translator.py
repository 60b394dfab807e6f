"""A tiny translator and its explorer, shared by the tests of the widgets."""

from functools import cache

import torch

from course_lib.chapters.ch06_translation import translation_explorer
from course_lib.models.seq2seq import Seq2Seq
from course_lib.text.tokenizers import Tokenizer
from course_lib.training.config import TrainConfig
from course_lib.training.trainer import train
from course_lib.widgets import Explorer
from helpers.small_training import PAIRS, parts

EXAMPLES = [PAIRS[8][0], PAIRS[0][0], PAIRS[-1][0]]


@cache
def small_translator() -> tuple[Seq2Seq, Tokenizer]:
    """Two layers, trained until the sentences come out right."""
    tokens, objective, batches = parts(dropout=0.0, encoder_layers=2, decoder_layers=2)
    settings = TrainConfig(steps=120, lr=3e-3, warmup=10, precision="fp32")
    with torch.random.fork_rng():
        train(objective, batches, settings, device="cpu", progress=False)
    return objective.model, tokens


def small_translation_explorer() -> Explorer:
    """The explorer of the tiny translator."""
    return translation_explorer(*small_translator(), EXAMPLES)
