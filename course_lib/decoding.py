"""Text from a model, one token at a time."""

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor


@runtime_checkable
class Generator(Protocol):
    """A model in the middle of writing: it remembers what it has read (`Seq2Seq.generator`)."""

    def read(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch vocab"]:
        """Read some more tokens; the logits of the one that follows."""
        ...

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Go on with these sentences of the batch, in this order."""
        ...


@torch.inference_mode()
def greedy(
    generator: Generator, start: Int[Tensor, "batch tokens"], end: int, max_tokens: int
) -> list[list[int]]:
    """Take the most probable token each time, until `end` has come or `max_tokens` are written.

    start: what the model reads first. end: the id that ends a sentence; it is not part of what is returned.
    A sentence that has ended leaves the batch, so that nothing more is computed for it.
    Raises ValueError where `max_tokens` is not positive.
    """
    if max_tokens < 1:
        raise ValueError(f"max_tokens={max_tokens} leaves nothing to write")
    written: list[list[int]] = [[] for _ in start]
    open_rows = list(range(len(start)))
    ids = start
    for _ in range(max_tokens):
        ids = generator.read(ids).argmax(dim=-1, keepdim=True)
        going = []
        for row, i in enumerate(ids.flatten().tolist()):
            if i != end:
                written[open_rows[row]].append(i)
                going.append(row)
        if not going:
            break
        if len(going) < len(open_rows):
            rows = torch.tensor(going, device=ids.device)
            generator.select(rows)
            ids, open_rows = ids[rows], [open_rows[row] for row in going]
    return written
