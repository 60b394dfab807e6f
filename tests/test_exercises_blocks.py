"""The exercises of chapter 5: mistakes are known however written, and each faulty line is checked alone."""

import pytest
import torch
import torch.nn.functional as F

from course_lib.exercises import catalogue, judge
from course_lib.exercises.ch05.blocks import cross_attention, feed_forward, norm, self_attention
from course_lib.lectures.einsum_faults import BY_NAME, FAULTS
from course_lib.lectures.einsum_repair import Repair

EXERCISES = catalogue()
REPAIRS = [exercise for key, exercise in EXERCISES.items() if key.startswith("05.repair")]


def batch_norm(x, gain, bias):
    return F.batch_norm(x.transpose(1, 2), None, None, training=True).transpose(1, 2) * gain + bias


def norm_with_std(x, gain, bias):
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-5) * gain + bias


def no_residual_around_cross_attention(x, memory):
    x += self_attention(F.layer_norm(x, x.shape[-1:]))
    x = cross_attention(norm(x), memory)
    return x + feed_forward(norm(x))


def decoder_that_norms_the_memory(x, memory):
    x = x + self_attention(norm(x))
    return (y := x + cross_attention(norm(x), F.layer_norm(memory, (4,)))) + feed_forward(norm(y))


def norm_each_block(x, blocks, norm):
    for block in blocks:
        x = norm(block(x))
    return x


WRITTEN_DIFFERENTLY = {
    ("05.layer_norm", "takes the mean over the batch, as BatchNorm does"): batch_norm,
    ("05.layer_norm", "divides the variance by one too few"): norm_with_std,
    ("05.dropout", "drops in evaluation, too"): lambda x, keep, p, training: torch.where(
        keep, x / (1 - p), 0
    ),
    ("05.dropout", "divides by p"): lambda x, keep, p, training: x * keep / p if training else x,
    ("05.pre_norm", "puts the norm after the sum"): lambda x, sublayer, norm: norm(sublayer(x) + x),
    ("05.pre_norm", "forgets the residual"): lambda x, sublayer, norm: sublayer(norm(x)),
    (
        "05.decoder_block",
        "forgets the residual around cross-attention",
    ): no_residual_around_cross_attention,
    ("05.decoder_block", "norms the memory once more"): decoder_that_norms_the_memory,
    ("05.stack", "norms after each block"): norm_each_block,
    ("05.parameters", "forgets the biases"): lambda d, f: 4 * d**2 + 2 * d * f + 4 * d,
    ("05.warmup", "begins with a rate of 0"): lambda n, lr, warmup: lr if n > warmup else lr * n / warmup,
}


@pytest.mark.parametrize(
    ("key", "answer"), WRITTEN_DIFFERENTLY.items(), ids=lambda one: getattr(one, "__name__", str(one))
)
def test_a_mistake_is_known_however_it_is_written(key: tuple[str, str], answer: object) -> None:
    assert judge(EXERCISES[key[0]], answer).mistake == key[1]


def test_the_repairs_cover_every_fault_once() -> None:
    asked = [name for exercise in REPAIRS for (name,) in exercise.inputs]
    assert sorted(asked) == sorted(fault.name for fault in FAULTS)


@pytest.mark.parametrize("exercise", REPAIRS, ids=lambda exercise: exercise.id)
def test_each_line_is_checked_by_itself(exercise) -> None:
    names = [name for (name,) in exercise.inputs]
    right = {name: BY_NAME[name].right for name in names}
    assert judge(exercise, Repair(right)).state == "passed"
    for name in names:
        verdict = judge(exercise, Repair({**right, name: BY_NAME[name].says}))
        assert verdict.mistake == BY_NAME[name].leaves
        assert judge(exercise, Repair({**right, name: ...})).state != "passed"


def test_two_faults_left_are_told_one_after_the_other() -> None:
    lines = {fault.name: fault.right for fault in FAULTS if fault.where == "SelfAttention"}
    wrong = {name: BY_NAME[name].says for name in ("scores", "fc_out")}
    verdict = judge(EXERCISES["05.repair_attention"], Repair({**lines, **wrong}))
    assert (
        verdict.state == "wrong" and "fault = 'scores'" in verdict.text and "AttributeError" in verdict.text
    )
