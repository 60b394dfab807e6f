"""Two ways to corrupt a text for pretraining: denoising, and BERT's masks."""

import math
from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake
from course_lib.text.tokenizers import BOS, EOS, PAD, SPECIAL_TOKENS

Labeled: TypeAlias = tuple[Tensor, Tensor]
IGNORE = -100  # label of a position that the loss ignores
FIRST = len(SPECIAL_TOKENS)  # the first id that is no special token


def _noise(
    dropping: float = 0.1, masking: float = 0.15, keep_place: bool = False, swapped: bool = False
) -> Answer:
    def answer(ids: list[int], dropped: list[float], masked: list[float], mask: int) -> list[int]:
        dropped, masked = (masked, dropped) if swapped else (dropped, masked)
        rows = list(zip(ids, dropped, masked, strict=True))
        if keep_place:
            return [mask if d < dropping or m < masking else i for i, d, m in rows]
        return [mask if m < masking else i for i, d, m in rows if d >= dropping]

    return answer


def _mask_if(masked_if: Callable[[float, float], bool], dropped_if: Callable[[float, float], bool]) -> Answer:
    return lambda ids, dropped, masked, mask: [
        mask if masked_if(d, m) else i
        for i, d, m in zip(ids, dropped, masked, strict=True)
        if not dropped_if(d, m)
    ]


_ABOVE_A_TENTH = math.nextafter(0.1, 1)  # so that < means <=


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
        ([7, 8, 9, 10], [0.1, 0.11, 0.14, 0.15], [0.15, 0.1, 0.16, 0.2], 20),  # on the limits and between
        ([7, 8, 9, 10], [0.5, 0.3, 0.24, 0.01], [0.24, 0.25, 0.12, 0.2], 20),
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
            _mask_if(lambda d, m: m >= 0.15, lambda d, m: d >= 0.1),
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
            "your code takes a number on the limit for one below it",
            "A token is dropped where its number is *below* 0.1, and masked where it is *below* 0.15. "
            "Compare with <, not with <=.",
            _noise(dropping=_ABOVE_A_TENTH),
            _noise(masking=math.nextafter(0.15, 1)),
            _noise(dropping=_ABOVE_A_TENTH, masking=math.nextafter(0.15, 1)),
        ),
        mistake(
            "your code swaps the two limits",
            "Drop below 0.1, mask below 0.15.",
            _noise(dropping=0.15, masking=0.1),
        ),
        mistake(
            "your code swaps the two lists of numbers",
            "`dropped` decides which tokens are dropped, and `masked` which of the rest are masked.",
            _noise(swapped=True),
            _noise(dropping=0.15, masking=0.1, swapped=True),
        ),
        mistake(
            "your code masks too many tokens",
            "Each list has its own random numbers, so the limits are not added: mask where the number in "
            "`masked` is below 0.15.",
            _noise(masking=0.25),
            _noise(masking=0.3),
        ),
        mistake(
            "your code uses the same limit for both",
            "Drop below 0.1, mask below 0.15.",
            _noise(masking=0.1),
            _noise(dropping=0.15),
        ),
        mistake(
            "your code masks the tokens that should stay",
            "A token becomes `mask` where its number in `masked` is *below* 0.15. Turn the comparison round.",
            lambda ids, dropped, masked, mask: [
                i if m < 0.15 else mask for i, d, m in zip(ids, dropped, masked, strict=True) if d >= 0.1
            ],
            _mask_if(lambda d, m: m > 0.15, lambda d, m: d < 0.1),
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
        mistake(
            "your code uses one list for both",
            "`dropped` decides which tokens are dropped, and `masked` which of the rest become `mask`.",
            _mask_if(lambda d, m: d < 0.25, lambda d, m: d < 0.1),
            _mask_if(lambda d, m: d < 0.15, lambda d, m: d < 0.1),
            _mask_if(lambda d, m: m < 0.25, lambda d, m: m < 0.1),
            _mask_if(lambda d, m: m < 0.15, lambda d, m: m < 0.1),
        ),
        mistake(
            "your code masks only tokens with two small numbers",
            "The two lists are independent: a token is dropped by its number in `dropped`, and otherwise "
            "masked by its number in `masked`.",
            _mask_if(lambda d, m: m < 0.15 and d < 0.1, lambda d, m: False),
            _mask_if(lambda d, m: m < 0.15, lambda d, m: d < 0.1 and m < 0.15),
        ),
    ),
)


