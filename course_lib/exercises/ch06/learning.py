"""What the decoder reads and must say, and the loss that tells it how far off it is."""

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake, normal
from course_lib.tokens import BOS, EOS, PAD

SHIFT = Exercise(
    id="06.shift",
    reference=lambda ids: ([BOS, *ids], [*ids, EOS]),
    inputs=(([7],), ([7, 8, 9],), ([12, 12, 30, 5],)),
    mistakes=(
        mistake(
            "does not shift",
            "The decoder would read the very token that it is to write, and learn to copy it. What it reads "
            "begins one token earlier, with BOS; what it writes ends one token later, with EOS.",
            lambda ids: (ids, ids),
            lambda ids: ([BOS, *ids], [BOS, *ids]),
            lambda ids: ([*ids, EOS], [*ids, EOS]),
            lambda ids: ([BOS, *ids, EOS], [BOS, *ids, EOS]),
        ),
        mistake(
            "swaps what is read and what is written",
            "BOS is the one token that is known before anything is written, so it is read; EOS is written. "
            "Return the inputs first, then the labels.",
            lambda ids: ([*ids, EOS], [BOS, *ids]),
        ),
        mistake(
            "never writes EOS",
            "A model that has never been told to write EOS does not know when a sentence is over.",
            lambda ids: ([BOS, *ids], ids),
            lambda ids: ([BOS, *ids[:-1]], ids),
            lambda ids: ([BOS, *ids], [*ids, PAD]),
        ),
        mistake(
            "never reads BOS",
            "When translating, there is nothing to read before the first word but BOS: without it the first "
            "word is never learnt.",
            lambda ids: (ids, [*ids, EOS]),
            lambda ids: (ids, [*ids[1:], EOS]),
            lambda ids: ([PAD, *ids], [*ids, EOS]),
        ),
        mistake(
            "reads EOS",
            "After EOS nothing is to be written, so nobody reads it.",
            lambda ids: ([BOS, *ids, EOS], [*ids, EOS]),
            lambda ids: ([BOS, *ids, EOS], [*ids, EOS, PAD]),
        ),
        mistake(
            "skips a token",
            "Having read BOS, the model must write the first token of the sentence, not the second.",
            lambda ids: ([BOS, *ids], [*ids[1:], EOS]),
            lambda ids: ([BOS, *ids], [*ids[1:], EOS, PAD]),
            lambda ids: ([BOS, *ids[:-1]], [*ids[1:], EOS]),
        ),
    ),
)


def _each(logits: Tensor, labels: Tensor) -> Tensor:
    """−log of the probability of each label, padding included."""
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none").view_as(labels)


def _per_sentence(logits: Tensor, labels: Tensor) -> Tensor:
    real = labels != PAD
    return ((_each(logits, labels) * real).sum(1) / real.sum(1)).mean()


LOSS = Exercise(
    id="06.loss",
    reference=lambda logits, labels: _each(logits, labels)[labels != PAD].mean(),
    inputs=(
        (torch.tensor([[[0.0, 1.0, 3.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]]]), torch.tensor([[2, 1, PAD]])),
        (normal(2, 4, 6), torch.tensor([[5, 3, 2, PAD], [4, 2, PAD, PAD]])),
        (normal(3, 5, 7), torch.tensor([[5, 3, 6, 4, 2], [4, 2, 0, 0, 0], [6, 5, 2, 0, 0]])),
    ),
    mistakes=(
        mistake(
            "counts the padding",
            "PAD only fills the table. A model that is paid for predicting PAD after EOS gets a loss that "
            "looks good, the better the more padding there is.",
            lambda logits, labels: _each(logits, labels).mean(),
        ),
        mistake(
            "divides by all positions, padding included",
            "The padding adds nothing to the sum, and so it must not count in the number either: the same "
            "sentence would cost less beside a longer one.",
            lambda logits, labels: (_each(logits, labels) * (labels != PAD)).mean(),
        ),
        mistake(
            "takes the mean of each sentence first",
            "Then a token of a short sentence weighs more than one of a long sentence. Sum over all real "
            "tokens of the batch, and divide by their number once.",
            _per_sentence,
        ),
        mistake(
            "is the sum, not the mean",
            "Divide by the number of real tokens, so that losses of different batches can be compared.",
            lambda logits, labels: _each(logits, labels)[labels != PAD].sum(),
        ),
        mistake(
            "takes the softmax twice",
            "cross_entropy takes logits and applies the softmax itself. Given probabilities, it makes them "
            "nearly equal.",
            lambda logits, labels: _each(logits.softmax(-1), labels)[labels != PAD].mean(),
        ),
        mistake(
            "has the wrong sign",
            "log p is negative, and a better prediction must give a smaller loss: −log p.",
            lambda logits, labels: -_each(logits, labels)[labels != PAD].mean(),
        ),
    ),
)


def _mixed(logits: Tensor, label: int, label_share: float, each_share: float) -> Tensor:
    """−log p of the label times its share, and of every token, the label included, times another."""
    losses = -logits.log_softmax(-1)
    return label_share * losses[label] + each_share * losses.sum()


SMOOTHING = Exercise(
    id="06.smoothing",
    reference=lambda logits, label, share: _mixed(logits, label, 1 - share, share / len(logits)),
    inputs=(
        (torch.tensor([0.0, 0.0, 1.0]), 2, 0.3),
        (torch.tensor([2.0, -1.0, 0.5, 0.0]), 0, 0.1),
        (normal(7), 3, 0.2),
    ),
    mistakes=(
        mistake(
            "does not smooth",
            "All the probability is still wanted at the label: the share goes to the whole vocabulary.",
            lambda logits, label, share: _mixed(logits, label, 1.0, 0.0),
        ),
        mistake(
            "leaves the label out when spreading",
            "The share is spread over the whole vocabulary, the label included: every token gets "
            "share/vocab, and the label 1 − share on top of that.",
            lambda logits, label, share: _mixed(
                logits, label, 1 - share - share / (len(logits) - 1), share / (len(logits) - 1)
            ),
        ),
        mistake(
            "gives the whole share to every token",
            "What is wanted must sum to 1, so each token gets share/vocab.",
            lambda logits, label, share: _mixed(logits, label, 1 - share, share),
        ),
        mistake(
            "takes nothing away from the label",
            "What is wanted must sum to 1: what the vocabulary gets is taken from the label.",
            lambda logits, label, share: _mixed(logits, label, 1.0, share / len(logits)),
        ),
        mistake(
            "swaps the two shares",
            "The label keeps 1 − share, nearly everything; the small share goes to the vocabulary.",
            lambda logits, label, share: _mixed(logits, label, share, (1 - share) / len(logits)),
        ),
        mistake(
            "smooths the prediction instead of the label",
            "What the model says is left as it is; what is wanted of it is made softer. So the logarithm "
            "comes first, and the average after it.",
            lambda logits, label, share: (
                -((1 - share) * logits.softmax(-1)[label] + share / len(logits)).log()
            ),
        ),
    ),
)
