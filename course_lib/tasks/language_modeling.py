"""Language modeling: training windows, loss, perplexity, text generation, model files."""

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.datasets.batching import Batches, RandomBatchSampler, TensorExamples
from course_lib.generation.constraints import TokenIds
from course_lib.generation.decoding import sample, stream
from course_lib.generation.state import TextGenerator
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.text.tokenizers import PAD, UNK, Vocabulary
from course_lib.text.unicode_text import refuse_text
from course_lib.training.evaluation import evaluating
from course_lib.training.model_folder import load_model_folder, save_model_folder
from course_lib.utils.ranges import check_whole

REPLACED = "\ufffd"  # what incomplete bytes are decoded to


class LanguageModelLoss(nn.Module):
    """Cross-entropy of a language model: −log of the probability of each token, given the ones before it.

    Source: Kak slide 89, with the logarithm that the sum there lacks.

    >>> from course_lib.models import GPT, GPTConfig
    >>> loss, tokens = LanguageModelLoss(GPT(GPTConfig(vocab=65)))(torch.tensor([[5, 6, 7]]))
    >>> tokens  # 6 after 5, and 7 after 5 and 6
    tensor(2)
    """

    def __init__(self, model: GPT):
        super().__init__()
        self.model = model

    def forward(self, ids: Int[Tensor, "batch tokens"]) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
        """Sum of the losses over all tokens but PAD and the first of each row, and their number."""
        logits, labels = self.model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()
        return F.cross_entropy(logits, labels, reduction="sum", ignore_index=PAD), (labels != PAD).sum()


class TextBatches(Batches):
    """Batches of windows into one long text, cut at different places in each epoch.

    ids: of the text. tokens: length of a window; one more token follows, as the last target.
    batch: batch size. seed: of the places and the order.
    Each epoch cuts the text starting at a random offset, and visits every window once, in random order; an
    incomplete last batch is dropped. The indices are starting positions in the text.
    Raises ValueError if the text is shorter than one batch of windows, and if it is no ids yet.

    >>> batches = TextBatches(list(range(100)), tokens=8, batch=4)
    >>> [windows.shape for [windows] in batches]
    [torch.Size([4, 9]), torch.Size([4, 9])]
    """

    dataset: TensorExamples

    def __init__(self, ids: Sequence[int] | Int[Tensor, " n"], tokens: int, batch: int, seed: int = 0):
        refuse_text(ids=ids)
        check_whole(1, tokens=tokens, batch=batch)
        needed = tokens * (batch + 1)
        if len(ids) < needed:
            raise ValueError(
                f"{len(ids)} tokens are too few for {batch} windows of {tokens}: at least {needed} are needed"
            )
        windows = torch.as_tensor(ids).unfold(0, tokens + 1, 1)  # one row per starting position
        places = RandomBatchSampler(len(windows), batch, seed, stride=tokens)
        super().__init__(TensorExamples(windows), places, as_long)