Replace: TypeAlias = Callable[[Tensor, Tensor, Tensor, int], Tensor]


def _by_dice(fraction: float = 0.8, other: float = 0.9) -> Replace:
    """The mask below `fraction`, any token from there to below `other`, and the token itself above."""
    return lambda dice, ids, any_token, mask: torch.where(
        dice < fraction, mask, torch.where(dice < other, any_token, ids)
    )


def _bert_masks(
    replace: Replace | None = None,
    first: int = FIRST,
    label: str = "original",
    choose: Callable[[Tensor], Tensor] = lambda draw: draw < 0.15,
    ignored: int = IGNORE,
) -> Answer:
    """BERT's masking with options for the mistakes.

    replace: what a chosen token becomes, from dice, ids, any_token and mask. first: the first id that may be
    chosen. label: which labels are returned. choose: which tokens, by their draw. ignored: label of the rest.
    """

    def answer(ids: Tensor, draw: Tensor, dice: Tensor, any_token: Tensor, mask: int) -> Labeled:
        chosen = choose(draw) & (ids >= first)
        replaced = (replace or _by_dice())(dice, ids, any_token, mask)
        changed = torch.where(chosen, replaced, ids)
        labels = {
            "original": torch.where(chosen, ids, ignored),
            "everywhere": ids,
            "changed": torch.where(chosen, changed, IGNORE),
            "only changed": torch.where(changed != ids, ids, IGNORE),
            "only masked": torch.where(changed == mask, ids, IGNORE),
            "next": torch.where(chosen, ids.roll(-1, dims=-1), IGNORE),
        }
        return changed, labels[label]

    return answer


def _chosen_by(rule: Callable[[Tensor, Tensor], Tensor]) -> Answer:
    def answer(ids: Tensor, draw: Tensor, dice: Tensor, any_token: Tensor, mask: int) -> Labeled:
        chosen, changed = rule(draw, ids), _by_dice()(dice, ids, any_token, mask)
        return torch.where(chosen, changed, ids), torch.where(chosen, ids, IGNORE)

    return answer


_DRAW = torch.tensor([[0.01, 0.02, 0.9, 0.03, 0.5, 0.14, 0.16, 0.1, 0.05]])
_DICE = torch.tensor([[0.10, 0.30, 0.2, 0.85, 0.95, 0.97, 0.50, 0.70, 0.05]])
_IDS = torch.tensor([[BOS, 11, 12, 13, 14, 15, 16, FIRST, EOS]])
_ANY = torch.tensor([[21, 22, 23, 24, 25, 26, 27, 28, 29]])

_SPECIAL = torch.tensor([[BOS, 3, FIRST, 4, EOS, 6, 7], [BOS, 8, EOS, PAD, PAD, PAD, PAD]])
_LOW = torch.full(_SPECIAL.shape, 0.01)
_LIMIT_IDS = torch.tensor([[31, 32, 33, 34, 35, 36]])  # with numbers on the limits and beside them
_LIMIT_DRAW = torch.tensor([[0.15, 0.14, 0.14, 0.14, 0.01, 0.16]])
_LIMIT_DICE = torch.tensor([[0.10, 0.80, 0.90, 0.15, 0.79, 0.50]])

