"""Speed of the tokenizers and of data loading."""

import os
from collections.abc import Callable, Iterator

from course_lib.benchmarks.timing import Comparison, Plan, Turn, measure
from course_lib.text.tokenizers import Tokenizer

WORDS = "the cat and dogs see my old house by a river where we were all happy in May".split()


def tokens(plan: Plan) -> Iterator[Comparison]:
    """Encoding and decoding of sentences, with subwords and with words."""
    texts = sample(plan)
    kinds = {"subwords": Tokenizer.train(texts, 6000), "words": Tokenizer.train(texts, 22_000, "words")}
    for verb, make in (("encode", encoder), ("decode", decoder)):
        turns = {name: make(kind, texts) for name, kind in kinds.items()}
        comparison = Comparison(
            "tokens", f"{verb}, English sentences of the grammar", "sentences/s", "subwords"
        )
        yield measure(comparison, turns, plan.lasting(0.1))


def sample(plan: Plan) -> list[str]:
    """Two thousand English sentences."""
    if plan.tiny:
        return [f"{a} {b}." for a in WORDS for b in WORDS]
    from course_lib.datasets import grammar

    return grammar.sentences("en")[:2000]


def encoder(tokens: Tokenizer, texts: list[str]) -> Turn:
    return lambda number: len(tokens.encode_batch(texts))


def decoder(tokens: Tokenizer, texts: list[str]) -> Turn:
    ids = tokens.encode_batch(texts)
    return lambda number: len([tokens.decode(sentence) for sentence in ids])


def data(plan: Plan) -> Iterator[Comparison]:
    """Loading and splitting sentence pairs, with nothing cached."""
    for name, forget in {"grammar": forget_grammar, "spa-eng": forget_files}.items():
        if not plan.tiny and (name == "grammar" or os.environ.get("COURSE_DATA")):
            comparison = Comparison("data", f"{name}, load and divide", "s", "load")
            yield measure(comparison, {"load": loader(name, forget)}, plan.few(0.2, warm_up=0))


def loader(name: str, forget: Callable[[], None]) -> Turn:
    from course_lib.datasets import load_translation

    def turn(number: int) -> float:
        forget()
        load_translation(name, max_words=8)
        return 1.0

    return turn


def forget_grammar() -> None:
    from course_lib.datasets import grammar

    grammar._pairs.cache_clear()


def forget_files() -> None:
    from course_lib.datasets import pairs

    pairs._read.cache_clear()
