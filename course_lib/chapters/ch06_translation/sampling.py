"""What label smoothing in training costs when tokens are sampled (chapter 6b).

    python -m course_lib.experiments sampling

trains the stored translator's recipe with and without label smoothing, for three seeds, and scores each model
on chapter 6b's 100 test sentences, in about six minutes of one processor. It makes the runs that are missing
in results/sampling.json; `stored()` reads them.
"""

from dataclasses import dataclass
from statistics import fmean
from typing import Any

import torch

from course_lib.chapters.ch06_translation.stored_translator import material, trained
from course_lib.datasets.batching import pad
from course_lib.experiments.runner import Experiment, every
from course_lib.generation.decoding import sample
from course_lib.models.seq2seq import Seq2Seq
from course_lib.text.bleu import held_out_scores
from course_lib.text.tokenizers import BOS, EOS, Tokenizer

WAYS: dict[str, dict[str, Any]] = {
    "greedy": {"temperature": 0.0},
    "T = 1": {},
    "T = 1, top-k 5": {"top_k": 5},
    "T = 1, top-p 0.8": {"top_p": 0.8},
}
SMOOTHINGS, SEEDS, DRAWS, SENTENCES = (0.0, 0.1), (0, 1, 2), 3, 100


@dataclass(frozen=True)
class Run:
    """A trained model. bleu: on 100 test sentences, by way of choosing tokens; the mean of three draws."""

    smoothing: float
    seed: int
    bleu: dict[str, float]


@torch.inference_mode()
def scores(model: Seq2Seq, tokens: Tokenizer, pairs: list[tuple[str, str]]) -> dict[str, float]:
    """BLEU on the pairs by the way of choosing tokens, the mean of three draws."""
    english, spanish = zip(*pairs, strict=True)
    source = pad([[*ids, EOS] for ids in tokens.encode_batch(english)])
    start = torch.full((len(source), 1), BOS)

    def bleu(draw: int, **settings: Any) -> float:
        rng = torch.Generator().manual_seed(draw)
        ids = sample(model.generator(source), start, EOS, 30, rng=rng, **settings)
        return held_out_scores([tokens.decode(row) for row in ids], list(spanish)).bleu

    return {
        way: round(fmean(bleu(draw, **settings) for draw in range(DRAWS)), 1)
        for way, settings in WAYS.items()
    }


def make(smoothing: float, seed: int) -> Run:
    """Train a model and score it."""
    model, tokens = trained(smoothing, seed)
    return Run(smoothing, seed, scores(model.eval(), tokens, material()[0].test[:SENTENCES]))


EXPERIMENT = Experiment(
    __file__,
    {"runs": every(seed=SEEDS, smoothing=SMOOTHINGS)},
    make,
    Run,
    keys=("smoothing", "seed"),
    settings=lambda: {"draws": DRAWS, "sentences": SENTENCES},
)


def stored() -> list[Run]:
    """The stored runs."""
    return EXPERIMENT.part("runs")


if __name__ == "__main__":
    EXPERIMENT.main(__doc__)
