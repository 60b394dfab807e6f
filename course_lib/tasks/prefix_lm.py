"""Prefix language modeling: translation with a decoder-only model, source and target in one text."""

from collections.abc import Iterator, Sequence
from itertools import groupby

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.datasets.batching import Batches, BucketBatchSampler, ListDataset, pad
from course_lib.generation.decoding import greedy_decode
from course_lib.layers.masks import padding_mask
from course_lib.models.gpt import GPT
from course_lib.models.text_encoder import TextEncoder
from course_lib.text.preparation import encode_clean, encode_pairs, warn_of_unknown
from course_lib.text.tokenizers import BOS, EOS, PAD, Vocabulary
from course_lib.text.unicode_text import refuse_text
from course_lib.training.evaluation import evaluating
from course_lib.utils.ranges import check_whole

NOT_COUNTED = -100  # the label of a position that does not count in the loss
Pair = tuple[str, str]
IdsAndLabels = tuple[Int[Tensor, "batch tokens"], Int[Tensor, "batch tokens"]]


def prompt(source: Sequence[int]) -> list[int]:
    """The prefix that the model reads before it translates: BOS, the source, EOS as a separator."""
    return [BOS, *source, EOS]


def next_labels(ids: Sequence[int], first: int = 1) -> list[int]:
    """Labels for next-token prediction: for each token the next one, if its index is at least `first`.

    >>> next_labels([5, 6, 7, 8], first=2)
    [-100, 7, 8, -100]
    """
    return [*(i if n >= first else NOT_COUNTED for n, i in enumerate(ids[1:], start=1)), NOT_COUNTED]


def pad_both(texts: Sequence[Sequence[int]], labels: Sequence[Sequence[int]]) -> IdsAndLabels:
    """Pad texts with PAD and their labels with NOT_COUNTED."""
    ids = pad(texts)
    width = ids.shape[1]
    return ids, torch.tensor([[*row, *[NOT_COUNTED] * (width - len(row))] for row in labels])


class PrefixLMBatches(Batches):
    """Batches of sentence pairs as texts `BOS source EOS target EOS`, with labels.

    joint: whether the source counts in the loss too. Without it, the model learns P(target | source); with
    it, P(source, target) = P(source) · P(target | source).
    batch: batch size. max_tokens: of a text; longer ones are dropped. seed: of the order.
    pool: batches that are sorted by length together, see `BucketBatchSampler`; 1 for batches of random pairs.
    Raises ValueError if no pair is left.

    >>> from course_lib.text import CharTokenizer
    >>> [[ids, labels]] = PrefixLMBatches([("ab", "c")], CharTokenizer.train(["abc"]), batch=1)
    >>> ids, labels  # BOS a b EOS c EOS; only c and the last EOS count
    (tensor([[1, 5, 6, 2, 7, 2]]), tensor([[-100, -100, -100,    7,    2, -100]]))
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        tokenizer: Vocabulary,
        batch: int,
        max_tokens: int = 64,
        seed: int = 0,
        joint: bool = False,
        pool: int = 100,
    ):
        source, target = encode_pairs(tokenizer, pairs)
        both = [(prompt(s), [*t, EOS]) for s, t in zip(source, target, strict=True) if s and t]
        ids = [(s, t) for s, t in both if len(s) + len(t) <= max_tokens]
        if not ids:
            raise ValueError(f"no batches: none of the {len(pairs)} pairs fits into max_tokens={max_tokens}")
        self.joint = joint
        order = BucketBatchSampler([(len(s) + len(t),) for s, t in ids], batch, seed, pool)
        super().__init__(ListDataset(ids), order, self.collate)

    def collate(self, pairs: Sequence[tuple[list[int], list[int]]]) -> IdsAndLabels:
        """The texts of these pairs, and a label for each token: the next one, if it counts in the loss."""
        texts = [[*s, *t] for s, t in pairs]
        starts = [1 if self.joint else len(s) for s, _ in pairs]
        return pad_both(texts, [next_labels(ids, first) for ids, first in zip(texts, starts, strict=True)])


class PrefixLMLoss(nn.Module):
    """Cross-entropy over the positions that have a label.

    model: a `GPT` or a `TextEncoder`, with methods `hidden_states` and `output_logits`.
    causal: use causal attention. Otherwise, each token attends to the whole text but its padding, as in an
    encoder; then the labels must not be visible in the text.

    >>> from course_lib.models import GPT, GPTConfig
    >>> ids, labels = torch.tensor([[1, 5, 6, 2, 7, 2]]), torch.tensor([[-100, -100, -100, 7, 2, -100]])
    >>> loss, tokens = PrefixLMLoss(GPT(GPTConfig(vocab=65)))(ids, labels)
    >>> tokens
    tensor(2)
    """

    def __init__(self, model: GPT | TextEncoder, causal: bool = True):
        super().__init__()
        self.model, self.causal = model, causal

    def forward(
        self, ids: Int[Tensor, "batch tokens"], labels: Int[Tensor, "batch tokens"]
    ) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
        """Sum of the losses over the positions with a label, and the number of these positions."""
        hidden_states = self.model.hidden_states(
            ids, custom_mask=None if self.causal else padding_mask(ids, PAD)
        )
        counted = labels != NOT_COUNTED
        logits = self.model.output_logits(hidden_states[counted])  # the costly part
        return F.cross_entropy(logits, labels[counted], reduction="sum"), counted.sum()


def translate_with_lm(
    model: GPT,
    tokenizer: Vocabulary,
    sentences: Sequence[str],
    max_tokens: int | None = None,
    batch: int = 128,
) -> list[str]:
    """Translate sentences with a language model by greedy decoding: it continues each prompt.

    Each batch has prompts of equal length, so no padding is needed. batch: batch size.
    max_tokens: the most tokens to generate per sentence; by default, until the context is full.
    Warns of unknown tokens as `translate` does.
    Raises ValueError for a single text, an empty sentence, and one that fills the context by itself.
    """
    refuse_text(sentences=sentences)
    prompts = [prompt(ids) for ids in encode_clean(tokenizer, sentences)]
    warn_of_unknown(tokenizer, sentences, prompts)
    longest, room = max(map(len, prompts), default=0), model.config.max_tokens
    if any(len(ids) == 2 for ids in prompts):
        raise ValueError(f"sentence {[len(ids) for ids in prompts].index(2)} is empty")
    if longest >= room:
        raise ValueError(f"a prompt of {longest} tokens leaves no room to generate in max_tokens={room}")
    texts = [""] * len(prompts)
    with evaluating(model):
        for numbers in of_equal_length(prompts, batch):
            start = torch.tensor([prompts[n] for n in numbers], device=model.embedding.weight.device)
            most = room - start.shape[1] if max_tokens is None else min(max_tokens, room - start.shape[1])
            for n, ids in zip(numbers, greedy_decode(model.generator(), start, EOS, most), strict=True):
                texts[n] = tokenizer.decode(ids)
    return texts


def of_equal_length(sequences: Sequence[Sequence[int]], batch: int) -> Iterator[list[int]]:
    """The indices of the sequences, in groups of equal length and at most `batch` members."""

    check_whole(1, batch=batch)

    def length(n: int) -> int:
        return len(sequences[n])

    for _, group in groupby(sorted(range(len(sequences)), key=length), key=length):
        numbers = list(group)
        yield from (numbers[i : i + batch] for i in range(0, len(numbers), batch))
