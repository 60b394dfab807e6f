"""Text: tokenizers, BLEU, error analysis, token frequencies."""

from course_lib.utils.lazy import lazy_exports

_EXPORTS = {
    "bleu": ["Bleu", "brevity_penalty", "corpus_bleu", "held_out_scores", "ngrams"],
    "bpe": ["ByteBPE"],
    "error_analysis": ["error_kind", "sort_errors"],
    "significance": [
        "bleu_from_statistics",
        "bootstrap_bleu",
        "bootstrap_draws",
        "interval",
        "paired_bootstrap",
        "sentence_statistics",
    ],
    "tokenizers": [
        "BOS",
        "CLS",
        "CharTokenizer",
        "EOS",
        "PAD",
        "Tokenizer",
        "UNK",
        "WordTokenizer",
        "load_tokenizer",
    ],
    "unigram": ["unigram_loss"],
}
__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
