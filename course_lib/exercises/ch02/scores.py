"""Batched matrix products and additive attention scores."""

import math

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Arguments, Exercise, mistake, normal


def _einsum(equation: str) -> Answer:
    return lambda q, k: torch.einsum(equation, q, k)


_dot_products = _einsum("nqd,nkd->nqk")


BMM = Exercise(
    id="02.bmm",
    reference=lambda q, k: _dot_products(q, k),
    inputs=(
        (torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[3.0, 4.0]]])),
        (torch.arange(8.0).reshape(2, 2, 2), torch.arange(9.0, 1.0, -1.0).reshape(2, 2, 2)),
        (normal(3, 3, 3), normal(3, 3, 3, seed=1)),
        (normal(2, 3, 4), normal(2, 5, 4, seed=1)),
    ),
    mistakes=(
        mistake(
            "your code multiplies the keys without transposing them",
            "q and k share the width d, the last axis of both, and the product must sum over it. If "
            "there are as many keys as features, the wrong pair of axes runs without an error.",
            _einsum("nqd,ndk->nqk"),
            lambda q, k: q @ k,
        ),
        mistake(
            "your code reshapes the keys instead of transposing them",
            "reshape and view keep the numbers in memory order, so each column mixes parts of "
            "different keys. Use k.transpose(-2, -1).",
            lambda q, k: q @ k.reshape(k.shape[0], k.shape[2], k.shape[1]),
        ),
        mistake(
            "your code sums over the batch",
            "Each sentence has its own scores, so n must be the first axis of the result. In einsum, a "
            "letter that is missing after the arrow is summed over.",
            _einsum("nqd,nkd->qk"),
        ),
        mistake(
            "your code pairs each sentence with every other",
            "Two different letters for the batch form all pairs of sentences. Use the same letter n in both.",
            _einsum("nqd,mkd->nmqk"),
            _einsum("nqd,mkd->nqk"),
        ),
        mistake(
            "your code swaps queries and keys",
            "The rows of the result belong to the queries, its columns to the keys. Put q on the left of the "
            "product.",
            _einsum("nqd,nkd->nkq"),
        ),
        mistake(
            "your code multiplies elementwise",
            "q * k needs as many queries as keys and sums nothing, so it is not a dot product. The matrix "
            "product `@` pairs every query with every key and sums over d.",
            lambda q, k: q * k,
            _einsum("nqd,nqd->nqd"),
        ),
        mistake(
            "your code pairs each query only with the key of the same index",
            "The same letter for queries and keys takes the diagonal of the score matrix. Use two "
            "different letters.",
            _einsum("nqd,nqd->nq"),
            lambda q, k: (q * k).sum(-1),
        ),
        mistake(
            "your code reverses all axes of the keys",
            "k.T does that to a tensor with three axes, and then the sentences are no longer the first one. "
            "Swap only the last two axes: k.transpose(-2, -1), or k.mT.",
            lambda q, k: q @ k.permute(2, 1, 0),
        ),
        mistake(
            "your code scales the scores",
            "This exercise asks for the plain dot products. Attention divides them by √d afterwards; leave "
            "that out here.",
            lambda q, k: _dot_products(q, k) / math.sqrt(q.shape[-1]),
            lambda q, k: _dot_products(q, k) / q.shape[-1],
        ),
        mistake(
            "your code already applies the softmax",
            "This exercise asks for the scores. The softmax comes later, after the mask.",
            lambda q, k: _dot_products(q, k).softmax(-1),
            lambda q, k: (_dot_products(q, k) / math.sqrt(q.shape[-1])).softmax(-1),
        ),
    ),
)


def _pairwise_sums(q: Tensor, k: Tensor) -> Tensor:
    return q[..., :, None, :] + k[..., None, :, :]


