"""A pair as one text, and BERT's masks."""

from collections.abc import Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake
from course_lib.tokens import BOS, CONTROL, EOS

Labelled: TypeAlias = tuple[Tensor, Tensor]
OUT = -100  # the label of a position that does not count


def _labelled(ids: Sequence[int], first: int, shift: int = 1) -> tuple[list[int], list[int]]:
    """A text, and for each token the one that follows, where that is the token number `first` or later."""
    following = [*ids[shift:], *[OUT] * shift]
    return list(ids), [label if n + shift >= first else OUT for n, label in enumerate(following)]


PAIR = Exercise(
    id="07.pair",
    reference=lambda source, target: _labelled([BOS, *source, EOS, *target, EOS], len(source) + 2),
    inputs=(([7], [20]), ([7, 8, 9], [20, 21]), ([12, 12], [30, 5, 30, 6])),
    mistakes=(
        mistake(
            "puts nothing between source and target",
            "Where does the source end? Without an EOS between them the model cannot know when to begin with "
            "the translation.",
            lambda source, target: _labelled([BOS, *source, *target, EOS], len(source) + 1),
            lambda source, target: _labelled([BOS, *source, *target, EOS], len(source) + 2),
        ),
        mistake(
            "lets the source count in the loss",
            "The source is given, so the model need not foretell it: its labels are -100. Only the tokens of "
            "the target and the EOS after them count.",
            lambda source, target: _labelled([BOS, *source, EOS, *target, EOS], 0),
        ),
        mistake(
            "lets the separating EOS count",
            "The EOS after the source belongs to the prompt, which is given. The first label that counts is "
            "the first token of the target.",
            lambda source, target: _labelled([BOS, *source, EOS, *target, EOS], len(source) + 1),
        ),
        mistake(
            "begins one token too late",
            "The separating EOS is read, and the model must answer with the first token of the target. That "
            "answer counts too; it is the only one that decides how a translation begins.",
            lambda source, target: _labelled([BOS, *source, EOS, *target, EOS], len(source) + 3),
        ),
        mistake(
            "does not shift the labels",
            "The label of a token is the one that follows it. Unshifted, the model would have to say what it "
            "has this moment read.",
            lambda source, target: _labelled([BOS, *source, EOS, *target, EOS], len(source) + 2, shift=0),
        ),
        mistake(
            "never asks for the last EOS",
            "A model that has never been told to write EOS does not know when its translation is over.",
            lambda source, target: _labelled([BOS, *source, EOS, *target], len(source) + 2),
        ),
    ),
)


def _masked(share: float = 0.8, other: float = 0.9, controls: bool = False, label: str = "right") -> Answer:
    """BERT's masks with a share of masks, the rest up to `other` random, and labels of some kind."""

    def answer(
        ids: Tensor, draw: Tensor, dice: Tensor, any_token: Tensor, mask: int
    ) -> tuple[Tensor, Tensor]:
        chosen = (draw < 0.15) & (controls | (ids >= len(CONTROL)))
        replaced = torch.where(dice < share, mask, torch.where(dice < other, any_token, ids))
        changed = torch.where(chosen, replaced, ids)
        labels = {
            "right": torch.where(chosen, ids, OUT),
            "everywhere": ids,
            "changed": torch.where(chosen, changed, OUT),
            "only changed": torch.where(changed != ids, ids, OUT),
            "only masked": torch.where(changed == mask, ids, OUT),
            "next": torch.where(chosen, ids.roll(-1, dims=-1), OUT),
        }
        return changed, labels[label]

    return answer


_DRAW = torch.tensor([[0.01, 0.02, 0.9, 0.03, 0.5, 0.14, 0.16, 0.1, 0.05]])
_DICE = torch.tensor([[0.10, 0.30, 0.2, 0.85, 0.95, 0.97, 0.50, 0.70, 0.05]])
_IDS = torch.tensor([[BOS, 11, 12, 13, 14, 15, 16, 17, EOS]])
_ANY = torch.tensor([[21, 22, 23, 24, 25, 26, 27, 28, 29]])

BERT = Exercise(
    id="07.bert",
    reference=_masked(),
    inputs=((_IDS, _DRAW, _DICE, _ANY, 40), (_IDS[:, 1:-1], _DRAW[:, 1:-1], _DICE[:, 1:-1], _ANY[:, :7], 40)),
    mistakes=(
        mistake(
            "lets every token count in the loss",
            "A token that was not chosen stands in the text, to be read off: its label is -100. Counted, it "
            "would drown the few that have to be guessed.",
            _masked(label="everywhere"),
        ),
        mistake(
            "replaces all chosen tokens by the mask",
            "Fine-tuned, the model never meets a mask. So of the chosen tokens 10 % become any token, "
            "10 % stay: it must trust no token blindly, and make something of each.",
            _masked(share=1.0, other=1.0),
        ),
        mistake(
            "leaves no chosen token as it is",
            "From 0.9 on the token stays as it is. It still counts: the model cannot know that it is right.",
            _masked(share=0.8, other=1.0),
        ),
        mistake(
            "counts only the tokens that were changed",
            "A chosen token that stays has its label too. Otherwise the model learns that whatever stands "
            "there is wrong.",
            _masked(label="only changed"),
            _masked(label="only masked"),
        ),
        mistake(
            "asks for the changed token",
            "The label is the token that stood there before. Asked for the changed one, the model could read "
            "it off.",
            _masked(label="changed"),
        ),
        mistake(
            "asks for the token that follows",
            "Nothing is shifted here: the model sees the whole text and fills in the token of this place.",
            _masked(label="next"),
        ),
        mistake(
            "chooses control tokens",
            "BOS and EOS are not to be guessed, and PAD even less: choose only ids from len(CONTROL) = 5 on.",
            _masked(controls=True),
        ),
    ),
)