MASKS = Exercise(
    id="07c.masks",
    reference=_bert_masks(),
    inputs=(
        (_IDS[:, 1:-1], _DRAW[:, 1:-1], _DICE[:, 1:-1], _ANY[:, :7], 40),
        (_IDS, _DRAW, _DICE, _ANY, 40),
        (_SPECIAL, _LOW, _LOW, _LOW.long() + 30, 41),
        (_LIMIT_IDS, _LIMIT_DRAW, _LIMIT_DICE, _LIMIT_IDS + 10, 50),
    ),
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
            _bert_masks(_by_dice(1.0, 1.0)),
        ),
        mistake(
            "your code compares `dice` with 0.2 and 0.1",
            "The intervals begin at 0: the mask below 0.8, any_token from 0.8 to below 0.9, unchanged above.",
            _bert_masks(lambda dice, i, a, m: torch.where(dice >= 0.2, m, i)),
            _bert_masks(lambda dice, i, a, m: torch.where(dice >= 0.2, m, torch.where(dice >= 0.1, a, i))),
            _bert_masks(lambda dice, i, a, m: torch.where(dice >= 0.2, m, torch.where(dice < 0.1, a, i))),
            _bert_masks(lambda dice, i, a, m: torch.where(dice >= 0.2, m, torch.where(dice >= 0.1, i, a))),
        ),
        mistake(
            "your code takes a number on the limit for one below it",
            "Chosen means *below* 0.15, the mask *below* 0.8, any_token *below* 0.9. Compare with <, not <=.",
            _bert_masks(choose=lambda draw: draw <= 0.15),
            _bert_masks(lambda dice, i, a, m: torch.where(dice <= 0.8, m, torch.where(dice < 0.9, a, i))),
            _bert_masks(lambda dice, i, a, m: torch.where(dice < 0.8, m, torch.where(dice <= 0.9, a, i))),
            _bert_masks(lambda dice, i, a, m: torch.where(dice <= 0.8, m, torch.where(dice <= 0.9, a, i))),
            _bert_masks(
                lambda dice, i, a, m: torch.where(dice <= 0.8, m, torch.where(dice <= 0.9, a, i)),
                choose=lambda draw: draw <= 0.15,
            ),
        ),
        mistake(
            "your code swaps the two kinds that do not become the mask",
            "From 0.8 to below 0.9 the token becomes any_token; from 0.9 on, it stays.",
            _bert_masks(lambda dice, i, a, m: torch.where(dice < 0.8, m, torch.where(dice < 0.9, i, a))),
        ),
        mistake(
            "your labels have another number than −100 where none was chosen",
            "0 is the id of PAD, so the model would have to predict it. PyTorch's `cross_entropy` skips the "
            "label −100.",
            *(_bert_masks(ignored=number) for number in (0, -1, 100)),
        ),
        mistake(
            "your code returns the labels first",
            "Return the changed ids, then the labels.",
            lambda *arguments: _bert_masks()(*arguments)[::-1],
        ),
        mistake(
            "your code returns only the changed ids",
            "Return a pair: the changed ids and the labels.",
            lambda *arguments: _bert_masks()(*arguments)[0],
        ),
        mistake(
            "your code changes tokens that were not chosen",
            "Where a token was not chosen, it stays as it is: torch.where(chosen, changed, ids).",
            lambda ids, draw, dice, any_token, mask: (
                _by_dice()(dice, ids, any_token, mask),
                _bert_masks()(ids, draw, dice, any_token, mask)[1],
            ),
        ),
        mistake(
            "your code leaves no chosen token unchanged",
            "Where `dice` is at least 0.9, the token stays. It still gets a label, because the model cannot "
            "know that it is correct.",
            _bert_masks(_by_dice(other=1.0)),
        ),
        mistake(
            "your code never uses any_token",
            "Where `dice` is at least 0.8 and below 0.9, the chosen token becomes the one in `any_token`.",
            _bert_masks(_by_dice(other=0.8)),
            _bert_masks(_by_dice(0.9, 0.8)),
            _bert_masks(_by_dice(0.9, 0.9)),
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
            "your code chooses some special tokens",
            "The special tokens are the ids 0 to 4, not only PAD, BOS and EOS: choose where ids >= 5.",
            *(_bert_masks(first=first) for first in (1, 2, 3, 4)),
        ),
        mistake(
            "your code never chooses id 5",
            "Special tokens have the ids 0 to 4, so 5 is an ordinary token: ids >= 5, not ids > 5.",
            _bert_masks(first=FIRST + 1),
        ),
        mistake(
            "your code chooses the wrong tokens",
            "Choose where `draw` is below 0.15 *and* the id is at least 5: (draw < 0.15) & (ids >= 5).",
            _bert_masks(choose=lambda draw: draw >= 0.15),
            *(
                _chosen_by(rule)
                for rule in (
                    lambda draw, ids: (draw < 0.15) | (ids >= 5),
                    lambda draw, ids: (draw < 0.15) & (ids < 5),
                )
            ),
        ),
        mistake(
            "your labels mark the tokens that were not chosen",
            "The loss counts the chosen tokens: torch.where(chosen, ids, -100).",
            lambda ids, draw, dice, any_token, mask: (
                (made := _bert_masks()(ids, draw, dice, any_token, mask))[0],
                torch.where(made[1] == IGNORE, ids, IGNORE),
            ),
        ),
    ),
)
