"""Attention weights of the C182-3 system for one sentence."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Maps:
    """Attention weights for one sentence: (layers, heads, queries, keys), as nested lists.

    source, target: the words read and the words written, which label the rows and the columns.
    encoder, decoder: self-attention. cross: from the words written to the words read.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    encoder: list[list[list[list[float]]]]
    decoder: list[list[list[list[float]]]]
    cross: list[list[list[list[float]]]]
