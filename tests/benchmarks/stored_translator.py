"""The translator of `course_lib/widgets/models/translator`, trained on the grammar, in half precision.

cd tests && python -m benchmarks.stored_translator
"""

import torch

from course_lib.bleu import held_out_scores
from course_lib.datasets import load_translation
from course_lib.schedules import TrainConfig
from course_lib.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.tokens import Tokens
from course_lib.training import train
from course_lib.translation import TranslationBatches, TranslationObjective, save_translator, translate
from course_lib.widgets.stored_translator import EXAMPLES, STORED, stored_translator

VOCAB = 2000
MAX_TOKENS = 48
SETTINGS = TrainConfig(steps=1400, lr=3e-3)


def main() -> None:
    """Train, store, read back, and say how good it is."""
    data = load_translation("grammar")
    tokens = Tokens.train((sentence for pair in data.train for sentence in pair), VOCAB)
    torch.manual_seed(0)
    sizes = {"d_model": 96, "d_ff": 288, "max_tokens": MAX_TOKENS, "dropout": 0.0}
    model = Seq2Seq(Seq2SeqConfig(vocab=len(tokens), **sizes))
    batches = TranslationBatches(data.train, tokens, batch=48, max_tokens=MAX_TOKENS)
    train(TranslationObjective(model), batches, SETTINGS, device="cpu")
    save_translator(STORED, model.half(), tokens)

    model, tokens = stored_translator()
    english, spanish = zip(*data.validation[:400], strict=True)
    print(held_out_scores(translate(model, tokens, english), spanish))
    for sentence, said in zip(EXAMPLES, translate(model, tokens, EXAMPLES), strict=True):
        print(f"{sentence}  →  {said}")


if __name__ == "__main__":
    main()
