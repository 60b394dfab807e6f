"""Translation with a language model alone: a pair is one text, and the source is its beginning."""

from collections.abc import Iterator, Sequence
from itertools import groupby

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.decoding import greedy
from course_lib.gpt import GPT
from course_lib.masks import padding_mask
from course_lib.tokens import BOS, EOS, PAD, Tokens, buckets, pad

NOT_COUNTED = -100  # the label of a position that has no part in the loss
Pair = tuple[str, str]
IdsAndLabels = tuple[Int[Tensor, "batch tokens"], Int[Tensor, "batch tokens"]]


def prompt(source: Sequence[int]) -> list[int]:
    """What the model reads before it translates: BOS, the source, and an EOS that parts it from the rest."""
    return [BOS, *source, EOS]


def next_labels(ids: Sequence[int], first: int = 1) -> list[int]:
    """For each token the one that follows it, where that is the token number `first` or a later one."""
    return [*(i if n >= first else NOT_COUNTED for n, i in enumerate(ids[1:], start=1)), NOT_COUNTED]


def pad_both(texts: Sequence[Sequence[int]], labels: Sequence[Sequence[int]]) -> IdsAndLabels:
    """Texts padded with PAD, their labels with NOT_COUNTED."""
    ids = pad(texts)
    width = ids.shape[1]
    return ids, torch.tensor([[*row, *[NOT_COUNTED] * (width - len(row))] for row in labels])


class PairTexts:
    """Sentence pairs as batches of texts `BOS source EOS target EOS`, and the labels of their tokens.

    joint: whether the source counts in the loss too. Without it the model learns P(target | source), with it
    P(source, target) = P(source) · P(target | source).
    batch: pairs in a batch. max_tokens: of a text; longer ones are left out. seed: of the order.
    Raises ValueError where no pair is left.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        tokens: Tokens,
        batch: int,
        max_tokens: int = 64,
        seed: int = 0,
        joint: bool = False,
    ):
        source, target = (tokens.encode_batch([pair[side] for pair in pairs]) for side in (0, 1))
        both = [(prompt(s), [*t, EOS]) for s, t in zip(source, target, strict=True) if s and t]
        self.ids = [(s, t) for s, t in both if len(s) + len(t) <= max_tokens]
        if not self.ids:
            raise ValueError(f"no batches: none of the {len(pairs)} pairs fits into max_tokens={max_tokens}")
        self.batch, self.seed, self.joint = batch, seed, joint

    def epoch(self, number: int) -> list[list[int]]:
        """The batches of an epoch, as numbers of pairs; they depend on the seed and the epoch alone."""
        lengths = [(len(s) + len(t),) for s, t in self.ids]
        return buckets(lengths, self.batch, seed=self.seed * 1_000_003 + number)

    def collate(self, numbers: Sequence[int]) -> IdsAndLabels:
        """The texts of some pairs, and for each token the label: the next one, where it counts."""
        texts = [(len(s), [*s, *t]) for s, t in (self.ids[n] for n in numbers)]
        labels = [next_labels(ids, first=1 if self.joint else start) for start, ids in texts]
        return pad_both([ids for _, ids in texts], labels)


class LabelledObjective(nn.Module):
    """Cross-entropy of the labels, wherever a position has one.

    model: with `states` and `unembed`, a GPT or a TextEncoder.
    causal: whether a token sees only itself and those before it. Without, it sees the whole text, padding
    left out, as in an encoder; the labels must then not stand in the text.
    """

    def __init__(self, model: nn.Module, causal: bool = True):
        super().__init__()
        self.model, self.causal = model, causal

    def forward(
        self, ids: Int[Tensor, "batch tokens"], labels: Int[Tensor, "batch tokens"]
    ) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
        """Sum of the losses over the positions whose label is not NOT_COUNTED, and their number."""
        states = self.model.states(ids, mask=None if self.causal else padding_mask(ids, PAD))
        counted = labels != NOT_COUNTED
        logits = self.model.unembed(states[counted])  # of these alone: the output layer is dear
        return F.cross_entropy(logits, labels[counted], reduction="sum"), counted.sum()


def translate(
    model: GPT, tokens: Tokens, sentences: Sequence[str], max_tokens: int | None = None, batch: int = 128
) -> list[str]:
    """Translations of the sentences, greedily: the model reads each prompt once and goes on with it.

    Prompts of equal length make a batch, so none has padding. max_tokens: the most that are written for one
    sentence; by default what there is room for.
    Raises ValueError for an empty sentence and for one that leaves no room to write.
    """
    prompts = [prompt(ids) for ids in tokens.encode_batch(sentences)]
    longest, room = max(map(len, prompts), default=0), model.config.max_tokens
    if any(len(ids) == 2 for ids in prompts):
        raise ValueError(f"sentence {[len(ids) for ids in prompts].index(2)} is empty")
    if longest >= room:
        raise ValueError(f"a prompt of {longest} tokens leaves no room to write in max_tokens={room}")
    texts, training = [""] * len(prompts), model.training
    model.eval()
    for numbers in of_equal_length(prompts, batch):
        start = torch.tensor([prompts[n] for n in numbers], device=model.embedding.weight.device)
        most = room - start.shape[1] if max_tokens is None else min(max_tokens, room - start.shape[1])
        for n, ids in zip(numbers, greedy(model.generator(), start, EOS, most), strict=True):
            texts[n] = tokens.decode(ids)
    model.train(training)
    return texts


def of_equal_length(sequences: Sequence[Sequence[int]], batch: int) -> Iterator[list[int]]:
    """The numbers of the sequences, in groups of at most `batch` that are equally long."""

    def length(n: int) -> int:
        return len(sequences[n])

    for _, group in groupby(sorted(range(len(sequences)), key=length), key=length):
        numbers = list(group)
        yield from (numbers[i : i + batch] for i in range(0, len(numbers), batch))
