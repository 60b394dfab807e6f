"""One small recipe with several seeds and vocabularies: how far apart are the scores? (chapter 6c)

    python -m course_lib.experiments translator_seeds

makes the missing runs of results/translator_seeds.json, in about four minutes of one processor; `stored()`
reads them.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cache

import torch

from course_lib.datasets import TranslationData, load_translation
from course_lib.experiments.runner import Experiment, every
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.tasks.translation import TranslationBatches, TranslationLoss, translate
from course_lib.text.bleu import held_out_scores
from course_lib.text.error_analysis import plain_words
from course_lib.text.tokenizers import Tokenizer
from course_lib.training.config import TrainConfig
from course_lib.training.trainer import train

PAIRS, VOCAB, MAX_TOKENS = 32_000, 1500, 48  # 500 steps of 64: each pair is seen about once
SEEDS, OTHER_VOCABULARIES, OTHER_SEEDS = range(1, 9), (600, 4000), (1, 2)
FEW, MANY, READ = 200, 1000, 400  # test sentences; validation sentences in which invented words are counted


@dataclass(frozen=True)
class Run:
    """A trained model. few, many: BLEU on 200 and 1,000 test sentences.

    invented: how many of 400 validation sentences are translated with a word that no training sentence has.
    """

    seed: int
    vocab: int
    few: float
    many: float
    invented: int


@cache
def material(vocab: int = VOCAB) -> tuple[TranslationData, Tokenizer]:
    """The grammar's pairs, and a tokenizer trained on those that the models see."""
    data = load_translation("grammar")
    return data, Tokenizer.train((sentence for pair in data.train[:PAIRS] for sentence in pair), vocab)


def train_translator(
    seed: int, folder: str | None = None, vocab: int = VOCAB, device: torch.device | str = "cpu"
) -> Seq2Seq:
    """A translator with one block on each side, after 500 steps. folder: for checkpoints every 100 steps."""
    data, tokenizer = material(vocab)
    torch.manual_seed(seed)  # for the initial weights
    sizes = {"d_model": 64, "d_ff": 256, "encoder_layers": 1, "decoder_layers": 1}
    model = Seq2Seq(Seq2SeqConfig(vocab=len(tokenizer), max_tokens=MAX_TOKENS, dropout=0.0, **sizes))
    batches = TranslationBatches(data.train[:PAIRS], tokenizer, batch=64, max_tokens=MAX_TOKENS)
    recipe = TrainConfig(steps=500, lr=5e-3, warmup=80, checkpoint_every=100)
    train(TranslationLoss(model), batches, recipe, folder=folder, keep=5, device=device, progress=False)
    return model


def make(seed: int, vocab: int = VOCAB) -> Run:
    """Train a model and score it."""
    data, tokenizer = material(vocab)
    model = train_translator(seed, vocab=vocab)
    sources, references = (list(side) for side in zip(*data.test[:MANY], strict=True))
    said = translate(model, tokenizer, sources)
    few, many = (held_out_scores(said[:n], references[:n]).bleu for n in (FEW, MANY))
    known = Counter(word for _, text in data.train[:PAIRS] for word in plain_words(text))
    written = translate(model, tokenizer, [english for english, _ in data.validation[:READ]])
    invented = sum(any(word not in known for word in plain_words(text)) for text in written)
    return Run(seed, vocab, round(few, 2), round(many, 2), invented)


def wanted() -> list[dict[str, int]]:
    """Seeds and vocabularies of the runs."""
    return every(seed=SEEDS, vocab=[VOCAB])() + every(seed=OTHER_SEEDS, vocab=OTHER_VOCABULARIES)()


EXPERIMENT = Experiment(__file__, {"runs": wanted}, make, Run, keys=("seed", "vocab"))


def stored() -> list[Run]:
    """The stored runs."""
    return EXPERIMENT.part("runs")


if __name__ == "__main__":
    EXPERIMENT.main(__doc__)
