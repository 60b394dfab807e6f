"""A small translator that ships with the course, for readers who have not just trained one.

    python -m course_lib.experiments stored_translator

trains it on the course's grammar in about a minute of one processor, and saves it in models/translator in
half precision; `stored_translator()` loads it.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path

import torch

from course_lib.datasets import TranslationData, load_translation
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.tasks.translation import (
    TranslationBatches,
    TranslationLoss,
    load_translator,
    save_translator,
    translate,
)
from course_lib.text.bleu import held_out_scores
from course_lib.text.tokenizers import Tokenizer
from course_lib.training.config import TrainConfig
from course_lib.training.trainer import train

STORED = Path(__file__).parent / "models" / "translator"
EXAMPLES = [  # from the validation set: not seen in training
    "The farmer sometimes sleeps well.",
    "My songs are as pretty as her songs.",
    "Clara and Carlos carried those blue boxes.",
    "Don't rest in the park.",
    "The phone is next to that suitcase.",
    "Did Julia and Diego get married on Sunday?",
]


@cache
def stored_translator() -> tuple[Seq2Seq, Tokenizer]:
    """The English-Spanish model, trained on the course's grammar, and its tokenizer."""
    model, tokens = load_translator(STORED)
    return model.requires_grad_(False), tokens


VOCAB = 2000
MAX_TOKENS = 48
SETTINGS = TrainConfig(steps=1400, lr=3e-3)


@cache
def material() -> tuple[TranslationData, Tokenizer]:
    """The grammar's pairs, and a tokenizer trained on them."""
    data = load_translation("grammar")
    return data, Tokenizer.train((sentence for pair in data.train for sentence in pair), VOCAB)


def trained(smoothing: float = 0.1, seed: int = 0) -> tuple[Seq2Seq, Tokenizer]:
    """A model trained by the recipe, with this label smoothing, and its tokenizer."""
    data, tokens = material()
    torch.manual_seed(seed)
    sizes = {"d_model": 96, "d_ff": 288, "max_tokens": MAX_TOKENS, "dropout": 0.0}
    model = Seq2Seq(Seq2SeqConfig(vocab=len(tokens), **sizes))
    batches = TranslationBatches(data.train, tokens, batch=48, max_tokens=MAX_TOKENS, seed=seed)
    train(TranslationLoss(model, smoothing), batches, replace(SETTINGS, seed=seed), device="cpu")
    return model, tokens


def main() -> None:
    """Train, save, load, and print the scores."""
    model, tokens = trained()
    save_translator(STORED, model.half(), tokens)

    data, (model, tokens) = material()[0], stored_translator()
    english, spanish = zip(*data.validation[:400], strict=True)
    print(held_out_scores(translate(model, tokens, english), spanish))
    for sentence, said in zip(EXAMPLES, translate(model, tokens, EXAMPLES), strict=True):
        print(f"{sentence}  →  {said}")


if __name__ == "__main__":
    main()
