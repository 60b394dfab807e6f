"""The model that an explorer shows, when it is one of yours: checked, on the CPU, with its tokenizer."""

from typing import Any

from course_lib.experiments.real_translator import SENTENCES
from course_lib.models.gpt import GPT
from course_lib.models.seq2seq import Seq2Seq
from course_lib.tasks.runs import Run
from course_lib.text.tokenizers import EOS, UNK, Vocabulary
from course_lib.widgets.model_trace import on_cpu
from course_lib.widgets.token_words import HuggingFaceTokenizer, end_of
from course_lib.widgets.toy_lm import PREFIXES

PROMPTS = ("The United States of", "She said that", *PREFIXES, "a", "A")


def chosen_model(model: Any, tokenizer: Any = None) -> tuple[str, GPT | Seq2Seq, Vocabulary]:
    """The mode, the model and the tokenizer of `model_explorer`.

    Raises ValueError for another kind of model, one without blocks, and for the tokenizer of another model.
    """
    if isinstance(model, Run):
        model, tokenizer = model.model, tokenizer or model.tokenizer
    if not isinstance(model, GPT | Seq2Seq):
        raise ValueError(f"model is a {type(model).__name__}; the explorer shows a GPT or a Seq2Seq")
    layers = [model.blocks] if isinstance(model, GPT) else [model.encoder, model.decoder]
    if not all(layers):
        raise ValueError("the model has no blocks: the explorer needs at least one in each stack")
    if tokenizer is None:
        raise ValueError("tokenizer=None: a model of your own needs its tokenizer")
    if hasattr(tokenizer, "backend_tokenizer"):
        tokenizer = HuggingFaceTokenizer(tokenizer)
    if len(tokenizer) != (vocab := model.config.vocab):
        raise ValueError(f"the tokenizer has {len(tokenizer):,} tokens, the model {vocab:,}: it is another's")
    if isinstance(model, GPT):
        return "gpt", on_cpu(model), tokenizer
    return "translator", on_cpu(model), tokenizer


def examples_for(model: GPT | Seq2Seq, tokenizer: Vocabulary) -> list[str]:
    """Sentences to begin with: of the usual ones, at most three that the vocabulary has."""
    if isinstance(model, Seq2Seq):
        return SENTENCES[:3]
    unknown = UNK if end_of(model, tokenizer) == EOS else None
    read = ((prompt, tokenizer.encode(prompt)) for prompt in PROMPTS)
    return [prompt for prompt, ids in read if unknown not in ids and 0 < len(ids) < model.config.max_tokens][
        :3
    ]
