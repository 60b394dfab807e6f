"""Batching: padding, batch samplers whose position can be saved, and a `DataLoader` that uses them."""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import torch
from jaxtyping import Int
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler, TensorDataset

from course_lib.text.tokenizers import PAD
from course_lib.text.unicode_text import refuse_texts
from course_lib.utils.device import to_device
from course_lib.utils.ranges import check_whole

Example = TypeVar("Example")


def pad(sequences: Sequence[Sequence[int]], to: int | None = None) -> Int[Tensor, "batch tokens"]:
    """Padding: sequences of ids as one tensor, padded on the right to the longest, or to `to` tokens.

    Raises ValueError if a sequence is longer than `to`, if there are no sequences, and for texts.

    >>> pad([[5, 6, 7], [8]])
    tensor([[5, 6, 7],
            [8, 0, 0]])
    """
    refuse_texts(ids=sequences)
    if not sequences:
        raise ValueError("an empty batch cannot be padded")
    longest = max(map(len, sequences))
    width = longest if to is None else to
    if longest > width:
        raise ValueError(f"a sequence of {longest} tokens does not fit into to={width}")
    return torch.tensor([[*ids, *[PAD] * (width - len(ids))] for ids in sequences], dtype=torch.long)


class EpochBatchSampler(Sampler[list[int]]):
    """Batch sampler whose order depends only on the seed and the epoch, so a training run can resume.

    Iterating yields the remaining batches of the current epoch and then moves on to the next epoch.
    seed: of the order. batch: batch size.
    """

    def __init__(self, batch: int, seed: int = 0):
        check_whole(1, batch=batch)
        self.batch, self.seed = batch, seed
        self.epoch = self.position = 0

    def batches(self, epoch: int) -> list[list[int]]:
        """All batches of an epoch, each a list of indices of examples."""
        raise NotImplementedError

    def compact(self, epoch: int) -> Sequence[list[int]] | Int[Tensor, "batches batch"]:
        """The same as `batches`, in a form that may need less memory."""
        return self.batches(epoch)

    def seed_of(self, epoch: int) -> int:
        return self.seed * 1_000_003 + epoch

    def __iter__(self) -> Iterator[list[int]]:
        batches = self.compact(self.epoch)
        while self.position < len(batches):
            self.position += 1
            batch = batches[self.position - 1]
            yield batch.tolist() if isinstance(batch, Tensor) else batch
        self.epoch, self.position = self.epoch + 1, 0

    def __len__(self) -> int:
        """Number of batches in the current epoch."""
        return len(self.compact(self.epoch))

    def state_dict(self) -> dict[str, int]:
        """The epoch, and the number of its batches that have been yielded."""
        return {"epoch": self.epoch, "position": self.position}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Continue from a saved state."""
        self.epoch, self.position = state["epoch"], state["position"]


class BucketBatchSampler(EpochBatchSampler):
    """Length bucketing: batches of examples of similar length.

    Shuffle the indices, cut them into pools of `pool` batches, sort each pool by length, cut it into batches,
    and shuffle the batches. This needs little padding, yet each epoch has different batches.

    >>> sampler = BucketBatchSampler(lengths=[(3,), (9,), (3,), (9,)], batch=2)
    >>> sorted(map(sorted, sampler.batches(epoch=0)))  # texts of 3 tokens together, and texts of 9
    [[0, 2], [1, 3]]
    """

    def __init__(self, lengths: Sequence[tuple[int, ...]], batch: int, seed: int = 0, pool: int = 100):
        super().__init__(batch, seed)
        self.lengths, self.pool = lengths, pool

    def batches(self, epoch: int) -> list[list[int]]:
        order = list(range(len(self.lengths)))
        rng = random.Random(self.seed_of(epoch))
        rng.shuffle(order)
        found = []
        for start in range(0, len(order), self.pool * self.batch):
            near = sorted(order[start : start + self.pool * self.batch], key=lambda i: self.lengths[i])
            found += [near[i : i + self.batch] for i in range(0, len(near), self.batch)]
        rng.shuffle(found)
        return found


class RandomBatchSampler(EpochBatchSampler):
    """Every `stride`-th example, from a random one of the first `stride`, in random order.

    With stride=1, these are all examples. An incomplete last batch is dropped.
    """

    def __init__(self, examples: int, batch: int, seed: int = 0, stride: int = 1):
        super().__init__(batch, seed)
        self.examples, self.stride = examples, stride

    def batches(self, epoch: int) -> list[list[int]]:
        return self.compact(epoch).tolist()

    def compact(self, epoch: int) -> Int[Tensor, "batches batch"]:
        rng = torch.Generator().manual_seed(self.seed_of(epoch))
        first = torch.randint(self.stride, (), generator=rng).item() if self.stride > 1 else 0
        chosen = torch.arange(first, self.examples, self.stride)
        chosen = chosen[torch.randperm(len(chosen), generator=rng)]
        return chosen[: len(chosen) // self.batch * self.batch].view(-1, self.batch)


class ListDataset(Dataset[Example]):
    """Examples in a list."""

    def __init__(self, examples: Sequence[Example]):
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, number: int) -> Example:
        return self.examples[number]


class TensorExamples(TensorDataset):
    """`TensorDataset` that reads a batch in one step: `collate_fn` gets tensors, not a list of examples."""

    def __getitems__(self, numbers: list[int]) -> tuple[Tensor, ...]:
        return self[to_device(torch.tensor(numbers), self.tensors[0].device)]


class Batches(DataLoader[Any]):
    """`DataLoader` for training, with a batch sampler whose position can be saved.

    Iterating draws nothing from PyTorch's global generator, unlike in a plain `DataLoader`, which draws the
    seed of its worker processes; so what a model draws does not depend on where its epochs begin.
    """

    batch_sampler: EpochBatchSampler

    def __init__(
        self,
        dataset: Dataset,
        batch_sampler: EpochBatchSampler,
        collate_fn: Callable[[Any], tuple[Tensor, ...]],
    ):
        own = torch.Generator()
        super().__init__(dataset, batch_sampler=batch_sampler, collate_fn=collate_fn, generator=own)

    def batch_of(self, numbers: Sequence[int]) -> tuple[Tensor, ...]:
        """The batch of the examples with these indices."""
        chosen = DataLoader(
            self.dataset,
            batch_sampler=[list(numbers)],
            collate_fn=self.collate_fn,
            generator=torch.Generator(),
        )
        return next(iter(chosen))
