"""Batched products and additive scores."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Arguments, Exercise, mistake, normal


def _einsum(equation: str) -> Answer:
    return lambda q, k: torch.einsum(equation, q, k)


BMM = Exercise(
    id="02.bmm",
    reference=_einsum("nqd,nkd->nqk"),
    inputs=(
        (torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[3.0, 4.0]]])),
        (torch.arange(8.0).reshape(2, 2, 2), torch.arange(9.0, 1.0, -1.0).reshape(2, 2, 2)),
        (normal(3, 3, 3), normal(3, 3, 3, seed=1)),
        (normal(2, 3, 4), normal(2, 5, 4, seed=1)),
    ),
    mistakes=(
        mistake(
            "multiplies the keys as they lie, without turning them",
            "Query and key share their width d, the last axis of both: those two axes belong together. With "
            "as many keys as numbers in a vector, the wrong pair of axes runs, too.",
            _einsum("nqd,ndk->nqk"),
            lambda q, k: q @ k,
        ),
        mistake(
            "reshapes the keys where it should turn them",
            "reshape and view keep the numbers in their order and only cut them into other rows: parts of "
            "different keys then stand in one column. k.transpose(-2, -1) turns rows into columns.",
            lambda q, k: q @ k.reshape(k.shape[0], k.shape[2], k.shape[1]),
        ),
        mistake(
            "adds the batch up",
            "A letter that is missing on the right of the arrow is summed over. Without n, the scores of all "
            "sentences come to one table.",
            _einsum("nqd,nkd->qk"),
        ),
        mistake(
            "pairs each sentence with every other",
            "Two different letters for the batch make a table of all pairs of sentences. The same letter n "
            "in both keeps to the same sentence.",
            _einsum("nqd,mkd->nmqk"),
            _einsum("nqd,mkd->nqk"),
        ),
        mistake(
            "swaps queries and keys",
            "The rows of the result belong to the queries: q before k on the right of the arrow.",
            _einsum("nqd,nkd->nkq"),
        ),
        mistake(
            "multiplies number by number",
            "q * k needs as many queries as keys and adds nothing up: it is no dot product. The letter d, "
            "missing on the right of the arrow, is what is summed over.",
            lambda q, k: q * k,
            _einsum("nqd,nqd->nqd"),
        ),
        mistake(
            "pairs each query with the key of the same number only",
            "The same letter for queries and keys takes the diagonal of the table. They need two letters.",
            _einsum("nqd,nqd->nq"),
            lambda q, k: (q * k).sum(-1),
        ),
    ),
)


def _pairs(q: Tensor, k: Tensor) -> Tensor:
    return q[..., :, None, :] + k[..., None, :, :]


def _additive(q: Tensor, k: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    return torch.tanh(_pairs(q @ w_q.T, k @ w_k.T)) @ w_v


def _products(q: Tensor, k: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
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
            "leaves the tanh out",
            "Without it the score is a number for the query plus a number for the key. The first one is the "
            "same for all keys, so softmax drops it: every query gets the same weights.",
            lambda q, k, w_q, w_k, w_v: _pairs(q @ w_q.T, k @ w_k.T) @ w_v,
        ),
        mistake(
            "takes the tanh last",
            "Inside it then stands a number for the query plus a number for the key. tanh only ever rises, "
            "so all queries put the keys in the same order.",
            lambda q, k, w_q, w_k, w_v: torch.tanh(_pairs(q @ w_q.T, k @ w_k.T) @ w_v),
        ),
        mistake(
            "bends query and key apart, before they are added",
            "Then the score is again a number for the query plus a number for the key, and softmax drops the "
            "first. Add, and then take tanh.",
            lambda q, k, w_q, w_k, w_v: _pairs(torch.tanh(q @ w_q.T), torch.tanh(k @ w_k.T)) @ w_v,
        ),
        mistake(
            "adds query i to key i only",
            "Every query meets every key: give the queries an axis for the keys and the keys one for the "
            "queries, q[..., :, None, :] + k[..., None, :, :].",
            lambda q, k, w_q, w_k, w_v: torch.tanh(q @ w_q.T + k @ w_k.T) @ w_v,
        ),
        mistake(
            "swaps queries and keys",
            "The rows must belong to the queries, the columns to the keys: the new axis of the queries comes "
            "after theirs, the new axis of the keys before theirs.",
            lambda *given: _additive(*given).transpose(-2, -1),
        ),
        mistake(
            "uses the matrices the wrong way round",
            "A Linear layer keeps its weights with one row for each output, (d_hidden, d): so q @ w_q.T.",
            lambda q, k, w_q, w_k, w_v: torch.tanh(_pairs(q @ w_q, k @ w_k)) @ w_v,
        ),
        mistake(
            "multiplies where it should add",
            "A product of query and key belongs to the other scoring function. Here they are added; the tanh "
            "makes the score more than a sum.",
            _products,
        ),
        mistake(
            "takes the softmax already",
            "Asked are the scores. Softmax comes after the mask.",
            lambda *given: _additive(*given).softmax(-1),
        ),
    ),
)
