"""What is odd in DLStudio's translation Transformers: one switch for each oddity of the model."""

from dataclasses import dataclass, field, fields, replace
from typing import Any

FLAT = ("flat_self_attention", "flat_cross_attention", "flat_feed_forward")
"""The layers that may read a whole sentence as one long vector."""


def oddity(row: int | str, does: str) -> Any:
    """A switch, off by default.

    row: what belongs together has the same number; 5 is not there, for the positions are as they should be.
    Those of the vision Transformer are V1 to V3.
    does: what the oddity does to the model.
    """
    return field(default=False, metadata={"row": row, "does": does})


@dataclass(frozen=True)
class Switches:
    """What the oddities of all systems share."""

    def without(self, *names: str) -> "Switches":
        """These oddities mended, the others kept; ValueError for a name that is none."""
        known = [one.name for one in fields(self)]
        for name in names:
            if name not in known:
                raise ValueError(f"{name!r} is none of the {len(known)} oddities {known}")
        return replace(self, **dict.fromkeys(names, False))

    @classmethod
    def descriptions(cls) -> dict[str, tuple[int | str, str]]:
        """Each oddity's row in the course's list, and what it does."""
        return {one.name: (one.metadata["row"], one.metadata["does"]) for one in fields(cls)}


@dataclass(frozen=True, kw_only=True)
class Oddities(Switches):
    """The switches. With all of them off the model is the Transformer of the paper.

    `Oddities.lecture()` is the model behind the lecture's results, `without` mends it piece by piece, and
    `descriptions` says in words what each switch does.
    Raises ValueError where zeroing shall hide later words and there is one pass for all of them.
    Source: DLStudio 2.4.3, module Transformers; Kak slides 32, 46, 52, 55 and 59.
    """

    scale_after_softmax: bool = oddity(
        1, "1/√d_head comes after the softmax: it shrinks the output, and large scores still saturate"
    )
    softmax_over_queries: bool = oddity(
        1, "the softmax runs over the queries: columns of weights sum to 1, rows sum to anything"
    )
    flat_self_attention: bool = oddity(
        2, "queries, keys, values of a head come from the flattened sentence: fixed length, nothing shared"
    )
    flat_cross_attention: bool = oddity(2, "the same in cross-attention")
    flat_feed_forward: bool = oddity(
        3, "the feed-forward layer reads the flattened sentence: most of the parameters, positions mixed"
    )
    sliced_heads: bool = oddity(4, "head h sees slice h of the vectors, and nothing of the other slices")
    no_output_projection: bool = oddity(4, "what the heads found is never mixed by attention itself")
    unscaled_embeddings: bool = oddity(6, "embeddings are not multiplied by √d_model")
    untied_output: bool = oddity(6, "the output layer has weights of its own instead of the embeddings")
    no_dropout: bool = oddity(6, "nothing is dropped in training")
    no_label_smoothing: bool = oddity(6, "the right word gets the whole target probability")
    unmasked: bool = oddity(
        9, "the lecture's masking=False: the decoder sees the whole target, also the word it shall predict"
    )
    mask_by_zeroing: bool = oddity(
        9, "the lecture's masking=True: later positions become zeros, and still take part in the softmax"
    )
    mask_only_at_entry: bool = oddity(
        9, "zeros at the first decoder block only; PreLN computes the others and does not use them"
    )
    pass_per_position: bool = oddity(
        10, "the whole decoder runs once for each word, also in training; unmasked, all runs are the same"
    )
    no_shift: bool = oddity(11, "word t is read at position t and predicted there, not one position before")
    starts_with_eos: bool = oddity(13, "slot 0 of the output is never written, and EOS stood there before")
    padding_attended: bool = oddity(14, "padding, which is EOS, is never masked")
    padding_counted: bool = oddity(14, "padding counts in the loss, like words")
    no_cross_residual: bool = oddity(15, "no residual around cross-attention (FG only)")
    no_final_norm: bool = oddity(16, "the stacks of PreLN end without a LayerNorm")
    no_encoder_residual: bool = oddity(18, "as printed: no residual around the encoder's self-attention")
    mask_slices_embedding: bool = oddity(
        18, "as printed: the blocks of the decoder zero later features, not later positions"
    )

    def __post_init__(self) -> None:
        if self.zeroing and not self.pass_per_position:
            raise ValueError(
                "mask_by_zeroing=True needs pass_per_position=True, for each word needs other zeros; "
                "switch off both, or hide nothing with unmasked=True"
            )

    @property
    def zeroing(self) -> bool:
        """Whether later words are hidden, and by zeros."""
        return self.mask_by_zeroing and not self.unmasked

    @property
    def flat(self) -> bool:
        """Whether some layer reads whole sentences, so that all have the same length."""
        return any(getattr(self, name) for name in FLAT)

    @classmethod
    def lecture(cls, masking: bool = False) -> "Oddities":
        """`TransformerFG` of DLStudio 2.4.3, whose results the slides show. Source: Kak slides 77-82."""
        only_elsewhere = ("mask_only_at_entry", "no_final_norm", "no_encoder_residual")
        every = {one.name: True for one in fields(cls)}
        return cls(**every | {"unmasked": not masking}).without(*only_elsewhere, "mask_slices_embedding")

    @classmethod
    def lecture_preln(cls, masking: bool = True) -> "Oddities":
        """`TransformerPreLN` of DLStudio 2.4.3; its script trains with masking."""
        preln = replace(cls.lecture(masking), mask_only_at_entry=True, no_final_norm=True)
        return preln.without("no_cross_residual", "starts_with_eos")

    @classmethod
    def slides(cls) -> "Oddities":
        """`TransformerFG` as its code is printed, always masked. Source: Kak slides 32, 46, 52, 55, 59."""
        printed = replace(cls.lecture(masking=True), no_encoder_residual=True, mask_slices_embedding=True)
        return printed.without("flat_self_attention", "softmax_over_queries")

    @classmethod
    def later(cls, masking: bool = False) -> "Oddities":
        """`TransformerFG` of DLStudio 2.5.2, from the month of the lecture: nothing is flattened."""
        return cls.lecture(masking).without(*FLAT)
