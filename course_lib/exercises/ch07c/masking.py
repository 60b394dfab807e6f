"""Two ways to corrupt a text for pretraining: denoising, and BERT's masks."""

from typing import TypeAlias

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake
from course_lib.text.tokenizers import BOS, EOS, SPECIAL_TOKENS

Labeled: TypeAlias = tuple[Tensor, Tensor]
IGNORE = -100  # label of a position that the loss ignores
FIRST = len(SPECIAL_TOKENS)  # the first id that is no special token


def _noise(dropping: float = 0.1, masking: float = 0.15, keep_place: bool = False) -> Answer:
    def answer(ids: list[int], dropped: list[float], masked: list[float], mask: int) -> list[int]:
        rows = list(zip(ids, dropped, masked, strict=True))
        if keep_place:
            return [mask if d < dropping or m < masking else i for i, d, m in rows]
        return [mask if m < masking else i for i, d, m in rows if d >= dropping]

    return answer


def _only_dropped_kept(ids: list[int], dropped: list[float], masked: list[float], mask: int) -> list[int]:
    rows = zip(ids, dropped, masked, strict=True)
    return [mask if m < 0.15 else i for i, d, m in rows if d < 0.1]


def _masked_removed(ids: list[int], dropped: list[float], masked: list[float], mask: int) -> list[int]:
    return [i for i, d, m in zip(ids, dropped, masked, strict=True) if d >= 0.1 and m >= 0.15]


def _misaligned(ids: list[int], dropped: list[float], masked: list[float], mask: int) -> list[int]:
    kept = [i for i, d in zip(ids, dropped, strict=True) if d >= 0.1]
    return [mask if m < 0.15 else i for i, m in zip(kept, masked, strict=False)]


NOISE = Exercise(
    id="07c.noise",
    reference=lambda ids, dropped, masked, mask: _noise()(ids, dropped, masked, mask),
    inputs=(
        ([7, 8, 9], [0.5, 0.05, 0.9], [0.3, 0.9, 0.1], 20),
        ([7, 8, 9, 10], [0.2, 0.12, 0.9, 0.6], [0.12, 0.5, 0.6, 0.7], 20),
        ([11, 12, 13, 14, 15, 16], [0.02, 0.8, 0.3, 0.09, 0.7, 0.4], [0.9, 0.8, 0.14, 0.01, 0.5, 0.05], 30),
    ),
    mistakes=(
        mistake(
            "your code replaces dropped tokens by the mask",
            "A dropped token leaves no trace, so the text gets shorter. That way, the model must also learn "
            "where something is missing. Leave it out of the list.",
            _noise(keep_place=True),
        ),
        mistake(
            "your code keeps the tokens that should be dropped",
            "A token is dropped where `dropped` is below 0.1. Keep those with 0.1 or more.",
            _only_dropped_kept,
        ),
        mistake(
            "your code drops nothing",
            "Leave out each token whose number in `dropped` is below 0.1.",
            _noise(dropping=0.0),
        ),
        mistake(
            "your code masks nothing",
            "Replace each remaining token by `mask` where its number in `masked` is below 0.15.",
            _noise(masking=0.0),
        ),
        mistake(
            "your code leaves out the masked tokens",
            "A masked token keeps its place: put `mask` there.",
            _masked_removed,
        ),
        mistake(
            "your code takes the numbers in `masked` from the wrong tokens",
            "After dropping, the remaining ids have moved, but `masked` has not. Zip the three lists "
            "before you drop anything.",
            _misaligned,
        ),
    ),
)


def _bert_masks(
    fraction: float = 0.8, other: float = 0.9, first: int = FIRST, label: str = "original"
) -> Answer:
    """BERT's masking with options for the mistakes.

    fraction: of the chosen tokens that become the mask. other: that fraction plus the random tokens'.
    first: the first id that may be chosen. label: which labels are returned.
    """

    def answer(ids: Tensor, draw: Tensor, dice: Tensor, any_token: Tensor, mask: int) -> Labeled:
        chosen = (draw < 0.15) & (ids >= first)
        replaced = torch.where(dice < fraction, mask, torch.where(dice < other, any_token, ids))
        changed = torch.where(chosen, replaced, ids)
        labels = {
            "original": torch.where(chosen, ids, IGNORE),
            "everywhere": ids,
            "changed": torch.where(chosen, changed, IGNORE),
            "only changed": torch.where(changed != ids, ids, IGNORE),
            "only masked": torch.where(changed == mask, ids, IGNORE),
            "next": torch.where(chosen, ids.roll(-1, dims=-1), IGNORE),
        }
        return changed, labels[label]

    return answer


_DRAW = torch.tensor([[0.01, 0.02, 0.9, 0.03, 0.5, 0.14, 0.16, 0.1, 0.05]])
_DICE = torch.tensor([[0.10, 0.30, 0.2, 0.85, 0.95, 0.97, 0.50, 0.70, 0.05]])
_IDS = torch.tensor([[BOS, 11, 12, 13, 14, 15, 16, FIRST, EOS]])
_ANY = torch.tensor([[21, 22, 23, 24, 25, 26, 27, 28, 29]])

MASKS = Exercise(
    id="07c.masks",
    reference=_bert_masks(),
    inputs=((_IDS[:, 1:-1], _DRAW[:, 1:-1], _DICE[:, 1:-1], _ANY[:, :7], 40), (_IDS, _DRAW, _DICE, _ANY, 40)),
    mistakes=(
        mistake(
            "your labels include every token",
            "A token that was not chosen is still visible in the input, so predicting it is trivial. "
            "Set its label to -100, or it drowns out the few chosen ones.",
            _bert_masks(label="everywhere"),
        ),
        mistake(
            "your code masks all chosen tokens",
            "In fine-tuning, the model never sees a mask. So where `dice` is at least 0.8, the token becomes "
            "`any_token` or stays. Then the model must represent every token.",
            _bert_masks(fraction=1.0, other=1.0),
        ),
        mistake(
            "your code leaves no chosen token unchanged",
            "Where `dice` is at least 0.9, the token stays. It still gets a label, because the model cannot "
            "know that it is correct.",
            _bert_masks(other=1.0),
        ),
        mistake(
            "your code never uses any_token",
            "Where `dice` is at least 0.8 and below 0.9, the chosen token becomes the one in `any_token`.",
            _bert_masks(other=0.8),
        ),
        mistake(
            "your labels include only the tokens that were changed",
            "A chosen token that stays needs its label too. Otherwise, the model learns that every "
            "visible token at a labeled position is wrong.",
            _bert_masks(label="only changed"),
            _bert_masks(label="only masked"),
        ),
        mistake(
            "your labels are the changed tokens",
            "The label is the original token in `ids`. The changed one is visible in the input, so it is "
            "trivial to predict.",
            _bert_masks(label="changed"),
        ),
        mistake(
            "your labels are the next tokens",
            "BERT does not shift: it sees the whole text and fills in the token at the same position.",
            _bert_masks(label="next"),
        ),
        mistake(
            "your code chooses special tokens",
            "BOS, EOS and PAD must not be masked. Choose only where ids >= 5.",
            _bert_masks(first=0),
        ),
        mistake(
            "your code never chooses id 5",
            "Special tokens have the ids 0 to 4, so 5 is an ordinary token: ids >= 5, not ids > 5.",
            _bert_masks(first=FIRST + 1),
        ),
    ),
)
