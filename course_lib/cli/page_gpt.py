"""The stored small GPT as its page takes it: its weights file, and what gpt.js has to know besides."""

import json
from typing import Any

from course_lib.experiments.real_gpt import STORED, real_gpt
from course_lib.models.gpt import GPTConfig
from course_lib.text.fast_bpe import WORD
from course_lib.text.tokenizers import SPECIAL_TOKENS
from course_lib.widgets.model_trace import MAX_NEW, MAX_SOURCE
from course_lib.widgets.token_words import end_of, shown
from course_lib.widgets.trace_packing import SHOWN, TEMPERATURES, parameters, sizes

COMPUTED = {
    "norm": "pre",
    "positions": "rotary",
    "qk_norm": True,
    "kv_heads": None,
    "activation": "squared relu",
}


def check_computed(config: GPTConfig) -> None:
    """Raise ValueError for a model that gpt.js, which knows one kind, would compute as if it were another."""
    for field, value in COMPUTED.items():
        if (its := getattr(config, field)) != value:
            raise ValueError(f"{field}={its!r}: the page's GPT (gpt.js) computes {field}={value!r} alone")
    if config.max_tokens < MAX_SOURCE + MAX_NEW:
        raise ValueError(f"max_tokens={config.max_tokens}: the page takes {MAX_SOURCE} and adds {MAX_NEW}")


def about() -> dict[str, Any]:
    """What `PageGPT` in gpt.js takes besides the weights."""
    model, tokenizer = real_gpt()
    check_computed(model.config)
    ids = tokenizer.tokenizer.get_vocab()
    merges = json.loads(tokenizer.tokenizer.to_str())["model"]["merges"]
    return {
        "sizes": sizes(model, tokenizer),
        "parameters": [parameters(block) for block in model.blocks],
        "epsilon": model.config.epsilon,
        "words": WORD.replace(r"\s", r"\p{White_Space}"),  # JavaScript's \s is another set of characters
        "firstByte": len(SPECIAL_TOKENS),
        "merges": [[ids[left], ids[right], ids[left + right]] for left, right in merges],
        "tokens": [shown(tokenizer, i) for i in range(len(tokenizer))],
        "end": end_of(model, tokenizer),
        "reads": MAX_SOURCE,
        "writes": MAX_NEW,
        "shown": SHOWN,
        "temperatures": TEMPERATURES,
    }


def weights() -> bytes:
    """The stored file: safetensors in bf16."""
    return (STORED / "model.safetensors").read_bytes()
