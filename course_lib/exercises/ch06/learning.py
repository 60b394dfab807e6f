"""Teacher forcing (the shift by one), the cross-entropy loss and label smoothing."""

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.exercise import Exercise, mistake, normal
from course_lib.exercises.watching import without
from course_lib.text.tokenizers import BOS, EOS, PAD

SHIFT = Exercise(
    id="06.shift",
    reference=lambda ids: ([BOS, *ids], [*ids, EOS]),
    inputs=(([7],), ([7, 8, 9],), ([12, 12, 30, 5],)),
    mistakes=(
        mistake(
            "your code does not shift",
            "The decoder would read the very token it must predict, and learn to copy it. The inputs "
            "start with BOS; the labels are one token ahead and end with EOS.",
            lambda ids: (ids, ids),
            lambda ids: ([BOS, *ids], [BOS, *ids]),
            lambda ids: ([*ids, EOS], [*ids, EOS]),
            lambda ids: ([BOS, *ids, EOS], [BOS, *ids, EOS]),
        ),
        mistake(
            "your code adds neither BOS nor EOS",
            "The sentence alone does not say how to begin and when to stop. Put BOS before it to get the "
            "inputs, and EOS after it to get the labels.",
            lambda ids: (ids[:-1], ids[1:]),
        ),
        mistake(
            "your code swaps inputs and labels",
            "BOS is known before anything is generated, so it is an input. EOS must be predicted, so "
            "it is a label. Return the inputs first, then the labels.",
            lambda ids: ([*ids, EOS], [BOS, *ids]),
        ),
        mistake(
            "your labels have no EOS",
            "A model that never learns to predict EOS does not know when a sentence is over. End the "
            "labels with EOS.",
            lambda ids: ([BOS, *ids], ids),
            lambda ids: ([BOS, *ids[:-1]], ids),
            lambda ids: ([BOS, *ids], [*ids, PAD]),
        ),
        mistake(
            "your inputs have no BOS",
            "Before the first token, BOS is all that the decoder can read. Without it, the model never "
            "learns to predict that token. Begin the inputs with BOS.",
            lambda ids: (ids, [*ids, EOS]),
            lambda ids: (ids, [*ids[1:], EOS]),
            lambda ids: ([PAD, *ids], [*ids, EOS]),
        ),
        mistake(
            "your inputs begin with EOS",
            "EOS says that a sentence is over. It is BOS that says that one begins.",
            lambda ids: ([EOS, *ids], [*ids, EOS]),
            lambda ids: ([EOS, *ids], [*ids, BOS]),
        ),
        mistake(
            "your labels end with BOS",
            "BOS begins a sentence, and is never predicted. What the model must predict last is EOS.",
            lambda ids: ([BOS, *ids], [*ids, BOS]),
        ),
        mistake(
            "your inputs contain EOS",
            "Nothing follows EOS, so the decoder never has to read it. End the inputs with the last "
            "token of the sentence.",
            lambda ids: ([BOS, *ids, EOS], [*ids, EOS]),
            lambda ids: ([BOS, *ids, EOS], [*ids, EOS, PAD]),
        ),
        mistake(
            "your code shifts twice",
            "After BOS, the model must predict the first token of the sentence, not the second. Putting "
            "BOS in front of the inputs is the shift; the labels begin with ids[0].",
            lambda ids: ([BOS, *ids], [*ids[1:], EOS]),
            lambda ids: ([BOS, *ids], [*ids[1:], EOS, PAD]),
            lambda ids: ([BOS, *ids[:-1]], [*ids[1:], EOS]),
            lambda ids: ([BOS, *ids], [*ids[2:], EOS]),
        ),
        mistake(
            "your code returns one list",
            "Return two: what the decoder reads, and what it must predict.",
            lambda ids: [BOS, *ids, EOS],
            lambda ids: [BOS, *ids],
            lambda ids: [*ids, EOS],
        ),
    ),
)


