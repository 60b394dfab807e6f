"""ViT sequence: class token and position embeddings, and mean pooling."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake, normal, numbered, whole


def _prepend(patches: Tensor, class_token: Tensor) -> Tensor:
    """Class token followed by the patches of each image."""
    return torch.cat([class_token.expand(len(patches), 1, -1), patches], dim=1)


def _case(batch: int, patches: int, d_model: int) -> tuple[Tensor, Tensor, Tensor]:
    return whole(batch, patches, d_model), whole(d_model, seed=1), 10 * numbered(1 + patches, d_model)


SEQUENCE = Exercise(
    id="08.sequence",
    reference=lambda patches, class_token, positions: _prepend(patches, class_token) + positions,
    inputs=(_case(1, 3, 2), _case(2, 4, 3), _case(5, 2, 6)),
    mistakes=(
        mistake(
            "your code does not expand the class token over the batch",
            "Every image in the batch needs its own copy, and with a batch of one the bug is "
            "invisible. Use expand(batch, 1, -1).",
            lambda patches, class_token, positions: (
                torch.cat([class_token[None, None], patches], dim=1) + positions
            ),
        ),
        mistake(
            "your code puts the class token last",
            "The head reads `states[:, 0]`, and row 0 of the positions belongs to the class token. Put "
            "it first.",
            lambda patches, class_token, positions: (
                torch.cat([patches, class_token.expand(len(patches), 1, -1)], dim=1) + positions
            ),
        ),
        mistake(
            "your code has a class token for every patch",
            "There is one class token per image: an extra token next to the patches. Concatenate it "
            "once, along the token axis.",
            lambda patches, class_token, positions: torch.cat([class_token.expand_as(patches), patches], 1),
            lambda patches, class_token, positions: patches + class_token + positions[1:],
            lambda patches, class_token, positions: patches + class_token,
        ),
        mistake(
            "your code adds no position to the class token",
            "`positions` has one row per token, and row 0 belongs to the class token. Concatenate "
            "first, then add.",
            lambda patches, class_token, positions: _prepend(patches + positions[1:], class_token),
        ),
        mistake(
            "your code shifts the positions of the patches by one",
            "Row 0 of `positions` belongs to the class token, so patch 0 gets row 1.",
            lambda patches, class_token, positions: _prepend(patches + positions[:-1], class_token),
        ),
        mistake(
            "your code leaves out the positions",
            "Without them, the model cannot tell an image from the same patches in any other order. "
            "Add `positions`.",
            lambda patches, class_token, positions: _prepend(patches, class_token),
        ),
        mistake(
            "your code multiplies by the positions",
            "Positions are added.",
            lambda patches, class_token, positions: _prepend(patches, class_token) * positions,
        ),
        mistake(
            "your code adds the class token to the patches",
            "The class token has its own vector, before the patches.",
            lambda patches, class_token, positions: (
                torch.cat([torch.zeros_like(patches[:, :1]), patches + class_token], dim=1) + positions
            ),
        ),
    ),
)

POOL = Exercise(
    id="08.pool",
    reference=lambda states: states[:, 1:].mean(dim=1),
    inputs=((numbered(1, 3, 2),), (normal(4, 6, 4),), (normal(2, 5, 3),)),
    mistakes=(
        mistake(
            "your code averages over the batch",
            "Axis 0 is the batch, so this mixes images, and the result for one image depends on the "
            "others. Average over the tokens, axis 1.",
            lambda states: states[:, 1:].mean(dim=0),
        ),
        mistake(
            "your code averages over the features",
            "The last axis holds the features of one token, which must be kept. Average over the "
            "tokens, axis 1.",
            lambda states: states[:, 1:].mean(dim=-1),
            lambda states: states.mean(dim=-1),
        ),
        mistake(
            "your code includes the class token",
            "Token 0 is the class token, and the patches come after it. Use [:, 1:].",
            lambda states: states.mean(dim=1),
        ),
        mistake(
            "your code leaves out the last patch instead of the class token",
            "The class token comes first. Use [:, 1:].",
            lambda states: states[:, :-1].mean(dim=1),
        ),
        mistake(
            "your code returns a sum",
            "The sum grows with the number of patches, so larger images get larger features. Take the mean.",
            lambda states: states[:, 1:].sum(dim=1),
        ),
        mistake(
            "your code returns the class token",
            "That is the other way to get one vector per image. Here, average over the patches.",
            lambda states: states[:, 0],
        ),
        mistake(
            "your code takes the maximum",
            "That is max pooling. The exercise asks for the mean.",
            lambda states: states[:, 1:].amax(dim=1),
        ),
        mistake(
            "your code leaves out the first image",
            "The class token is the first *token*: states[:, 1:]. states[1:] drops an image.",
            lambda states: states[1:].mean(dim=1),
        ),
        mistake(
            "your code returns one number",
            "Return one vector per image: the mean over the tokens alone, axis 1.",
            lambda states: states[:, 1:].mean(),
            lambda states: states.mean(),
        ),
    ),
)
