"""A small translator that ships with the course, for readers who have not just trained one.

    python -m course_lib.experiments.stored_translator

trains it on the course's grammar in about a minute of one processor, and saves it in models/translator in
half precision; `stored_translator()` loads it.
"""

from functools import cache
from pathlib import Path

import torch

from course_lib.datasets import load_translation
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


def main() -> None:
    """Train, save, load, and print the scores."""
    data = load_translation("grammar")
    tokens = Tokenizer.train((sentence for pair in data.train for sentence in pair), VOCAB)
    torch.manual_seed(0)
    sizes = {"d_model": 96, "d_ff": 288, "max_tokens": MAX_TOKENS, "dropout": 0.0}
    model = Seq2Seq(Seq2SeqConfig(vocab=len(tokens), **sizes))
    batches = TranslationBatches(data.train, tokens, batch=48, max_tokens=MAX_TOKENS)
    train(TranslationLoss(model), batches, SETTINGS, device="cpu")
    save_translator(STORED, model.half(), tokens)

    model, tokens = stored_translator()
    english, spanish = zip(*data.validation[:400], strict=True)
    print(held_out_scores(translate(model, tokens, english), spanish))
    for sentence, said in zip(EXAMPLES, translate(model, tokens, EXAMPLES), strict=True):
        print(f"{sentence}  →  {said}")


if __name__ == "__main__":
    main()