def _additive(q: Tensor, k: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    return torch.tanh(_pairwise_sums(q @ w_q.T, k @ w_k.T)) @ w_v


def _pairwise_products(q: Tensor, k: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    return torch.tanh((q @ w_q.T)[..., :, None, :] * (k @ w_k.T)[..., None, :, :]) @ w_v


def _shapes(queries: int, keys: int, d_query: int, d_key: int, d_hidden: int, *batch: int) -> Arguments:
    """Random q, k, w_q, w_k, w_v."""
    shapes = (
        (*batch, queries, d_query),
        (*batch, keys, d_key),
        (d_hidden, d_query),
        (d_hidden, d_key),
        (d_hidden,),
    )
    return tuple(normal(*shape, seed=seed) for seed, shape in enumerate(shapes))


ADDITIVE = Exercise(
    id="02.additive",
    reference=_additive,
    inputs=(
        (torch.eye(1, 2), 2 * torch.eye(1, 2), torch.eye(2), torch.ones(2, 2), torch.tensor([1.0, 2.0])),
        _shapes(3, 3, 3, 3, 3),
        _shapes(3, 5, 4, 6, 7, 2),
    ),
    mistakes=(
        mistake(
            "your code leaves out the tanh",
            "Without it, the score is a number for the query plus a number for the key. The first is "
            "the same for all keys, so softmax cancels it, and every query gets the same weights.",
            lambda q, k, w_q, w_k, w_v: _pairwise_sums(q @ w_q.T, k @ w_k.T) @ w_v,
        ),
        mistake(
            "your code applies tanh last",
            "Its input is then a number for the query plus a number for the key. tanh is monotonic, so "
            "all queries rank the keys in the same order. Apply tanh before w_v.",
            lambda q, k, w_q, w_k, w_v: torch.tanh(_pairwise_sums(q @ w_q.T, k @ w_k.T) @ w_v),
        ),
        mistake(
            "your code applies tanh to query and key separately",
            "Then the score is again a number for the query plus a number for the key, and softmax "
            "cancels the first. Add, and then apply tanh.",
            lambda q, k, w_q, w_k, w_v: _pairwise_sums(torch.tanh(q @ w_q.T), torch.tanh(k @ w_k.T)) @ w_v,
        ),
        mistake(
            "your code adds query i only to key i",
            "Every query must meet every key. Give each its own axis: q[..., :, None, :] + k[..., "
            "None, :, :].",
            lambda q, k, w_q, w_k, w_v: torch.tanh(q @ w_q.T + k @ w_k.T) @ w_v,
        ),
        mistake(
            "your code swaps queries and keys",
            "Rows must belong to the queries and columns to the keys. Insert the new axis after that "
            "of the queries and before that of the keys.",
            lambda *given: _additive(*given).transpose(-2, -1),
        ),
        mistake(
            "your code uses the transposed matrices",
            "Like nn.Linear, w_q has one row per output: its shape is (d_hidden, d). Compute q @ w_q.T.",
            lambda q, k, w_q, w_k, w_v: torch.tanh(_pairwise_sums(q @ w_q, k @ w_k)) @ w_v,
        ),
        mistake(
            "your code multiplies query and key instead of adding",
            "The product belongs to dot-product attention. In additive attention, add the two "
            "projections; the tanh makes the score more than a sum.",
            _pairwise_products,
        ),
        mistake(
            "your code already applies the softmax",
            "The exercise asks for the scores. The softmax comes later, after the mask.",
            lambda *given: _additive(*given).softmax(-1),
        ),
        mistake(
            "your code does not sum over the hidden features",
            "w_v turns the d_hidden features of a pair into one number, the score: `@ w_v`, not `* w_v`.",
            lambda q, k, w_q, w_k, w_v: torch.tanh(_pairwise_sums(q @ w_q.T, k @ w_k.T)) * w_v,
            lambda q, k, w_q, w_k, w_v: torch.tanh(_pairwise_sums(q @ w_q.T, k @ w_k.T)),
        ),
        mistake(
            "your code scales the scores",
            "tanh keeps the features between −1 and 1, so additive attention needs no scaling.",
            lambda *given: _additive(*given) / math.sqrt(len(given[-1])),
        ),
        mistake(
            "your code uses ReLU",
            "Additive attention has tanh between the two layers.",
            lambda q, k, w_q, w_k, w_v: torch.relu(_pairwise_sums(q @ w_q.T, k @ w_k.T)) @ w_v,
        ),
        mistake(
            "your code uses the sigmoid",
            "Additive attention has tanh between the two layers.",
            lambda q, k, w_q, w_k, w_v: torch.sigmoid(_pairwise_sums(q @ w_q.T, k @ w_k.T)) @ w_v,
        ),
        mistake(
            "your code leaves out w_v",
            "A plain sum of the hidden features counts them all alike. Weight them by w_v: `@ w_v`.",
            lambda q, k, w_q, w_k, w_v: torch.tanh(_pairwise_sums(q @ w_q.T, k @ w_k.T)).sum(-1),
        ),
        mistake(
            "your code subtracts query and key",
            "Add the two projections.",
            lambda q, k, w_q, w_k, w_v: torch.tanh(_pairwise_sums(q @ w_q.T, -k @ w_k.T)) @ w_v,
        ),
    ),
)
