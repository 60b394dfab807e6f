"""Language modeling: the next-token loss."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake, normal


def _token_losses(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy at each position."""
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none").view_as(labels)


def _next_token_losses(logits: Tensor, ids: Tensor) -> Tensor:
    """Cross-entropy of each token after the first, at the position that predicts it."""
    return _token_losses(logits[:, :-1], ids[:, 1:])


def _flattened_first(logits: Tensor, ids: Tensor) -> Tensor:
    """The loss with all texts joined into one, so that each predicts the beginning of the next."""
    return F.cross_entropy(logits.flatten(0, 1)[:-1], ids.flatten()[1:])


LOSS = Exercise(
    id="07.loss",
    reference=lambda logits, ids: _next_token_losses(logits, ids).mean(),
    inputs=(
        (  # one token more than ids: only then does `cross_entropy` accept unflattened logits
            torch.tensor([[[2.0, 0, 1], [0, 3, 0], [1, 0, 2], [0, 0, 1]]]),
            torch.tensor([[0, 2, 1, 1]]),
        ),
        (normal(2, 6, 5).requires_grad_(), torch.tensor([[4, 1, 0, 3, 3, 2], [2, 2, 4, 0, 1, 3]])),
        (normal(3, 4, 7, seed=1).requires_grad_(), torch.tensor([[6, 0, 1, 5], [2, 4, 4, 3], [3, 6, 0, 1]])),
    ),
    mistakes=(
        mistake(
            "your loss does not shift the labels",
            "The logits at a token predict the next one. Compared with the token itself, the model "
            "would learn to copy its input.",
            lambda logits, ids: _token_losses(logits, ids).mean(),
            lambda logits, ids: _token_losses(logits[:, :-1], ids[:, :-1]).mean(),
            lambda logits, ids: _token_losses(logits[:, 1:], ids[:, 1:]).mean(),
        ),
        mistake(
            "your loss shifts in the wrong direction",
            "The label of position t is token t + 1. Drop the last logits and the first id.",
            lambda logits, ids: _token_losses(logits[:, 1:], ids[:, :-1]).mean(),
        ),
        mistake(
            "your loss lets the first token follow the last",
            "`roll` moves the first token to the end. What follows the last token is unknown, so drop "
            "its logits.",
            lambda logits, ids: _token_losses(logits, ids.roll(-1, dims=1)).mean(),
        ),
        mistake(
            "your loss flattens the batch before the shift",
            "Then the last token of one row has to predict the first token of the next row. Shift each row "
            "first: logits[:, :-1] and ids[:, 1:].",
            _flattened_first,
        ),
        mistake(
            "your code does not flatten the logits",
            "In (batch, tokens, vocab), cross_entropy takes axis 1 for the vocabulary, but that is the "
            "tokens. Flatten after the shift: logits[:, :-1].flatten(0, 1) and ids[:, 1:].flatten().",
            lambda logits, ids: F.cross_entropy(logits[:, :-1], ids[:, 1:]),
        ),
        mistake(
            "your loss is the sum over each text",
            "Then it grows with the length of the texts. Take the mean over all tokens that have a "
            "prediction.",
            lambda logits, ids: _next_token_losses(logits, ids).sum(1).mean(),
        ),
        mistake(
            "your loss divides by all tokens",
            "The first token of a text has no prediction, so it does not count. Divide by the number of "
            "tokens that do have one.",
            lambda logits, ids: _next_token_losses(logits, ids).sum() / ids.numel(),
        ),
        mistake(
            "your loss is in bits",
            "The exercise asks for the natural logarithm, as cross_entropy uses it. A loss in nats is "
            "smaller by the factor ln 2.",
            lambda logits, ids: _next_token_losses(logits, ids).mean() / math.log(2),
        ),
        mistake(
            "your loss uses the logits as log-probabilities",
            "Logits need not sum to 1 as probabilities do. Apply log_softmax over the vocabulary first, or "
            "cross_entropy, which includes it.",
            lambda logits, ids: -logits[:, :-1].gather(2, ids[:, 1:, None]).mean(),
        ),
        mistake(
            "your loss has no gradient",
            "The value is right, but .item(), .detach() and float() cut it off from the logits, and then "
            "backward() cannot work. Return the tensor itself.",
            lambda logits, ids: _next_token_losses(logits, ids).mean().item(),
        ),
        mistake(
            "your loss applies softmax twice",
            "cross_entropy takes logits and applies softmax itself. If you pass probabilities, it makes them "
            "nearly uniform.",
            lambda logits, ids: _next_token_losses(logits.softmax(-1), ids).mean(),
        ),
        mistake(
            "your loss is a sum",
            "The sum grows with the number of tokens, and so does the size of a training step. Take "
            "the mean.",
            lambda logits, ids: _next_token_losses(logits, ids).sum(),
        ),
        mistake(
            "your loss leaves out the logarithm",
            "Without it, a token with probability 0 costs hardly more than one with 0.1. Take −log of "
            "each probability.",
            lambda logits, ids: -(-_next_token_losses(logits, ids)).exp().mean(),
            lambda logits, ids: (-_next_token_losses(logits, ids)).exp().mean(),
            lambda logits, ids: (1 - (-_next_token_losses(logits, ids)).exp()).mean(),
        ),
        mistake(
            "your loss has the wrong sign",
            "log p is negative, and at best 0. A loss must fall as the model gets better, so use −log p.",
            lambda logits, ids: -_next_token_losses(logits, ids).mean(),
        ),
        mistake(
            "your loss has one number for each prediction",
            "Return their mean.",
            lambda logits, ids: _next_token_losses(logits, ids),
            lambda logits, ids: _next_token_losses(logits, ids).flatten(),
        ),
        mistake(
            "your loss counts the last prediction only",
            "In training, every token but the first is predicted. Take them all: logits[:, :-1] and ids[:, "
            "1:].",
            lambda logits, ids: F.cross_entropy(logits[:, -2], ids[:, -1]),
            lambda logits, ids: F.cross_entropy(logits[:, -1], ids[:, -1]),
        ),
        mistake(
            "your code returns the perplexity",
            "The exercise asks for the loss itself, without exp.",
            lambda logits, ids: _next_token_losses(logits, ids).mean().exp(),
        ),
        mistake(
            "your loss skips a token",
            "The logits after token i predict token i + 1, the next one.",
            lambda logits, ids: F.cross_entropy(logits[:, :-2].flatten(0, 1), ids[:, 2:].flatten()),
        ),
    ),
)
