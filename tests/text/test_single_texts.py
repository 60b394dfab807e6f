"""One text where several are expected is refused in one line: Python would take it letter by letter."""

import pytest
import torch

from course_lib.datasets.batching import pad
from course_lib.datasets.classification import LabelledSplit
from course_lib.datasets.pairs import at_most
from course_lib.datasets.splits import split_pairs
from course_lib.models import (
    GPT,
    EncoderConfig,
    GPTConfig,
    Seq2Seq,
    Seq2SeqConfig,
    TextEncoder,
    ViT,
    ViTConfig,
)
from course_lib.tasks import image_classification, instructions, language_modeling, text_classification
from course_lib.tasks.prefix_lm import PrefixLMBatches, translate_with_lm
from course_lib.tasks.pretraining import PretrainingBatches
from course_lib.tasks.translation import TranslationBatches, translate
from course_lib.text import (
    ByteBPE,
    CharTokenizer,
    Tokenizer,
    WordTokenizer,
    corpus_bleu,
    error_kind,
    held_out_scores,
    sentence_statistics,
    sort_errors,
)
from course_lib.text.fast_bpe import train_with_tokenizers
from course_lib.text.unigram import unigram_loss

WORDS = [["a", "guide"]]
TOKENIZER = Tokenizer.train(["hello abc"], 30)
SIZES = {"vocab": len(TOKENIZER), "d_model": 8, "heads": 1}
VISION = ViT(ViTConfig(classes=5, layers=0))


def classifier() -> text_classification.TextClassifier:
    return text_classification.TextClassifier(TextEncoder(EncoderConfig(**SIZES)), 2)


CALLS = {
    "candidates": lambda text: corpus_bleu(text, text),
    "a reference": lambda text: corpus_bleu(WORDS, [text]),
    "statistics": lambda text: sentence_statistics([text], [text]),
    "statistics of a reference": lambda text: sentence_statistics(WORDS, [text]),
    "statistics of one": lambda text: sentence_statistics(text, text),
    "held-out scores": lambda text: held_out_scores(text, text),
    "errors": lambda text: sort_errors(text, text[::-1], set()),
    "kind of an error": lambda text: error_kind(text, text[::-1], set()),
    "learning subwords": Tokenizer.train,
    "learning words": lambda text: Tokenizer.train(text, kind="words"),
    "learning characters": CharTokenizer.train,
    "learning words between spaces": WordTokenizer.train,
    "learning merges": lambda text: ByteBPE.train(text, 3),
    "learning merges fast": lambda text: train_with_tokenizers(text, 3),
    "encoding in subwords": TOKENIZER.encode_batch,
    "encoding in characters": CharTokenizer(list("hello")).encode_batch,
    "encoding in bytes": ByteBPE().encode_batch,
    "translating": lambda text: translate(Seq2Seq(Seq2SeqConfig(**SIZES)), TOKENIZER, text),
    "translating with a GPT": lambda text: translate_with_lm(GPT(GPTConfig(**SIZES)), TOKENIZER, text),
    "responding": lambda text: instructions.respond(GPT(GPTConfig(**SIZES)), TOKENIZER, text),
    "accuracy of answers": lambda text: instructions.accuracy_by_task(
        [("please sort : a", "a")] * len(text), text
    ),
    "documents": lambda text: instructions.document_ids(text, TOKENIZER),
    "pairs": lambda text: TranslationBatches(text, TOKENIZER, 2),
    "a pair": lambda text: TranslationBatches([text], TOKENIZER, 2),
    "pairs for a GPT": lambda text: PrefixLMBatches([text], TOKENIZER, 2),
    "pretraining": lambda text: PretrainingBatches(text, TOKENIZER, 2),
    "splitting": lambda text: split_pairs([text] * 9, test=1, validation=1),
    "short pairs": lambda text: at_most(3, [text]),
    "labeled sentences": lambda text: LabelledSplit(text, [0] * len(text)),
    "windows": lambda text: language_modeling.TextBatches(text * 50, tokens=4, batch=2),
    "mean loss": lambda text: language_modeling.mean_loss(GPT(GPTConfig(**SIZES)), text),
    "unigram loss": lambda text: unigram_loss(text, 9),
    "padding": lambda text: pad([text]),
    "classes": lambda text: text_classification.predict(classifier(), [text]),
    "accuracy": lambda text: text_classification.accuracy(classifier(), text, [0] * len(text)),
    "names of classes": lambda text: text_classification.save_text_classifier(
        "x", classifier(), TOKENIZER, text
    ),
    "names of images": lambda text: image_classification.save_classifier("x", VISION, text),
    "labeled ids": lambda text: list(text_classification.LabelledBatches([text], [0], 2)),
}


@pytest.mark.parametrize("name", CALLS)
def test_it_is_refused(name: str, unchecked: None) -> None:
    with (
        pytest.raises(ValueError, match="is the text 'hello.*; split it, or put it into a list"),
        torch.no_grad(),
    ):
        CALLS[name]("hello")


def test_a_pair_is_no_text(unchecked: None) -> None:
    for call in (TOKENIZER.encode_batch, CharTokenizer(list("hello")).encode_batch, ByteBPE().encode_batch):
        with pytest.raises(TypeError, match="is not a text but of type tuple"):
            call([("hello", "abc")])
