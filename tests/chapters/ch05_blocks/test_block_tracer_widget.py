"""The block explorer: its steps are what the block computes, and its maps show and name their values."""

import numpy as np
import pytest
import torch

from course_lib.chapters.ch05_blocks import block_explorer, block_picture, block_tracer
from course_lib.layers.blocks import DecoderBlock, EncoderBlock
from course_lib.layers.masks import causal_mask
from course_lib.widgets.attention_map import AttentionMap
from course_lib.widgets.heatmap import Place

D, HEADS, D_FF, SOURCE, TARGET = 12, 3, 20, 6, 4


def steps_of(kind: str, norm: str) -> tuple[list[block_tracer.Step], torch.Tensor]:
    """The steps of a random sequence, and what the block itself returns."""
    torch.manual_seed(0)
    x, memory, mask = torch.randn(1, TARGET, D), torch.randn(1, SOURCE, D), causal_mask(TARGET)
    if kind == "encoder":
        block = EncoderBlock(D, HEADS, D_FF, norm=norm)
        return block_tracer.walk(block, x, mask=mask), block(x, mask)
    block = DecoderBlock(D, HEADS, D_FF, norm=norm)
    return block_tracer.walk(block, x, memory, mask), block(x, memory, mask)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_the_steps_lead_to_what_the_block_returns(kind: str, norm: str) -> None:
    """Each has the shape that its words say, and what goes around is added where the plan says."""
    steps, expected = steps_of(kind, norm)
    assert len(steps) == block_tracer.STEPS[kind]
    assert torch.allclose(steps[-1].value, expected, atol=1e-6)
    sizes = {"batch": 1, "tokens": TARGET, "source": SOURCE, "d_model": D, "heads": HEADS,
             "d_head": D // HEADS, "d_ff": D_FF}  # fmt: skip
    for step in steps:
        assert [sizes[word] for word in step.axes.split(", ")] == list(step.value.shape), step.name
    ways = block_picture.ways_round(steps)
    assert len(ways) == (2 if kind == "encoder" else 3)
    for start, end in ways:
        assert steps[end].part == "residual"
        assert torch.allclose(steps[start].value + steps[end - 1].value, steps[end].value, atol=1e-6)


def test_the_norm_stands_before_or_after() -> None:
    parts = {norm: [step.part for step in steps_of("encoder", norm)[0]] for norm in ("pre", "post")}
    assert parts["pre"][1] == "norm" and parts["pre"][-1] == "residual"
    assert parts["post"][1] == "self-attention" and parts["post"][-1] == "norm"
    assert sorted(parts["pre"]) == sorted(parts["post"])


def test_weights_sum_to_one_and_later_tokens_are_hidden() -> None:
    own, cross = (step.value for step in steps_of("decoder", "pre")[0] if step.name == "weights")
    assert torch.allclose(own.sum(-1), torch.ones(1, HEADS, TARGET), atol=1e-6)
    assert own.triu(1).abs().max() == 0
    assert torch.allclose(cross.sum(-1), torch.ones(1, HEADS, TARGET), atol=1e-6)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("block", ["encoder", "decoder"])
@pytest.mark.parametrize("heads", block_tracer.HEADS)
def test_every_step_is_said_with_its_shape(block: str, norm: str, heads: int) -> None:
    update = block_tracer.block_picture(AttentionMap())
    tokens = len(block_tracer.SOURCE if block == "encoder" else block_tracer.TARGET)
    seen = [update(block, norm, heads, step + 1, Place()) for step in range(block_tracer.STEPS[block])]
    assert len(set(seen)) == len(seen)
    assert all(f"Step {i + 1} of {len(seen)}, " in text for i, text in enumerate(seen))
    assert any(f"(1, {heads}, {tokens}, {block_tracer.D_MODEL // heads})" in text for text in seen)
    assert f"(1, {tokens}, {block_tracer.D_MODEL})" in seen[-1]


def test_the_step_has_as_many_places_as_the_block_has_steps() -> None:
    explorer = block_explorer()
    explorer.controls["block"].value = "decoder"
    explorer.controls["step"].value = explorer.controls["step"].max
    assert "Step 17 of 17" in explorer.line
    explorer.controls["block"].value = "encoder"
    assert explorer.controls["step"].value == 11
    assert "Step 11 of 11" in explorer.line


def test_the_values_of_heads_lie_side_by_side_and_are_named() -> None:
    steps, _ = steps_of("encoder", "pre")
    step = next(step for step in steps if step.name == "queries")
    shown = block_picture.tensor(step, "abcd", "abcd")
    width = D // HEADS
    assert shown.weights.shape == (TARGET, HEADS * (width + 1) - 1)
    assert np.isnan(shown.weights[:, width]).all()  # the gap between two heads
    for head in range(HEADS):
        first = head * (width + 1)
        assert np.array_equal(shown.weights[:, first : first + width], step.value[0, head].detach())
        value = f"{step.value[0, head, 2, 1]:.3f}".replace("-", "−")
        assert shown.descriptions[2][first + 1] == f"head {head + 1}, value {value}"
        assert shown.columns[first + 1] == "2"
    assert shown.descriptions[2][width] == ""


def test_a_masked_weight_is_said_to_be_masked() -> None:
    own, cross = (step for step in steps_of("decoder", "pre")[0] if step.name == "weights")
    shown = block_picture.tensor(own, "abcd", "abcd")
    assert shown.masked[:, :TARGET].tolist() == torch.ones(TARGET, TARGET).triu(1).bool().tolist()
    assert shown.descriptions[0][:2] == ["head 1, weight 1.000", "head 1, masked"]
    other = block_picture.tensor(cross, "abcd", "uvwxyz")
    assert not other.masked.any() and other.columns[: SOURCE + 1] == [*"uvwxyz", ""]
    single = block_picture.tensor(block_tracer.example("encoder", "pre", 1)[3], "abcde", "abcde")
    assert single.descriptions[0][0].startswith("weight ")  # no head to name


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_plan_shows_what_bypasses_each_step(norm: str) -> None:
    steps, _ = steps_of("encoder", norm)
    shown = block_picture.plan(steps, 3, "encoder")
    signs = [sign for _, sign in shown.texts]
    inside = {i for start, end in block_picture.ways_round(steps) for i in range(start + 1, end)}
    assert {i for i, sign in enumerate(signs) if sign == "↓"} == inside
    assert {i for i, sign in enumerate(signs) if sign.startswith("+")} == {
        i for i, step in enumerate(steps) if step.part == "residual"
    }
    assert np.isnan(shown.weights[:, 1]).tolist() == [not sign for sign in signs]
    said = [bypass for _, bypass in shown.descriptions]
    _, (start, end) = block_picture.ways_round(steps)
    assert f"x goes on to step {end + 1}, unchanged" in said[start]
    assert said[end] == f"x of step {start + 1} is added"
    assert shown.weights[:, 0].argmax() == 3 and shown.marked.row == 3


def test_a_click_on_a_step_goes_to_it() -> None:
    explorer = block_explorer()
    explorer.maps.select(row=6, column=0)
    assert explorer.controls["step"].value == 7 and "Step 7 of 11" in explorer.line
    assert explorer.maps.framed(0).row == 6
    explorer.maps.select(row=1, column=2, map=1)  # a value of the tensor: the step stays
    assert explorer.controls["step"].value == 7
