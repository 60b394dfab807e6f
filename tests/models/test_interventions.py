"""Interventions in a GPT are exact: nothing patched changes nothing, everything patched is the other run."""

import pytest
import torch
from helpers.random_weights import randomized

from course_lib.models.gpt import GPT, GPTConfig
from course_lib.models.interventions import (
    ablate_head,
    head_outputs,
    patch_residuals,
    patching_map,
    residual_stream,
)

CONFIG = {"vocab": 23, "d_model": 12, "heads": 3, "layers": 2, "max_tokens": 16}
DEPTHS, TOKENS = range(3), 7
EVERYWHERE = slice(None)


@pytest.fixture(scope="module", params=[{}, {"positions": "rotary"}], ids=str)
def model(request, device):
    torch.manual_seed(0)
    return randomized(GPT(GPTConfig(**CONFIG, **request.param)), device).eval().requires_grad_(False)


@pytest.fixture(scope="module")
def runs(device):
    """Two batches that differ in every token."""
    one = torch.randint(5, 23, (2, TOKENS), generator=torch.Generator().manual_seed(1)).to(device)
    return one, (one - 5 + 3) % 18 + 5


def test_the_stream_runs_from_the_embedding_to_the_logits(model, runs):
    stream = residual_stream(model, runs[0])
    assert stream.shape == (3, 2, TOKENS, 12)
    x = model.positions(model.embedding(runs[0]))
    assert torch.equal(stream[0], x)
    for block, after in zip(model.blocks, stream[1:], strict=True):
        x = block(x, torch.ones(TOKENS, TOKENS, dtype=torch.bool, device=x.device).tril())
        assert torch.allclose(after, x, atol=1e-5)
    assert torch.equal(model.output_logits(model.norm(stream[-1])), model(runs[0]))


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("positions", [3, [1, 5], slice(2, None), EVERYWHERE], ids=str)
def test_a_run_patched_with_itself_is_unchanged(model, runs, depth, positions):
    with patch_residuals(model, depth, positions, residual_stream(model, runs[0])):
        patched = model(runs[0])
    assert torch.equal(patched, model(runs[0]))


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_run_patched_everywhere_is_the_other_run(model, runs, depth):
    other = model(runs[1])
    with patch_residuals(model, depth, EVERYWHERE, residual_stream(model, runs[1])):
        assert torch.equal(model(runs[0]), other)


@pytest.mark.parametrize("depth", DEPTHS)
def test_one_patched_token_reaches_itself_and_later_tokens_only(model, runs, depth):
    with patch_residuals(model, depth, 3, residual_stream(model, runs[1])):
        patched = model(runs[0])
    moved = (patched - model(runs[0])).abs().amax(dim=(0, 2)) > 1e-3
    last = depth == DEPTHS[-1]  # no block follows, so nothing can spread
    assert moved.tolist() == [p == 3 if last else p >= 3 for p in range(TOKENS)]


def test_after_the_last_block_a_patched_token_has_the_other_runs_logits(model, runs):
    other = model(runs[1])
    with patch_residuals(model, 2, 3, residual_stream(model, runs[1])):
        assert torch.equal(model(runs[0])[:, 3], other[:, 3])


def test_the_map_measures_each_depth_and_token(model, runs):
    def measure(logits):
        return logits[:, -1, 7].mean()

    stream = residual_stream(model, runs[1])
    effects = patching_map(model, runs[0], stream, measure)
    assert effects.shape == (3, TOKENS)
    with patch_residuals(model, 1, 4, stream):
        assert effects[1, 4] == measure(model(runs[0]))
    assert effects[2, -1] == measure(model(runs[1]))
    assert (effects[2, :-1] == measure(model(runs[0])).item()).all()


@pytest.mark.parametrize("block", range(2))
@pytest.mark.parametrize("head", range(3))
def test_an_ablated_head_is_one_whose_output_weights_are_zero(model, runs, block, head):
    with ablate_head(model, block, head):
        ablated = model(runs[0])
    weight = model.blocks[block].attention.w_o.weight
    before = weight.clone()
    weight[:, 4 * head : 4 * head + 4] = 0
    by_weights = model(runs[0])
    weight.copy_(before)
    assert torch.allclose(ablated, by_weights, atol=1e-5)
    assert not torch.allclose(ablated, model(runs[0]), atol=1e-2)


def test_the_outputs_of_the_heads_are_what_the_layer_merges(model, runs):
    x, block = residual_stream(model, runs[0])[1], model.blocks[1]
    x = x + block.attention.w_o(head_outputs(model, runs[0])[1].flatten(-2))
    expected = residual_stream(model, runs[0])[2]
    assert torch.allclose(x + block.feed_forward(block.norm_2(x)), expected, atol=1e-4)


@pytest.mark.parametrize("head", range(3))
def test_a_head_gives_what_it_is_told_and_the_others_what_they_did(model, runs, head):
    own, other = (head_outputs(model, ids)[1] for ids in runs)
    before = model(runs[0])
    with ablate_head(model, 1, head, instead=own[:, :, head]):
        assert torch.allclose(model(runs[0]), before, atol=1e-5)
    expected = own.clone()
    expected[:, :, head] = other[:, :, head]
    with ablate_head(model, 1, head, instead=other[:, :, head]):
        replaced = residual_stream(model, runs[0])[2]
    x, block = residual_stream(model, runs[0])[1], model.blocks[1]
    x = x + block.attention.w_o(expected.flatten(-2))
    assert torch.allclose(x + block.feed_forward(block.norm_2(x)), replaced, atol=1e-4)


def test_an_intervention_ends_with_its_block_even_after_an_error(model, runs):
    before = model(runs[0])
    stream = residual_stream(model, runs[1])
    for intervention in (ablate_head(model, 0, 1), patch_residuals(model, 1, 2, stream)):
        with pytest.raises(KeyError), intervention:
            raise KeyError
        assert torch.equal(model(runs[0]), before)


def test_what_does_not_exist_is_named(model, runs):
    stream = residual_stream(model, runs[0])
    with pytest.raises(ValueError, match="depth=3: the model has depths 0 to 2"):
        patch_residuals(model, 3, 0, stream).__enter__()
    with pytest.raises(ValueError, match=r"patched run is \(2, 5, 12\), the other \(2, 7, 12\)"):
        with patch_residuals(model, 1, 0, stream):
            model(runs[0][:, :5])
    for block, head in ((2, 0), (0, 3), (-1, 0)):
        with pytest.raises(ValueError, match=f"block={block}, head={head}: .* 2 blocks with 3 heads"):
            ablate_head(model, block, head).__enter__()