def _token_losses(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy at each position, including padding."""
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none").view_as(labels)


def _real_mean(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy over the positions that are not padding."""
    return _token_losses(logits, labels)[labels != PAD].mean()


def _per_sentence(logits: Tensor, labels: Tensor) -> Tensor:
    real = labels != PAD
    return ((_token_losses(logits, labels) * real).sum(1) / real.sum(1)).mean()


def _weighted(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy at each position, of logits that padding sets to 0."""
    return _token_losses(logits * (labels != PAD)[..., None], labels)


LOSS = Exercise(
    id="06.loss",
    reference=lambda logits, labels: _real_mean(logits, labels),
    inputs=(
        (  # as many tokens as ids: only then does `cross_entropy` accept unflattened logits
            torch.tensor([[[0.0, 0, 1, 3], [0, 2, 1, 0], [1, 0, 1, 0], [1, 0, 0, 2]]]),
            torch.tensor([[3, 2, PAD, PAD]]),
        ),
        (normal(2, 4, 6).requires_grad_(), torch.tensor([[5, 3, 2, PAD], [4, 2, PAD, PAD]])),
        (normal(3, 5, 7).requires_grad_(), torch.tensor([[5, 3, 6, 4, 2], [4, 2, 0, 0, 0], [6, 5, 2, 0, 0]])),
    ),
    mistakes=(
        mistake(
            "your loss counts the padding",
            "PAD after EOS is trivial to predict, so the more padding a batch has, the better its loss "
            "looks. Average over the positions where `labels != PAD`.",
            lambda logits, labels: _token_losses(logits, labels).mean(),
        ),
        mistake(
            "your loss divides by all positions, including padding",
            "The same sentence would then cost less next to a longer one. Divide by the number of "
            "positions where `labels != PAD`.",
            lambda logits, labels: (_token_losses(logits, labels) * (labels != PAD)).mean(),
        ),
        mistake(
            "your loss averages each sentence first",
            "Then a token in a short sentence weighs more than one in a long sentence. Sum over all "
            "real tokens of the batch, and divide once by their number.",
            _per_sentence,
        ),
        mistake(
            "your loss is the sum, not the mean",
            "Sums of batches of different sizes cannot be compared. Divide by the number of real tokens.",
            lambda logits, labels: _token_losses(logits, labels)[labels != PAD].sum(),
        ),
        mistake(
            "your loss applies softmax twice",
            "cross_entropy takes logits and applies softmax itself. If you pass probabilities, it "
            "makes them nearly uniform.",
            lambda logits, labels: _token_losses(logits.softmax(-1), labels)[labels != PAD].mean(),
        ),
        mistake(
            "your loss has the wrong sign",
            "log p is negative, and a better prediction must lower the loss. Use −log p.",
            lambda logits, labels: -_real_mean(logits, labels),
        ),
        mistake(
            "your loss shifts a second time",
            "logits[:, t] already belongs to labels[:, t]: inputs and labels were shifted when the batch "
            "was made. Use both as they are.",
            lambda logits, labels: _real_mean(logits[:, :-1], labels[:, 1:]),
            lambda logits, labels: _real_mean(logits[:, 1:], labels[:, :-1]),
        ),
        mistake(
            "your code does not flatten the logits",
            "In (batch, tokens, vocab), cross_entropy takes axis 1 for the vocabulary, but that is the "
            "tokens. Flatten: logits.flatten(0, 1) and labels.flatten().",
            lambda logits, labels: F.cross_entropy(logits, labels),
            lambda logits, labels: F.cross_entropy(logits, labels, ignore_index=PAD),
        ),
        mistake(
            "your loss divides by the number of sentences",
            "Then long sentences cost more than short ones. Divide by the number of real tokens in the "
            "batch.",
            lambda logits, labels: _token_losses(logits, labels)[labels != PAD].sum() / len(labels),
        ),
        mistake(
            "your code multiplies the logits of padding by 0",
            "Logits of 0 are a uniform prediction, so padding still costs log(vocab). Leave those positions "
            "out of the loss: logits[labels != PAD].",
            lambda logits, labels: _weighted(logits, labels).mean(),
            lambda logits, labels: _weighted(logits, labels).sum() / (labels != PAD).sum(),
        ),
        mistake(
            "your loss leaves out EOS",
            "A model that never learns to predict EOS does not know when a sentence is over. Leave out PAD "
            "alone: labels != PAD.",
            lambda logits, labels: _token_losses(logits, labels)[labels > EOS].mean(),
            lambda logits, labels: _token_losses(logits, labels)[labels != EOS].mean(),
        ),
        mistake(
            "your loss counts only the padding",
            "`labels != PAD` is True for the labels that count. Do not invert it.",
            lambda logits, labels: _token_losses(logits, labels)[labels == PAD].mean(),
        ),
        mistake(
            "your loss leaves out the logarithm",
            "Without it, a token with probability 0 costs hardly more than one with 0.1. Take −log of each "
            "probability.",
            lambda logits, labels: -(-_token_losses(logits, labels)[labels != PAD]).exp().mean(),
            lambda logits, labels: (-_token_losses(logits, labels)[labels != PAD]).exp().mean(),
            lambda logits, labels: 1 - (-_token_losses(logits, labels)[labels != PAD]).exp().mean(),
        ),
        mistake(
            "your loss has no gradient",
            "The value is right, but .item(), .detach() and float() cut it off from the logits, and then "
            "backward() cannot work. Return the tensor itself.",
            lambda logits, labels: _real_mean(logits, labels).item(),
        ),
        mistake(
            "your loss looks at the largest probability",
            "The loss is −log p of the *label*, whichever token is the most probable.",
            lambda logits, labels: -logits.log_softmax(-1).amax(-1)[labels != PAD].mean(),
        ),
        mistake(
            "your softmax is over the tokens",
            "The probabilities of the vocabulary, the last axis, must sum to 1. cross_entropy does it for "
            "you.",
            lambda logits, labels: _token_losses(logits.log_softmax(1), labels)[labels != PAD].mean(),
            lambda logits, labels: (
                -logits.log_softmax(1).gather(2, labels[..., None])[..., 0][labels != PAD].mean()
            ),
        ),
        mistake(
            "your loss looks at the first sentence only",
            "Average over the labels of all sentences in the batch.",
            lambda logits, labels: F.cross_entropy(logits[0][labels[0] != PAD], labels[0][labels[0] != PAD]),
        ),
    ),
)


def _logits(logits: Tensor) -> Tensor:
    return logits.requires_grad_()


def _weighted_losses(logits: Tensor, label: int, on_label: float, on_each: float) -> Tensor:
    """Cross-entropy with weight `on_label` on the label plus `on_each` on every token."""
    losses = -logits.log_softmax(-1)
    return on_label * losses[label] + on_each * losses.sum()


SMOOTHING = Exercise(
    id="06.smoothing",
    reference=lambda logits, label, epsilon: _weighted_losses(
        logits, label, 1 - epsilon, epsilon / len(logits)
    ),
    run=without("cross_entropy"),
    inputs=(
        (_logits(torch.tensor([0.0, 0.0, 1.0])), 2, 0.3),
        (_logits(torch.tensor([2.0, -1.0, 0.5, 0.0])), 0, 0.1),
        (_logits(normal(7)), 3, 0.2),
    ),
    mistakes=(
        mistake(
            "your loss does not smooth",
            "All the probability mass is still on the label. Move the mass `epsilon` from the label to "
            "the whole vocabulary.",
            lambda logits, label, epsilon: _weighted_losses(logits, label, 1.0, 0.0),
        ),
        mistake(
            "your loss spreads the mass over the other tokens only",
            "The mass `epsilon` goes to the whole vocabulary, including the label. Every token gets "
            "epsilon/vocab, and the label gets 1 − epsilon on top of that.",
            lambda logits, label, epsilon: _weighted_losses(
                logits, label, 1 - epsilon - epsilon / (len(logits) - 1), epsilon / (len(logits) - 1)
            ),
        ),
        mistake(
            "your loss gives the label exactly 1 − epsilon",
            "The label is a token of the vocabulary too, so it also gets its part of the mass that is "
            "spread: 1 − epsilon + epsilon/vocab in all. Otherwise the target does not sum to 1.",
            lambda logits, label, epsilon: _weighted_losses(
                logits, label, 1 - epsilon - epsilon / len(logits), epsilon / len(logits)
            ),
        ),
        mistake(
            "your loss gives the whole mass `epsilon` to every token",
            "The target distribution must sum to 1. Give each token epsilon/vocab.",
            lambda logits, label, epsilon: _weighted_losses(logits, label, 1 - epsilon, epsilon),
        ),
        mistake(
            "your loss takes nothing away from the label",
            "The target distribution must sum to 1. What the vocabulary gets must come from the label: give "
            "it 1 − epsilon, and then epsilon/vocab to every token.",
            lambda logits, label, epsilon: _weighted_losses(logits, label, 1.0, epsilon / len(logits)),
        ),
        mistake(
            "your loss swaps `epsilon` and 1 − epsilon",
            "The label gets 1 − epsilon, which is most of the mass. Only `epsilon` is spread over the "
            "vocabulary.",
            lambda logits, label, epsilon: _weighted_losses(
                logits, label, epsilon, (1 - epsilon) / len(logits)
            ),
        ),
        mistake(
            "your loss smooths the prediction instead of the label",
            "Label smoothing changes the target distribution, not the model's output. Take the "
            "logarithm first, then the weighted average.",
            lambda logits, label, epsilon: (
                -((1 - epsilon) * logits.softmax(-1)[label] + epsilon / len(logits)).log()
            ),
        ),
        mistake(
            "your code calls F.cross_entropy",
            "That function can smooth labels too, but here you write the loss yourself: −Σ target · log p, "
            "with log p from log_softmax.",
            lambda logits, label, epsilon: F.cross_entropy(
                logits, torch.tensor(label), label_smoothing=epsilon
            ),
        ),
        mistake(
            "your loss adds `epsilon` without log p",
            "Each token of the vocabulary costs −log p, weighted by epsilon/vocab. A constant has no "
            "gradient and changes nothing.",
            lambda logits, label, epsilon: -((1 - epsilon) * logits.log_softmax(-1)[label] + epsilon),
            lambda logits, label, epsilon: (
                -((1 - epsilon) * logits.log_softmax(-1)[label] + epsilon / len(logits))
            ),
        ),
        mistake(
            "your loss only scales the loss of the label",
            "The mass that the label loses must go to the vocabulary: add epsilon times the mean of all log "
            "p.",
            lambda logits, label, epsilon: _weighted_losses(logits, label, 1 - epsilon, 0.0),
            lambda logits, label, epsilon: _weighted_losses(
                logits, label, 1 - epsilon + epsilon / len(logits), 0.0
            ),
        ),
        mistake(
            "your loss counts the label's part of the spread mass twice",
            "The mean over the vocabulary includes the label. So the label alone gets 1 − epsilon, and the "
            "mean gets epsilon.",
            lambda logits, label, epsilon: _weighted_losses(
                logits, label, 1 - epsilon + epsilon / len(logits), epsilon / len(logits)
            ),
        ),
        mistake(
            "your loss has the wrong sign",
            "log p is negative, and a better prediction must lower the loss. Use −log p.",
            lambda logits, label, epsilon: (
                -_weighted_losses(logits, label, 1 - epsilon, epsilon / len(logits))
            ),
        ),
        mistake(
            "your loss has no gradient",
            "The value is right, but .item(), .detach() and float() cut it off from the logits, and then "
            "backward() cannot work. Return the tensor itself.",
            lambda logits, label, epsilon: _weighted_losses(
                logits, label, 1 - epsilon, epsilon / len(logits)
            ).item(),
        ),
        mistake(
            "your loss leaves out log_softmax",
            "Logits are not log-probabilities. Apply log_softmax first.",
            lambda logits, label, epsilon: -((1 - epsilon) * logits[label] + epsilon * logits.mean()),
        ),
        mistake(
            "your loss subtracts the vocabulary's part",
            "Both parts cost something: (1 − epsilon) · −log p of the label *plus* epsilon times the mean of "
            "all −log p.",
            lambda logits, label, epsilon: _weighted_losses(
                logits, label, 1 - epsilon, -epsilon / len(logits)
            ),
        ),
    ),
)
