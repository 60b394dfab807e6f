"""Direct preference optimization (DPO): pairs of answers, log-probabilities of answers, the loss."""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.datasets.batching import Batches, ListDataset, RandomBatchSampler
from course_lib.models.gpt import GPT
from course_lib.tasks.prefix_lm import NOT_COUNTED, next_labels, pad_both, prompt
from course_lib.text.preparation import encode_clean
from course_lib.text.tokenizers import EOS, Vocabulary
from course_lib.training.evaluation import evaluating


@dataclass(frozen=True)
class Preference:
    """A request and two answers, of which somebody prefers the first."""

    request: str
    chosen: str
    rejected: str


class PreferenceBatches(Batches):
    """Batches of preferences: ids and labels of the chosen texts, then of the rejected ones.

    Each text is `BOS request EOS answer EOS`, and only the answer and its EOS have labels.
    batch: batch size; an incomplete last batch is dropped. seed: of the order.
    Raises ValueError if there are fewer preferences than one batch.
    """

    def __init__(self, preferences: Sequence[Preference], tokenizer: Vocabulary, batch: int, seed: int = 0):
        if len(preferences) < batch:
            raise ValueError(f"{len(preferences)} preferences are too few for a batch of {batch}")
        self.tokenizer = tokenizer
        order = RandomBatchSampler(len(preferences), batch, seed)
        super().__init__(ListDataset(preferences), order, self.collate)

    def collate(self, preferences: Sequence[Preference]) -> tuple[Tensor, ...]:
        """Ids and labels of the chosen texts and of the rejected texts."""
        requests = encode_clean(self.tokenizer, [one.request for one in preferences])
        starts = [prompt(request) for request in requests]
        batch: list[Tensor] = []
        for answers in ([one.chosen for one in preferences], [one.rejected for one in preferences]):
            encoded = encode_clean(self.tokenizer, answers)
            texts = [[*start, *answer, EOS] for start, answer in zip(starts, encoded, strict=True)]
            labels = [next_labels(ids, len(start)) for ids, start in zip(texts, starts, strict=True)]
            batch += pad_both(texts, labels)
        return tuple(batch)


def sequence_log_prob(
    model: GPT, ids: Int[Tensor, "batch tokens"], labels: Int[Tensor, "batch tokens"]
) -> Float[Tensor, " batch"]:
    """Log-probability of each row's labels: the sum over the positions that have one, in fp32.

    >>> from course_lib.models import GPT, GPTConfig
    >>> from course_lib.text import EOS
    >>> ids, labels = torch.tensor([[5, 6, 7]]), torch.tensor([[-100, 7, EOS]])
    >>> sequence_log_prob(GPT(GPTConfig(vocab=65)), ids, labels).shape
    torch.Size([1])
    """
    losses = F.cross_entropy(model(ids).float().mT, labels, reduction="none", ignore_index=NOT_COUNTED)
    return -losses.sum(dim=1)


def dpo_loss(
    chosen: Float[Tensor, " batch"],
    rejected: Float[Tensor, " batch"],
    reference_chosen: Float[Tensor, " batch"],
    reference_rejected: Float[Tensor, " batch"],
    beta: float = 0.1,
) -> Float[Tensor, " batch"]:
    """DPO loss of each pair: −log σ(β · margin).

    The margin says by how much more than the reference the model favors the chosen answer. All four tensors
    are log-probabilities of answers, see `sequence_log_prob`.
    Source: Rafailov et al. 2023, equation (7).

    >>> log_probs = torch.tensor([-5.0])
    >>> dpo_loss(log_probs, log_probs, log_probs, log_probs)  # the model is still the reference: ln 2
    tensor([0.6931])
    """
    margin = (chosen - reference_chosen) - (rejected - reference_rejected)
    return -F.logsigmoid(beta * margin)


class DPOLoss(nn.Module):
    """DPO with a frozen copy of the model as the reference.

    model: the one to train; the reference is a copy of it as it is now. Both compute without dropout, also
    during training, as in TRL; otherwise, the margin would begin as noise instead of 0.
    beta: how far the model may move from the reference; a larger beta keeps it closer.
    Raises ValueError if beta is not positive.

    >>> from course_lib.models import GPT, GPTConfig
    >>> from course_lib.text import EOS
    >>> ids, labels = torch.tensor([[5, 6, 7]]), torch.tensor([[-100, 7, EOS]])
    >>> loss, pairs = DPOLoss(GPT(GPTConfig(vocab=65)))(ids, labels, ids, labels)
    >>> round(loss.item(), 4)  # the model is still the reference: ln 2
    0.6931
    """

    def __init__(self, model: GPT, beta: float = 0.1):
        super().__init__()
        if not 0 < beta < math.inf:
            raise ValueError(f"beta={beta} must be positive and finite")
        self.model, self.beta = model, beta
        self.reference = copy.deepcopy(model).requires_grad_(False)

    def forward(
        self,
        chosen: Int[Tensor, "batch chosen"],
        chosen_labels: Int[Tensor, "batch chosen"],
        rejected: Int[Tensor, "batch rejected"],
        rejected_labels: Int[Tensor, "batch rejected"],
    ) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
        """Sum of the losses, and the number of pairs."""
        with evaluating(self):
            won = sequence_log_prob(self.model, chosen, chosen_labels)
            lost = sequence_log_prob(self.model, rejected, rejected_labels)
            with torch.no_grad():
                won_before = sequence_log_prob(self.reference, chosen, chosen_labels)
                lost_before = sequence_log_prob(self.reference, rejected, rejected_labels)
        losses = dpo_loss(won, lost, won_before, lost_before, self.beta)
        return losses.sum(), torch.full((), chosen.shape[0], device=chosen.device)