def as_long(windows: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The windows in the type that losses need: long texts are kept in a smaller one."""
    return tuple(part.long() for part in windows)


@torch.inference_mode()
def mean_loss(
    model: nn.Module,
    ids: Sequence[int] | Int[Tensor, " n"],
    context: int | None = None,
    stride: int | None = None,
    batch: int = 64,
) -> float:
    """Mean loss over a whole text, in nats per token; every token but the first counts once.

    model: returns logits, as `GPT` does. context: length of the windows; by default max_tokens.
    stride: distance between the starts of two windows. By default windows do not overlap, so the first
    prediction in each sees a single token; with a smaller stride, every prediction after the first window
    sees at least context − stride tokens.
    Raises ValueError for a text of fewer than 2 tokens or not in ids, and for a stride outside 1 … context.

    >>> from course_lib.models import GPT, GPTConfig
    >>> model = GPT(GPTConfig(vocab=65))
    >>> _ = torch.nn.init.zeros_(model.embedding.weight)  # all tokens equally likely: ln 65
    >>> round(mean_loss(model, [5, 6, 7, 8]), 4)
    4.1744
    """
    refuse_text(ids=ids)
    if context is None:
        config: Any = model.config
        context = config.max_tokens
    stride = context if stride is None else stride
    check_whole(1, batch=batch)
    if len(ids) < 2 or not 1 <= stride <= context:
        raise ValueError(f"nothing to count: {len(ids)} tokens, stride={stride}, context={context}")
    text = torch.as_tensor(ids)
    context = min(context, len(text) - 1)
    windows = text.unfold(0, context + 1, 1)
    places = list(range(0, len(windows), stride))
    if places[-1] != len(windows) - 1:
        places.append(len(windows) - 1)  # the last window overlaps the one before it
    device, total, done = next(model.parameters()).device, 0.0, 0
    with evaluating(model):
        for i in range(0, len(places), batch):
            some = windows[places[i : i + batch]].to(device).long()
            logits = model(some[:, :-1]).flatten(0, 1).float()
            losses = F.cross_entropy(logits, some[:, 1:].flatten(), reduction="none").view(len(some), context)
            for place, row in zip(places[i : i + batch], losses.cpu().double(), strict=True):
                total += row[done - place :].sum().item()
                done = place + context
    return total / (len(text) - 1)


def perplexity(loss: float) -> float:
    """Perplexity: e^loss, as if the model chose among so many equally likely tokens. loss: nats per token.

    >>> import math
    >>> round(perplexity(math.log(65)))
    65
    """
    return math.exp(loss)


def bits_per_character(loss: float, tokens: int, characters: int) -> float:
    """Bits per character, comparable between tokenizers.

    loss: in nats per token. tokens, characters: length of the text.

    >>> import math
    >>> bits_per_character(math.log(2), tokens=100, characters=400)  # 1 bit per token
    0.25
    """
    return loss / math.log(2) * tokens / characters


class SlidingGenerator(TextGenerator):
    """Generation beyond max_tokens: keeps only the second half of a full context, and reads it again."""

    model: GPT

    def reset(self) -> None:
        """Empty the caches, and forget the text."""
        super().reset()
        self.text: Tensor | None = None

    def forget(self, tokens: int) -> None:
        """Drop the newest tokens, also from the text."""
        super().forget(tokens)
        self.text = self.text if self.text is None else self.text[:, : self.text.shape[1] - tokens]

    def read(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch vocab"]:
        """Append tokens; return the logits of the next one."""
        most = self.model.config.max_tokens
        self.text = (ids if self.text is None else torch.cat([self.text, ids], dim=1))[:, -most:]
        if self.length + ids.shape[1] > most:
            super().reset()
            ids = self.text[:, -(most // 2 + 1) :]
        return super().read(ids)

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these rows of the batch, in this order."""
        super().select(rows)
        if self.text is not None:
            self.text = self.text[rows]


def continue_text(
    model: GPT, tokenizer: Vocabulary, prompt: str, length: int, seed: int = 0, **settings: Any
) -> str:
    """Continue a prompt by sampling `length` tokens; `SlidingGenerator` lets them exceed max_tokens.

    settings: temperature, top_k, top_p and min_p of `next_token_probabilities`. Returns prompt and sample.
    Raises ValueError for an empty prompt, and for one with tokens that are not in the vocabulary.

    >>> from course_lib.models import GPT, GPTConfig
    >>> from course_lib.text import CharTokenizer
    >>> tokenizer = CharTokenizer.train(["hello"])
    >>> model = GPT(GPTConfig(vocab=len(tokenizer)))  # untrained
    >>> continue_text(model, tokenizer, "he", length=5, temperature=0.8).startswith("he")
    True
    """
    ids = prompt_ids(tokenizer, prompt)
    device = model.embedding.weight.device
    rng = torch.Generator(device).manual_seed(seed)
    start = torch.tensor([ids], device=device)
    with evaluating(model):
        generated = sample(SlidingGenerator(model), start, None, length, rng=rng, **settings)[0]
    return tokenizer.decode([*ids, *generated])


def stream_text(
    model: GPT,
    tokenizer: Vocabulary,
    prompt: str | Sequence[int],
    length: int,
    seed: int = 0,
    end: TokenIds = None,
    **settings: Any,
) -> Iterator[tuple[str, float]]:
    """Continue a prompt as `continue_text` does, and yield the text of each token as soon as it is drawn.

    prompt: a text, or ids such as `[BOS, *request, EOS]`. end: the id that ends the text, or several.
    Yields text and probability (see `stream`): "" while the bytes of a character are incomplete, and at the
    end, those that stayed so. Stop iterating to end the text early. Raises ValueError as `continue_text`.

    >>> from course_lib.models import GPT, GPTConfig
    >>> from course_lib.text import CharTokenizer
    >>> tokenizer = CharTokenizer.train(["hello"])
    >>> model = GPT(GPTConfig(vocab=len(tokenizer)))  # untrained
    >>> pieces = [text for text, probability in stream_text(model, tokenizer, "he", length=5)]
    >>> "he" + "".join(pieces) == continue_text(model, tokenizer, "he", length=5)
    True
    """
    ids = prompt_ids(tokenizer, prompt) if isinstance(prompt, str) else list(prompt)
    device = model.embedding.weight.device
    rng = torch.Generator(device).manual_seed(seed)
    start = torch.tensor([ids], device=device)
    drawn = stream(SlidingGenerator(model), start, end, length, rng=rng, **settings)
    yield from in_evaluation(model, with_texts(tokenizer, ids[-1:], drawn))


def in_evaluation(model: nn.Module, items: Iterator[tuple[str, float]]) -> Iterator[tuple[str, float]]:
    """Items that a model computes, each in evaluation mode and without gradients.

    In between, the modes of the model and the random states are those of the caller.
    """
    while True:
        with evaluating(model), torch.inference_mode():
            item = next(items, None)
        if item is None:
            return
        yield item


def with_texts(
    tokenizer: Vocabulary, before: Sequence[int], drawn: Iterable[tuple[int, float]]
) -> Iterator[tuple[str, float]]:
    """Each token's text in place of its id, given the ids before. Whole characters: bytes are held back."""
    held, shown, last = list(before), tokenizer.decode(before), 1.0
    for token, last in drawn:
        held.append(token)
        text = tokenizer.decode(held)
        if text.endswith(REPLACED):
            yield "", last
            continue
        yield text.removeprefix(shown), last
        alone = tokenizer.decode([token])  # nothing for special tokens and a space: then keep more
        held, shown = ([token], alone) if alone else (held, text)
    if rest := tokenizer.decode(held).removeprefix(shown):
        yield rest, last


def prompt_ids(tokenizer: Vocabulary, prompt: str) -> list[int]:
    """The ids of a prompt. Raises ValueError if there are none, or if some are not in the vocabulary."""
    ids = tokenizer.encode(prompt)
    if not ids:
        raise ValueError(f"prompt={prompt!r} is empty: generation needs a first token")
    if UNK in ids:
        raise ValueError(f"the vocabulary lacks {ids.count(UNK)} of the {len(ids)} tokens of {prompt!r}")
    return ids


def save_language_model(folder: str | Path, model: GPT, tokenizer: Vocabulary) -> None:
    """Write a language model: configuration, tokenizer, weights."""
    save_model_folder(folder, "language model", model, model.config, tokenizer)


def load_language_model(folder: str | Path, device: torch.device | str = "cpu") -> tuple[GPT, Vocabulary]:
    """Read a folder by `save_language_model`. Errors: as in `load_model_folder`.

    >>> from tempfile import TemporaryDirectory
    >>> from course_lib.models import GPT, GPTConfig
    >>> from course_lib.text import CharTokenizer
    >>> tokenizer = CharTokenizer.train(["hello"])
    >>> with TemporaryDirectory() as folder:
    ...     save_language_model(folder + "/model", GPT(GPTConfig(vocab=len(tokenizer))), tokenizer)
    ...     model, same = load_language_model(folder + "/model")
    >>> same.encode("hello") == tokenizer.encode("hello")
    True
    """
    kind = ("language model", GPTConfig, lambda config, about: GPT(config))
    model, tokenizer, _ = load_model_folder(folder, *kind, device, ("tokenizer",))
    return model, tokenizer
