"""What a language model must say next: its loss, the same over answers alone, and its mask."""

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake, normal
from course_lib.masks import causal_mask


def _each(logits: Tensor, labels: Tensor) -> Tensor:
    """−log of the probability of each label."""
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none").view_as(labels)


def _following(logits: Tensor, ids: Tensor) -> Tensor:
    """−log of the probability of each token but the first, in the place of the one before it."""
    return _each(logits[:, :-1], ids[:, 1:])


SMALL = (torch.tensor([[[2.0, 0.0, 1.0], [0.0, 3.0, 0.0], [1.0, 0.0, 2.0]]]), torch.tensor([[0, 2, 1]]))
LARGE = (normal(2, 6, 5), torch.tensor([[4, 1, 0, 3, 3, 2], [2, 2, 4, 0, 1, 3]]))

LOSS = Exercise(
    id="07.loss",
    reference=lambda logits, ids: _following(logits, ids).mean(),
    inputs=(SMALL, LARGE),
    mistakes=(
        mistake(
            "does not shift the labels",
            "The logits at a token say what comes after it. Compared with the token itself, the model would "
            "learn to repeat what it has just read.",
            lambda logits, ids: _each(logits, ids).mean(),
            lambda logits, ids: _each(logits[:, :-1], ids[:, :-1]).mean(),
            lambda logits, ids: _each(logits[:, 1:], ids[:, 1:]).mean(),
        ),
        mistake(
            "shifts the wrong way",
            "The label of position t is token t + 1: leave out the last logits and the first id.",
            lambda logits, ids: _each(logits[:, 1:], ids[:, :-1]).mean(),
        ),
        mistake(
            "lets the last token be followed by the first",
            "`roll` carries the first token round to the end. What follows the last token of a window is not "
            "known, so its logits do not count.",
            lambda logits, ids: _each(logits, ids.roll(-1, dims=1)).mean(),
        ),
        mistake(
            "sums up",
            "The sum grows with the number of tokens, and with it the length of a step of training. Take the "
            "mean.",
            lambda logits, ids: _following(logits, ids).sum(),
        ),
        mistake(
            "leaves the logarithm out",
            "That is slide 89 as printed: probabilities are summed, and a token with probability 0 costs no "
            "more than one with 0.1. Take −log of each probability.",
            lambda logits, ids: -(-_following(logits, ids)).exp().mean(),
            lambda logits, ids: (-_following(logits, ids)).exp().mean(),
            lambda logits, ids: (1 - (-_following(logits, ids)).exp()).mean(),
        ),
        mistake(
            "has the wrong sign",
            "log p is negative, and best at 0. A loss falls as the model gets better, so it is −log p.",
            lambda logits, ids: -_following(logits, ids).mean(),
        ),
    ),
)


def _from(logits: Tensor, ids: Tensor, first: int) -> Tensor:
    """Of the tokens from number `first` on."""
    return _following(logits, ids)[:, first - 1 :]


ANSWER_LOSS = Exercise(
    id="07.answer_loss",
    reference=lambda logits, ids, prompt: _from(logits, ids, prompt).mean(),
    inputs=((*SMALL, 2), (*LARGE, 3), (*LARGE, 1)),
    mistakes=(
        mistake(
            "counts the prompt too",
            "The model would be trained to write questions as well. Only the answer is to be learnt.",
            lambda logits, ids, prompt: _following(logits, ids).mean(),
        ),
        mistake(
            "leaves out the first token of the answer",
            "It is predicted at the last token of the prompt: position prompt − 1 has the label ids[prompt]. "
            "Without it, the model never learns how to begin.",
            lambda logits, ids, prompt: _from(logits, ids, prompt + 1).mean(),
        ),
        mistake(
            "counts the last token of the prompt",
            "The first label that counts is ids[prompt], which is predicted at position prompt − 1.",
            lambda logits, ids, prompt: _following(logits, ids)[:, max(prompt - 2, 0) :].mean(),
        ),
        mistake(
            "divides by all tokens",
            "The losses of the prompt are left out of the sum, so they must be left out of the number too. "
            "Otherwise a long prompt makes every mistake of the answer small.",
            lambda logits, ids, prompt: _from(logits, ids, prompt).sum() / _following(logits, ids).numel(),
            lambda logits, ids, prompt: _from(logits, ids, prompt).sum() / ids.numel(),
        ),
        mistake(
            "learns the prompt instead of the answer",
            "The first `prompt` tokens are given. What counts begins after them.",
            lambda logits, ids, prompt: _following(logits, ids)[:, :prompt].mean(),
        ),
        mistake(
            "does not shift the labels",
            "The logits at a token say what comes after it: the label of position t is ids[t + 1].",
            lambda logits, ids, prompt: _each(logits, ids)[:, prompt:].mean(),
        ),
    ),
)

MASK = Exercise(
    id="07.mask",
    reference=causal_mask,
    inputs=((2,), (5,)),
    mistakes=(
        mistake(
            "is transposed",
            "Rows are queries, columns are keys. Here each token sees itself and those that come after it, "
            "and the first one sees the whole text.",
            lambda tokens: causal_mask(tokens).T,
        ),
        mistake(
            "hides a token from itself",
            "A token may look at itself. Otherwise the first one could look nowhere, and no position would "
            "know which token it stands on.",
            lambda tokens: torch.ones(tokens, tokens, dtype=torch.bool).tril(-1),
        ),
        mistake(
            "shows one token of the future",
            "The very next token is the answer. A model that sees it learns to copy it.",
            lambda tokens: torch.ones(tokens, tokens, dtype=torch.bool).tril(1),
        ),
        mistake(
            "has True where a query may not look",
            "In this course True means: may look. `nn.MultiheadAttention` has it the other way round.",
            lambda tokens: ~causal_mask(tokens),
        ),
        mistake(
            "hides nothing",
            "All of it is True, so every token sees the whole text, the next token included.",
            lambda tokens: torch.ones(tokens, tokens, dtype=torch.bool),
        ),
        mistake(
            "shows each token only itself",
            "A language model reads what came before. Only what comes after must be hidden.",
            lambda tokens: torch.eye(tokens, dtype=torch.bool),
        ),
    ),
)
