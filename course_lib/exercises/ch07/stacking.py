"""GPT: from ids to logits."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal
from course_lib.layers.blocks import EncoderBlock
from course_lib.layers.masks import causal_mask

Norm = Callable[[Tensor], Tensor]


def _gpt(
    mask: Callable[[int], Tensor | None] = causal_mask,
    positions_at: Sequence[str] = ("embedding",),
    final_norm: bool = True,
    chained: bool = True,
    skip: bool = False,
    output: Answer = lambda x, embedding: x @ embedding.T,
) -> Answer:
    """A GPT with options for the mistakes.

    positions_at: where the positions are added ("embedding", "blocks"). chained: whether each block reads the
    output of the one before. skip: add the input of a block to its output once more. output: the last layer.
    """

    def logits(ids: Tensor, embedding: Tensor, positions: Tensor, blocks: Sequence, norm: Norm) -> Tensor:
        tokens = ids.shape[1]
        x = first = embedding[ids] + positions[:tokens] * ("embedding" in positions_at)
        for block in blocks:
            x = x if chained else first
            x = block(x + positions[:tokens] * ("blocks" in positions_at), mask(tokens)) + x * skip
        return output(norm(x) if final_norm else x, embedding)

    return logits


def _numbered_back(ids: Tensor, embedding: Tensor, positions: Tensor, blocks: Sequence, norm: Norm) -> Tensor:
    return _gpt()(ids, embedding, positions[: ids.shape[1]].flip(0), blocks, norm)


def _network(d_model: int, heads: int, layers: int) -> tuple[list[EncoderBlock], torch.nn.LayerNorm]:
    """Blocks and the final LayerNorm, with the same random weights each time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(layers)
        return [EncoderBlock(d_model, heads, 2 * d_model) for _ in range(layers)], torch.nn.LayerNorm(d_model)


GPT = Exercise(
    id="07.gpt",
    reference=lambda ids, embedding, positions, blocks, norm: _gpt()(ids, embedding, positions, blocks, norm),
    inputs=(
        (torch.tensor([[2, 0, 4]]), normal(5, 4), normal(3, 4, seed=1), *_network(4, 2, 1)),
        (torch.tensor([[3, 1, 1, 6], [5, 0, 2, 3]]), normal(7, 6), normal(9, 6, seed=1), *_network(6, 3, 2)),
    ),
    mistakes=(
        mistake(
            "your model has no causal mask",
            "Without it, each token sees the one it has to predict. Pass causal_mask(tokens) to every block.",
            _gpt(mask=lambda tokens: None),
        ),
        mistake(
            "your mask hides the past instead of the future",
            "Rows are queries, columns are keys, and True means that a query may attend. The lower triangle "
            "must be True: causal_mask(tokens).",
            _gpt(mask=lambda tokens: causal_mask(tokens).T),
            _gpt(mask=lambda tokens: ~causal_mask(tokens)),
        ),
        mistake(
            "your model has no positions",
            "Then the order of the earlier tokens hardly matters to it. Add one row of `positions` to each "
            "embedding.",
            _gpt(positions_at=()),
        ),
        mistake(
            "your model adds the positions before every block",
            "The skip connections carry them through all blocks. Add them once, to the embeddings.",
            _gpt(positions_at=("embedding", "blocks")),
            _gpt(positions_at=("blocks",)),
        ),
        mistake(
            "your model numbers the positions from the end",
            "Position 0 is the first token: add positions[:tokens].",
            _numbered_back,
        ),
        mistake(
            "your model has no final norm",
            "In pre-norm, nothing normalizes the last sum. Apply `norm` after the last block.",
            _gpt(final_norm=False),
        ),
        mistake(
            "your blocks all read the embeddings",
            "Each block must read the output of the one before: x = block(x, mask).",
            _gpt(chained=False),
        ),
        mistake(
            "your model adds a second skip connection",
            "The block adds its input already. Use its output as it is: x = block(x, mask).",
            _gpt(skip=True),
        ),
        mistake(
            "your model returns hidden states",
            "The result needs one logit per token of the vocabulary: multiply each hidden state with "
            "every row of the embedding matrix.",
            _gpt(output=lambda x, embedding: x),
        ),
        mistake(
            "your model returns probabilities",
            "cross_entropy and the sampling functions expect logits. Leave out the softmax.",
            _gpt(output=lambda x, embedding: (x @ embedding.T).softmax(dim=-1)),
            _gpt(output=lambda x, embedding: (x @ embedding.T).log_softmax(dim=-1)),
        ),
        mistake(
            "your model predicts only at the last position",
            "In training, every position predicts its next token. Keep them all: (batch, tokens, vocab).",
            _gpt(output=lambda x, embedding: x[:, -1] @ embedding.T),
            _gpt(output=lambda x, embedding: x[:, -1:] @ embedding.T),
        ),
    ),
)  # fmt: skip
