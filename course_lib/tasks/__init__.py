"""Tasks: for each, the data in batches, the loss, the evaluation, and model files."""

from course_lib.utils.lazy import lazy_exports

_EXPORTS = {
    "augmentation": ["CutMix", "Mixup", "RandAugment", "RandomCrop", "RandomFlip"],
    "diffusion": ["Diffusion", "DiffusionLoss", "noise_loss", "reverse_process"],
    "image_classification": [
        "ImageBatches",
        "ImageClassificationLoss",
        "confusion_matrix",
        "load_classifier",
        "save_classifier",
    ],
    "instructions": [
        "accuracy_by_task",
        "document_ids",
        "instruction_pairs",
        "instruction_tokenizer",
        "is_chatty",
        "is_correct",
        "raw_documents",
        "respond",
    ],
    "language_modeling": [
        "LanguageModelLoss",
        "TextBatches",
        "bits_per_character",
        "continue_text",
        "load_language_model",
        "mean_loss",
        "perplexity",
        "save_language_model",
    ],
    "preferences": ["DPOLoss", "Preference", "PreferenceBatches", "dpo_loss", "sequence_log_prob"],
    "prefix_lm": ["PrefixLMBatches", "PrefixLMLoss", "translate_with_lm"],
    "pretraining": ["PretrainingBatches", "add_noise", "mask_tokens"],
    "text_classification": ["LabelledBatches", "TextClassificationLoss", "TextClassifier"],
    "translation": [
        "TranslationBatches",
        "TranslationDataset",
        "TranslationLoss",
        "load_translator",
        "save_translator",
        "translate",
    ],
}
__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
