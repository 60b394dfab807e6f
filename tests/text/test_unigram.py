"""The loss of a unigram model."""

import math

import pytest
import torch

from course_lib.text.unigram import unigram_loss


def test_the_unigram_loss_is_the_entropy_of_the_frequencies():
    assert unigram_loss([0, 1, 1, 2], vocab=4) == pytest.approx(1.5 * math.log(2))
    assert unigram_loss([0, 1], vocab=4, label_smoothing=1.0) == pytest.approx(math.log(4))
    with pytest.raises(ValueError, match="no ids"):
        unigram_loss(torch.tensor([], dtype=torch.long), 8)


def test_it_is_the_lowest_loss_of_a_model_without_context():
    ids, smoothing = torch.tensor([0, 1, 1, 2, 1, 0]), 0.1
    logits = torch.zeros(4, requires_grad=True)
    optimizer = torch.optim.SGD([logits], lr=1.0)
    for _ in range(2000):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(logits.expand(6, 4), ids, label_smoothing=smoothing)
        loss.backward()
        optimizer.step()
    assert unigram_loss(ids, 4, smoothing) == pytest.approx(loss.item(), abs=1e-4)
