"""Logit lens: next-token probabilities from the residual stream at each depth."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.exercises.exercise import Answer, Arguments, Exercise, mistake, normal


def _case(depths: int, tokens: int, d_model: int, vocab: int, seed: int) -> Arguments:
    """A residual stream, a LayerNorm with a gain and a bias, and an embedding matrix."""
    norm = nn.LayerNorm(d_model).requires_grad_(False)
    norm.weight.copy_(1 + 0.5 * normal(d_model, seed=seed + 1))
    norm.bias.copy_(0.5 * normal(d_model, seed=seed + 2))
    stream = 3 * normal(depths, tokens, d_model, seed=seed)
    return stream, norm, normal(vocab, d_model, seed=seed + 3)


def minus_mean(x: Tensor) -> Tensor:
    """A stand-in for the final LayerNorm that can be computed by hand."""
    return x - x.mean(dim=-1, keepdim=True)


def _softmax_over(dim: int) -> Answer:
    return lambda stream, norm, embedding: (norm(stream) @ embedding.T).softmax(dim=dim)


def _through_the_last(stream: Tensor, norm: Answer, embedding: Tensor) -> Tensor:
    return (norm(stream[-1]) @ embedding.T).softmax(dim=-1)


LENS = Exercise(
    id="07b.lens",
    reference=_softmax_over(-1),
    inputs=(
        (
            torch.tensor([[[1.0, 3.0]], [[4.0, 0.0]]]),
            minus_mean,
            torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
        ),
        _case(2, 1, 3, 4, seed=0),
        _case(3, 5, 4, 6, seed=10),
    ),
    mistakes=(
        mistake(
            "your code skips the final LayerNorm",
            "The stream grows from block to block, and the output layer was trained on normalized "
            "vectors. Apply `norm` to `stream` first.",
            lambda stream, norm, embedding: (stream @ embedding.T).softmax(dim=-1),
        ),
        mistake(
            "your code normalizes without the norm's gain and bias",
            "The final LayerNorm has learned a gain and a bias, and the output layer was trained with them. "
            "Call `norm` itself.",
            lambda stream, norm, embedding: (F.layer_norm(stream, stream.shape[-1:]) @ embedding.T).softmax(
                dim=-1
            ),
        ),
        mistake(
            "your code applies the norm twice",
            "Once is enough: norm(stream).",
            lambda stream, norm, embedding: (norm(norm(stream)) @ embedding.T).softmax(dim=-1),
        ),
        mistake(
            "your code applies the softmax twice",
            "A second softmax makes the probabilities nearly uniform. Apply it once, to the logits.",
            lambda stream, norm, embedding: (norm(stream) @ embedding.T).softmax(dim=-1).softmax(dim=-1),
        ),
        mistake(
            "your code applies the softmax to the stream",
            "First the logits, norm(stream) @ embedding.T. The softmax comes last, over the vocabulary.",
            lambda stream, norm, embedding: norm(stream).softmax(dim=-1) @ embedding.T,
            lambda stream, norm, embedding: stream.softmax(dim=-1) @ embedding.T,
        ),
        mistake(
            "your code adds up the depths",
            "Each depth of `stream` already contains everything that earlier blocks have added. Read it "
            "as it is.",
            lambda stream, norm, embedding: _softmax_over(-1)(stream.cumsum(dim=0), norm, embedding),
        ),
        mistake(
            "your code averages over the depths",
            "The lens asks what each depth would predict. Keep the first axis.",
            lambda stream, norm, embedding: _softmax_over(-1)(stream.mean(dim=0), norm, embedding),
            lambda stream, norm, embedding: _softmax_over(-1)(stream, norm, embedding).mean(dim=0),
        ),
        mistake(
            "your code returns logits",
            "Logits can be negative and do not sum to 1. End with a softmax over the vocabulary.",
            lambda stream, norm, embedding: norm(stream) @ embedding.T,
        ),
        mistake(
            "your softmax is over the wrong axis",
            "For each depth and each token, the probabilities of all words must sum to 1. The vocabulary "
            "is the last axis.",
            _softmax_over(-2),
            _softmax_over(0),
        ),
        mistake(
            "your code reads the last depth only",
            "That is the model's own prediction. The lens applies the same output layer to every depth "
            "of `stream`.",
            _through_the_last,
            lambda stream, norm, embedding: _through_the_last(stream, norm, embedding).expand(
                len(stream), -1, -1
            ),
        ),
        mistake(
            "your code measures the change between depths",
            "Each depth of `stream` already contains everything that earlier blocks have added. Read it "
            "as it is.",
            lambda stream, norm, embedding: _softmax_over(-1)(
                stream.diff(dim=0, prepend=0 * stream[:1]), norm, embedding
            ),
        ),
        mistake(
            "your code returns log-probabilities",
            "The exercise asks for probabilities. Use `softmax`, not `log_softmax`.",
            lambda stream, norm, embedding: (norm(stream) @ embedding.T).log_softmax(dim=-1),
        ),
        mistake(
            "your code applies a sigmoid",
            "The words compete: use a softmax over the vocabulary.",
            lambda stream, norm, embedding: (norm(stream) @ embedding.T).sigmoid(),
        ),
        mistake(
            "your code returns the most likely words",
            "Return the probabilities of all words.",
            lambda stream, norm, embedding: (norm(stream) @ embedding.T).argmax(dim=-1),
        ),
        mistake(
            "your code reads the last token only",
            "The lens applies the output layer to every token at every depth.",
            lambda stream, norm, embedding: _softmax_over(-1)(stream[:, -1], norm, embedding),
            lambda stream, norm, embedding: _softmax_over(-1)(stream[:, -1:], norm, embedding),
        ),
        mistake(
            "your code normalizes the logits",
            "The final LayerNorm comes before the output layer: normalize the stream.",
            lambda stream, norm, embedding: norm(stream @ embedding.T).softmax(-1),
        ),
    ),
)
