"""GPT: from ids to logits."""

import math
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
    chained: bool = True,
    skip: bool = False,
    norms: Sequence[str] = ("last",),
    output: Answer = lambda x, embedding: x @ embedding.T,
    rows: Answer = lambda positions, ids: positions[: ids.shape[1]],
    scale: Callable[[int], float] = lambda d_model: 1.0,
) -> Answer:
    """A GPT with options for the mistakes.

    positions_at: where the positions are added ("embedding", "blocks"). chained: whether each block reads the
    output of the one before. skip: add the input of a block to its output once more. norms: where the norm is
    applied ("first", "each", "last"). output: the last layer. rows: of the positions. scale: of embeddings.
    """

    def logits(ids: Tensor, embedding: Tensor, positions: Tensor, blocks: Sequence, norm: Norm) -> Tensor:
        tokens = ids.shape[1]
        place = rows(positions, ids)
        x = embedding[ids] * scale(embedding.shape[1]) + place * ("embedding" in positions_at)
        x = first = norm(x) if "first" in norms else x
        for block in blocks:
            x = x if chained else first
            x = block(x + place * ("blocks" in positions_at), mask(tokens)) + x * skip
            x = norm(x) if "each" in norms else x
        return output(norm(x) if "last" in norms else x, embedding)

    return logits


def _numbered_back(ids: Tensor, embedding: Tensor, positions: Tensor, blocks: Sequence, norm: Norm) -> Tensor:
    return _gpt()(ids, embedding, positions[: ids.shape[1]].flip(0), blocks, norm)


def add_sum_of_visible(x: Tensor, mask: Tensor | None = None) -> Tensor:
    """A stand-in for a block that can be computed by hand: each token adds all tokens that it may see."""
    visible = torch.ones(x.shape[-2], x.shape[-2]) if mask is None else mask.float()
    return x + visible @ x


def times_ten(x: Tensor) -> Tensor:
    """A stand-in for the final LayerNorm."""
    return 10 * x


def _network(d_model: int, heads: int, layers: int) -> tuple[list[EncoderBlock], torch.nn.LayerNorm]:
    """Blocks and the final LayerNorm, with the same random weights each time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(layers)
        return [EncoderBlock(d_model, heads, 2 * d_model) for _ in range(layers)], torch.nn.LayerNorm(d_model)


GPT = Exercise(
    id="07.gpt",
    reference=lambda ids, embedding, positions, blocks, norm: _gpt()(ids, embedding, positions, blocks, norm),
    inputs=(
        (
            torch.tensor([[2, 0, 3]]),
            torch.tensor([[1.0, 0], [0, 1], [2, 1], [0, 3]]),
            torch.tensor([[0.0, 0], [0, 2], [4, 0], [3, 5], [7, 1]]),
            [add_sum_of_visible],
            times_ten,
        ),
        (torch.tensor([[2, 0, 4]]), normal(5, 4), normal(8, 4, seed=1), *_network(4, 2, 1)),
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
            _gpt(norms=()),
        ),
        mistake(
            "your model applies the final norm after every block",
            "`norm` is the *final* LayerNorm; each block has its own. Apply it once, after the loop.",
            _gpt(norms=("each",)),
            _gpt(norms=("each", "last")),
        ),
        mistake(
            "your model applies the final norm before the blocks",
            "Each block begins with its own norm. What nothing normalizes is the sum after the last "
            "block.",
            _gpt(norms=("first",)),
            _gpt(norms=("first", "last")),
        ),
        mistake(
            "your model scales the embeddings by √d_model",
            "The original Transformer does that (chapter 6); GPT does not. Add the positions to the "
            "embeddings as they are.",
            _gpt(scale=math.sqrt),
        ),
        mistake(
            "your model adds a row of positions too many or too few",
            "`positions` has max_tokens rows, more than a short text needs. Take the first ones: "
            "positions[:tokens].",
            _gpt(rows=lambda positions, ids: positions),
            _gpt(rows=lambda positions, ids: positions[: ids.shape[1] - 1]),
        ),
        mistake(
            "your model numbers the positions from 1",
            "The first token has position 0: add positions[:tokens].",
            _gpt(rows=lambda positions, ids: positions[1 : ids.shape[1] + 1]),
        ),
        mistake(
            "your model adds the last rows of the positions",
            "The first token has position 0: add positions[:tokens].",
            _gpt(rows=lambda positions, ids: positions[-ids.shape[1] :]),
        ),
        mistake(
            "your model looks up the positions by the ids",
            "positions[ids] depends on *which* token it is, not on where it is. Add positions[:tokens].",
            _gpt(rows=lambda positions, ids: positions[ids % len(positions)]),
        ),
        mistake(
            "your model gives all tokens the same position",
            "positions[tokens] is a single row. Take one row per token: positions[:tokens].",
            _gpt(rows=lambda positions, ids: positions[ids.shape[1]]),
            _gpt(rows=lambda positions, ids: positions[ids.shape[1] - 1]),
            _gpt(rows=lambda positions, ids: positions[0]),
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
        mistake(
            "your model returns the most likely tokens",
            "The result are the logits of all tokens: leave out argmax.",
            _gpt(output=lambda x, embedding: (x @ embedding.T).argmax(-1)),
        ),
        mistake(
            "your model takes the batch size for the number of tokens",
            "`ids` is (batch, tokens): the number of tokens is ids.shape[1].",
            _gpt(rows=lambda positions, ids: positions[: ids.shape[0]]),
        ),
    ),
)  # fmt: skip
