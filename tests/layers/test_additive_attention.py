"""Additive attention against d2l, against its formula as explicit loops, and with deliberate bugs."""

from itertools import product

import pytest
import torch

from course_lib.layers.masks import causal_mask, valid_lens_mask
from course_lib.layers.multi_head_attention import AdditiveAttention

BATCH, QUERIES, KEYS, D_QUERY, D_KEY, D_HIDDEN, D_VALUE = 2, 3, 5, 4, 6, 8, 7  # all different


def layer(device="cpu"):
    torch.manual_seed(0)
    return AdditiveAttention(D_QUERY, D_KEY, D_HIDDEN).to(device)


def tensors(device="cpu"):
    rng = torch.Generator().manual_seed(0)
    shapes = (QUERIES, D_QUERY), (KEYS, D_KEY), (KEYS, D_VALUE)
    return [torch.randn(BATCH, *shape, generator=rng).to(device) for shape in shapes]


def written_out(model, q, k):
    """The formula of the paper, pair by pair."""
    scores = torch.empty(BATCH, QUERIES, KEYS)
    for n, i, j in product(range(BATCH), range(QUERIES), range(KEYS)):
        hidden = torch.tanh(model.w_q.weight @ q[n, i] + model.w_k.weight @ k[n, j])
        scores[n, i, j] = model.w_v.weight[0] @ hidden
    return scores


def test_scores_equal_the_formula_pair_by_pair():
    model, (q, k, _) = layer(), tensors()
    assert torch.allclose(model.scores(q, k), written_out(model, q, k), atol=1e-6)


def without_tanh(model, q, k):
    return model.w_v(model.w_q(q)[..., :, None, :] + model.w_k(k)[..., None, :, :]).squeeze(-1)


def tanh_last(model, q, k):
    return torch.tanh(without_tanh(model, q, k))


def swapped(model, q, k):
    return model.scores(q, k).flip(-2)


@pytest.mark.parametrize("bug", [without_tanh, tanh_last, swapped], ids=lambda f: f.__name__)
def test_a_deliberate_bug_is_seen(bug):
    model, (q, k, _) = layer(), tensors()
    assert not torch.allclose(bug(model, q, k), written_out(model, q, k), atol=1e-3)


@pytest.mark.parametrize("lens", [None, [2, 5], [[1, 2, 5], [4, 3, 1]]], ids=str)
def test_equals_d2l(lens):
    pytest.importorskip("course_lib.pretrained.torchvision_ops").import_torchvision()
    d2l = pytest.importorskip("d2l.torch", exc_type=ImportError)
    q, k, v = tensors()
    lens = None if lens is None else torch.tensor(lens)
    theirs, ours = d2l.AdditiveAttention(D_HIDDEN, dropout=0.0).eval(), layer()
    theirs(q, k, v, lens)  # d2l's layers take their input sizes from the first call
    with torch.no_grad():
        ours.w_q.weight.copy_(theirs.W_q.weight)
        ours.w_k.weight.copy_(theirs.W_k.weight)
        ours.w_v.weight.copy_(theirs.w_v.weight)
    averages, weights = ours(q, k, v, None if lens is None else valid_lens_mask(lens, KEYS)[:, 0])
    assert torch.allclose(averages, theirs(q, k, v, lens), atol=1e-6)
    assert torch.allclose(weights, theirs.attention_weights, atol=1e-6)


def test_rows_sum_to_one_or_to_zero_with_finite_gradients(device):
    model, (q, k, v) = layer(device), tensors(device)
    mask = torch.ones(BATCH, QUERIES, KEYS, dtype=torch.bool, device=device)
    mask[:, :, 3:], mask[1, 2] = False, False
    averages, weights = model(q, k, v, mask)
    sums = torch.ones(BATCH, QUERIES, device=device)
    sums[1, 2] = 0
    assert torch.allclose(weights.sum(-1), sums, atol=1e-6)
    assert weights[:, :, 3:].abs().max() == 0 and averages[1, 2].abs().max() == 0
    averages.sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("training", [True, False])
def test_causal_masks_hide_the_future_in_training_and_in_evaluation(training):
    model = AdditiveAttention(D_QUERY, D_QUERY, D_HIDDEN).train(training)
    x = torch.randn(6, D_QUERY)
    changed = x.clone()
    changed[4:] += 1
    before, after = (model(y, y, y, causal_mask(6))[0] for y in (x, changed))
    assert torch.equal(before[:4], after[:4])
    assert ((before[4:] - after[4:]).abs().amax(-1) > 1e-3).all()


def test_a_masked_key_equals_an_absent_one():
    model, (q, k, v) = layer(), tensors()
    mask = valid_lens_mask(torch.tensor([3, 3]), KEYS)[:, 0]
    assert torch.allclose(model(q, k, v, mask)[0], model(q, k[:, :3], v[:, :3])[0], atol=1e-6)


def test_leading_axes_may_be_any():
    model, (q, k, v) = layer(), tensors()
    assert torch.allclose(model(q, k, v)[0][1], model(q[1], k[1], v[1])[0], atol=1e-6)


def test_parameter_count():
    assert sum(p.numel() for p in layer().parameters()) == D_HIDDEN * (D_QUERY + D_KEY + 1)


@pytest.mark.parametrize("single", [0, 1])
def test_a_single_vector_is_refused_by_its_shape(single, unchecked):
    model, (q, k, v) = layer(), tensors()
    given = [q[1], k[1]]
    given[single] = given[single][0]
    with pytest.raises(ValueError, match=rf"\({given[single].shape[0]},\)"):
        model(*given, v[1])
