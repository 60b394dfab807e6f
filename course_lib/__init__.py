"""The Transformer course's library.

Import from the packages (`from course_lib.layers import MultiHeadAttention`); the most important names are
also here. A bare `import course_lib` imports nothing but the standard library.
"""

from course_lib.utils.lazy import lazy_exports

__version__ = "0.1.0"

_EXPORTS = {
    "datasets": ["load_images", "load_text", "load_translation"],
    "generation": ["beam_search", "generate", "greedy_decode", "sample"],
    "layers": [
        "DecoderBlock",
        "EncoderBlock",
        "FeedForward",
        "MultiHeadAttention",
        "causal_mask",
        "masked_softmax",
        "padding_mask",
        "record_attention",
    ],
    "models": ["GPT", "GPTConfig", "Seq2Seq", "Seq2SeqConfig", "TextEncoder", "ViT", "ViTConfig"],
    "tasks": ["load_translator", "translate"],
    "text": ["Tokenizer", "corpus_bleu"],
    "training": ["TrainConfig", "train"],
    "viz": ["heatmap", "show"],
}
__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
