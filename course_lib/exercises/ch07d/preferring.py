"""The DPO loss."""

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake
from course_lib.tasks.preferences import dpo_loss


def _loss(
    reference: float = 1.0,
    of: Answer = lambda beta, margin: -F.logsigmoid(beta * margin),
    reduce: Answer = torch.mean,
) -> Answer:
    """DPO with options for the mistakes.

    reference: factor of the reference's log-probabilities. of: the loss of a pair. reduce: to one number.
    """

    def answer(
        chosen: Tensor, rejected: Tensor, ref_chosen: Tensor, ref_rejected: Tensor, beta: float
    ) -> Tensor:
        margin = (chosen - rejected) - reference * (ref_chosen - ref_rejected)
        return reduce(of(beta, margin))

    return answer


def _swapped_reference(
    chosen: Tensor, rejected: Tensor, ref_chosen: Tensor, ref_rejected: Tensor, beta: float
) -> Tensor:
    return _loss()(chosen, rejected, ref_rejected, ref_chosen, beta)


def _probabilities(
    chosen: Tensor, rejected: Tensor, ref_chosen: Tensor, ref_rejected: Tensor, beta: float
) -> Tensor:
    return _loss()(chosen.exp(), rejected.exp(), ref_chosen.exp(), ref_rejected.exp(), beta)


def _chosen_only(
    chosen: Tensor, rejected: Tensor, ref_chosen: Tensor, ref_rejected: Tensor, beta: float
) -> Tensor:
    return -F.logsigmoid(beta * (chosen - ref_chosen)).mean()


def _rejected_only(
    chosen: Tensor, rejected: Tensor, ref_chosen: Tensor, ref_rejected: Tensor, beta: float
) -> Tensor:
    return -F.logsigmoid(-beta * (rejected - ref_rejected)).mean()


def _plus_rejected(
    chosen: Tensor, rejected: Tensor, ref_chosen: Tensor, ref_rejected: Tensor, beta: float
) -> Tensor:
    return -F.logsigmoid(beta * (chosen - ref_chosen + rejected - ref_rejected)).mean()


def _mean_margin(
    chosen: Tensor, rejected: Tensor, ref_chosen: Tensor, ref_rejected: Tensor, beta: float
) -> Tensor:
    return -F.logsigmoid(beta * (chosen - ref_chosen - rejected + ref_rejected).mean())


def _loss_of(margin: Answer) -> Answer:
    return lambda chosen, rejected, ref_chosen, ref_rejected, beta: (
        -F.logsigmoid(beta * margin(chosen, rejected, ref_chosen, ref_rejected)).mean()
    )


def _pairs(*rows: list[float]) -> tuple[Tensor, ...]:
    """Log-probabilities of the model, of which it is trained, and of the reference."""
    chosen, rejected, ref_chosen, ref_rejected = map(torch.tensor, rows)
    return chosen.requires_grad_(), rejected.requires_grad_(), ref_chosen, ref_rejected


_ONE = _pairs([-1.0], [-3.0], [-2.0], [-2.5])
_THREE = _pairs([-2.0, -1.5, -6.0], [-1.0, -4.0, -5.5], [-3.0, -2.0, -4.0], [-2.5, -3.5, -7.0])

