"""Interactive figures, for the mouse or the keyboard: `softmax_explorer()` alone in a cell.

Each is an `Explorer`: a few controls, one picture, one line of text. `projector()` makes the next ones large.
Each is imported when it is first used, because some of them load models and data sets.
"""

from importlib import import_module
from typing import Any

MODULES = {
    "anatomy_explorer": "anatomy",
    "bleu_explorer": "bleu",
    "block_explorer": "block_tracer",
    "bmm_explorer": "shapes",
    "class_attention_explorer": "class_attention",
    "classification_explorer": "classification",
    "confusion_explorer": "confusion",
    "diffusion_explorer": "diffusion",
    "Explorer": "explorer",
    "heads_explorer": "heads",
    "logit_lens_explorer": "logit_lens",
    "lookup_explorer": "lookup",
    "mask_explorer": "masks",
    "model_explorer": "model_view",
    "norm_explorer": "norms",
    "patch_explorer": "patches",
    "pixel_attention_explorer": "pixels",
    "positions_explorer": "positions",
    "projector": "explorer",
    "sampler_explorer": "sampler",
    "scaling_explorer": "scaling",
    "schedule_explorer": "schedules",
    "scoring_explorer": "scoring",
    "softmax_explorer": "softmax",
    "subword_explorer": "subwords",
    "text_attention_explorer": "text_attention",
    "translation_explorer": "translation",
}
__all__ = list(MODULES)


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *MODULES})
