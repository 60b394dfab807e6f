"""Deviations of DLStudio's translation Transformers from the paper: one switch per deviation."""

from dataclasses import dataclass, field, fields, replace
from typing import Any

FLAT = ("flat_self_attention", "flat_cross_attention", "flat_feed_forward")
"""Switches of the layers that can read a flattened sentence."""


def deviation(row: int | str, does: str) -> Any:
    """A switch, off by default.

    row: number in the course's list, shared by related deviations; there is no 5, since the positions are
    correct. The vision Transformer has V1 to V3.
    does: effect on the model.
    """
    return field(default=False, metadata={"row": row, "does": does})


@dataclass(frozen=True)
class Switches:
    """Base class of the switches of each system."""

    def without(self, *names: str) -> "Switches":
        """Copy with these deviations fixed and the others kept. Raises ValueError for an unknown name."""
        known = [one.name for one in fields(self)]
        for name in names:
            if name not in known:
                raise ValueError(f"{name!r} is not one of the {len(known)} deviations {known}")
        return replace(self, **dict.fromkeys(names, False))

    @classmethod
    def descriptions(cls) -> dict[str, tuple[int | str, str]]:
        """Row in the course's list and effect of each deviation, by name."""
        return {one.name: (one.metadata["row"], one.metadata["does"]) for one in fields(cls)}


@dataclass(frozen=True, kw_only=True)
class Deviations(Switches):
    """Deviations of a translation Transformer. With all of them off, it is the Transformer of the paper.

    `Deviations.lecture()` is the model behind the lecture's results; `without` fixes deviations one by one,
    and `descriptions` explains each switch.
    Raises ValueError if zeroing is to hide later words in a single pass.
    Source: DLStudio 2.4.3, module Transformers; Kak slides 32, 46, 52, 55 and 59.
    """

    scale_after_softmax: bool = deviation(
        1, "1/√d_head comes after the softmax: it shrinks the output, and large scores still saturate"
    )
    softmax_over_queries: bool = deviation(
        1, "the softmax runs over the queries: columns of weights sum to 1, rows do not"
    )
    flat_self_attention: bool = deviation(
        2, "a head projects the flattened sentence to queries, keys, values: fixed length, no weight sharing"
    )
    flat_cross_attention: bool = deviation(2, "the same in cross-attention")
    flat_feed_forward: bool = deviation(
        3,
        "the feed-forward layer reads the flattened sentence: most of the parameters, and it mixes positions",
    )
    sliced_heads: bool = deviation(4, "head h reads only slice h of the vectors")
    no_output_projection: bool = deviation(4, "no output projection W_O mixes the heads")
    unscaled_embeddings: bool = deviation(6, "embeddings are not multiplied by √d_model")
    untied_output: bool = deviation(6, "no weight tying: the output layer has its own weights")
    no_dropout: bool = deviation(6, "no dropout in training")
    no_label_smoothing: bool = deviation(
        6, "no label smoothing: the correct token gets the whole target probability"
    )
    unmasked: bool = deviation(
        9, "the lecture's masking=False: the decoder sees the whole target, including the word to predict"
    )
    mask_by_zeroing: bool = deviation(
        9, "the lecture's masking=True: later positions are zeroed but still take part in the softmax"
    )
    mask_only_at_entry: bool = deviation(
        9, "zeroing only before the first decoder block; PreLN computes the rest and does not use it"
    )
    pass_per_position: bool = deviation(
        10, "the whole decoder runs once per word, even in training; unmasked, all passes are identical"
    )
    no_shift: bool = deviation(
        11, "no shift: word t is both read and predicted at position t, instead of predicted at t - 1"
    )
    starts_with_eos: bool = deviation(13, "slot 0 of the output is never written and keeps its initial EOS")
    padding_attended: bool = deviation(14, "padding, which is EOS, is never masked")
    padding_counted: bool = deviation(14, "padding counts in the loss, like words")
    no_cross_residual: bool = deviation(15, "no residual connection around cross-attention (FG only)")
    no_final_norm: bool = deviation(16, "the stacks of PreLN end without a LayerNorm")
    no_encoder_residual: bool = deviation(
        18, "as printed: no residual connection around the encoder's self-attention"
    )
    mask_slices_embedding: bool = deviation(
        18, "as printed: the decoder blocks zero later features instead of later positions"
    )

    def __post_init__(self) -> None:
        if self.zeroing and not self.pass_per_position:
            raise ValueError(
                "mask_by_zeroing=True needs pass_per_position=True, because each word needs different zeros; "
                "turn both off, or set unmasked=True"
            )

    @property
    def zeroing(self) -> bool:
        """Whether later words are hidden by zeroing."""
        return self.mask_by_zeroing and not self.unmasked

    @property
    def flat(self) -> bool:
        """Whether any layer reads flattened sentences, so that all must have the same length."""
        return any(getattr(self, name) for name in FLAT)

    @classmethod
    def lecture(cls, masking: bool = False) -> "Deviations":
        """`TransformerFG` of DLStudio 2.4.3, whose results the slides show. Source: Kak slides 77-82."""
        only_elsewhere = ("mask_only_at_entry", "no_final_norm", "no_encoder_residual")
        every = {one.name: True for one in fields(cls)}
        return cls(**every | {"unmasked": not masking}).without(*only_elsewhere, "mask_slices_embedding")

    @classmethod
    def lecture_preln(cls, masking: bool = True) -> "Deviations":
        """`TransformerPreLN` of DLStudio 2.4.3; its script trains with masking."""
        preln = replace(cls.lecture(masking), mask_only_at_entry=True, no_final_norm=True)
        return preln.without("no_cross_residual", "starts_with_eos")

    @classmethod
    def slides(cls) -> "Deviations":
        """`TransformerFG` as its code is printed, always masked. Source: Kak slides 32, 46, 52, 55, 59."""
        printed = replace(cls.lecture(masking=True), no_encoder_residual=True, mask_slices_embedding=True)
        return printed.without("flat_self_attention", "softmax_over_queries")

    @classmethod
    def later(cls, masking: bool = False) -> "Deviations":
        """`TransformerFG` of DLStudio 2.5.2, from the month of the lecture, without flattening."""
        return cls.lecture(masking).without(*FLAT)