DPO = Exercise(
    id="07d.dpo",
    reference=lambda chosen, rejected, ref_chosen, ref_rejected, beta: dpo_loss(
        chosen, rejected, ref_chosen, ref_rejected, beta
    ).mean(),
    inputs=((*_ONE, 0.5), (*_THREE, 0.5), (*_THREE, 0.1)),
    mistakes=(
        mistake(
            "your loss ignores the reference",
            "Subtract the reference's log-probability from the model's for both answers. Otherwise an "
            "answer that was always likely counts as preferred.",
            _loss(reference=0.0),
        ),
        mistake(
            "your loss adds the reference instead of subtracting it",
            "The margin is (chosen − ref_chosen) − (rejected − ref_rejected). Check the signs, and that each "
            "answer is compared with the reference's log-probability of the same answer.",
            _loss(reference=-1.0),
            _swapped_reference,
        ),
        mistake(
            "your loss makes the rejected answers more likely",
            "A larger margin must give a smaller loss. Check the signs: chosen minus rejected, each minus "
            "its reference, and a minus in front of the logarithm.",
            _loss(of=lambda beta, margin: -F.logsigmoid(-beta * margin)),
            _loss(of=lambda beta, margin: F.logsigmoid(beta * margin)),
        ),
        mistake(
            "your loss forgets beta",
            "Multiply the margin by beta before the sigmoid.",
            _loss(of=lambda beta, margin: -F.logsigmoid(margin)),
        ),
        mistake(
            "your loss multiplies by beta after the logarithm",
            "Beta belongs inside the sigmoid: −log σ(beta · margin).",
            _loss(of=lambda beta, margin: -beta * F.logsigmoid(margin)),
        ),
        mistake(
            "your loss divides by beta",
            "The margin is multiplied by beta.",
            _loss(of=lambda beta, margin: -F.logsigmoid(margin / beta)),
        ),
        mistake(
            "your loss lacks the logarithm",
            "The loss is −log σ(beta · margin), a cross-entropy: −log of the probability of the observed "
            "preference.",
            _loss(of=lambda beta, margin: -torch.sigmoid(beta * margin)),
            _loss(of=lambda beta, margin: 1 - torch.sigmoid(beta * margin)),
        ),
        mistake(
            "your loss lacks the sigmoid",
            "A plain margin could grow forever. The sigmoid makes it a probability, and pairs that the "
            "model has learned hardly count any more.",
            _loss(of=lambda beta, margin: -beta * margin),
        ),
        mistake(
            "your loss is the sum over the pairs",
            "Return the mean, so that the loss does not depend on the batch size.",
            _loss(reduce=torch.sum),
        ),
        mistake(
            "your loss has one number per pair",
            "Return their mean.",
            _loss(reduce=lambda losses: losses),
        ),
        mistake(
            "your loss uses probabilities",
            "The arguments are log-probabilities already, and their differences are logarithms of ratios. "
            "Do not exponentiate them.",
            _probabilities,
        ),
        mistake(
            "your loss ignores the rejected answers",
            "A preference compares two answers: subtract (rejected − ref_rejected) too.",
            _chosen_only,
        ),
        mistake(
            "your loss ignores the chosen answers",
            "A preference compares two answers: start from (chosen − ref_chosen).",
            _rejected_only,
        ),
        mistake(
            "your loss adds the two differences",
            "The margin is (chosen − ref_chosen) − (rejected − ref_rejected), with a minus between the "
            "brackets. Otherwise the loss would make the rejected answers more likely, too.",
            _plus_rejected,
        ),
        mistake(
            "your loss takes the mean of the margins",
            "Each pair has its own loss. Take the mean last, after the logarithm of the sigmoid.",
            _mean_margin,
        ),
        mistake(
            "your loss applies the logarithm to the sigmoid's mean",
            "Each pair has its own loss, −log σ(beta · margin). Take the mean last.",
            _loss(of=lambda beta, margin: torch.sigmoid(beta * margin), reduce=lambda p: -p.mean().log()),
        ),
        mistake(
            "your loss has no gradient",
            "The value is right, but .item() and .detach() cut it off from the model, and then backward() "
            "cannot work. Return the tensor itself.",
            lambda *arguments: dpo_loss(*arguments).mean().item(),
        ),
        mistake(
            "your loss divides by the reference",
            "A ratio of probabilities is a *difference* of log-probabilities: chosen − ref_chosen.",
            _loss_of(lambda c, r, rc, rr: c / rc - r / rr),
        ),
        mistake(
            "your loss multiplies the two differences",
            "Subtract: (chosen − ref_chosen) − (rejected − ref_rejected).",
            _loss_of(lambda c, r, rc, rr: (c - rc) * (r - rr)),
        ),
    ),
)
