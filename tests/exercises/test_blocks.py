"""Exercises of chapters 5 and 5b: mistakes are recognized however they are written."""

import pytest
import torch
import torch.nn.functional as F

from course_lib.exercises import catalogue, grade
from course_lib.exercises.toys import cross_attention, feed_forward, norm, self_attention

EXERCISES = catalogue()


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


def layer_norm_without_keepdim(x, gain, bias):
    mean, variance = x.mean(-1), x.var(-1, correction=0)
    return gain * (x - mean) / (variance + 1e-5).sqrt() + bias


def every_block_reads_x(x, blocks, norm):
    for block in blocks:
        y = block(x)
    return norm(y)


def one_norm_for_all(x, memory):
    normed = F.layer_norm(x, x.shape[-1:])
    x = x + self_attention(normed)
    x = x + cross_attention(normed, memory)
    return x + feed_forward(normed)


def best_rate_by_one_run(losses):
    pairs = [(loss, rate) for rate, some in losses.items() for loss in some]
    return sorted(pairs)[0][1]


WRITTEN_DIFFERENTLY = {
    ("05.layer_norm", "your code drops the axis of the mean or of the variance"): layer_norm_without_keepdim,
    ("05.stack", "your code passes x to every block"): every_block_reads_x,
    ("05.decoder_block", "your code uses one norm for all three sublayers"): one_norm_for_all,
    ("05.parameters", "your answer forgets a bias of the feed-forward layer"): lambda d, f: (
        4 * d * (d + 1) + 2 * d * f + f + 4 * d
    ),
    ("05b.best_rate", "your code picks the rate of the single best run"): best_rate_by_one_run,
    ("05b.rms_norm", "your code divides by the root of the sum, not of the mean"): lambda x, gain: (
        F.normalize(x, dim=-1) * gain
    ),
    ("05b.qk_norm", "your code normalizes the values, too"): lambda q, k, v: F.scaled_dot_product_attention(
        *(F.rms_norm(part, part.shape[-1:]) for part in (q, k, v))
    ),
    ("05b.swiglu", "your code uses the sigmoid"): lambda x, w_gate, w_in, w_out: (
        F.glu(torch.cat([x @ w_in, x @ w_gate], dim=-1)) @ w_out
    ),
    ("05.layer_norm", "your code takes the mean over the batch, as BatchNorm does"): batch_norm,
    ("05.layer_norm", "your code divides the variance by n − 1 instead of n"): norm_with_std,
    ("05.dropout", "your code also drops in evaluation"): lambda x, keep, p, training: torch.where(
        keep, x / (1 - p), 0
    ),
    ("05.dropout", "your code divides by p"): lambda x, keep, p, training: x * keep / p if training else x,
    ("05.pre_norm", "your code applies the norm after the sum"): lambda x, sublayer, norm: norm(
        sublayer(x) + x
    ),
    ("05.pre_norm", "your code forgets the skip connection"): lambda x, sublayer, norm: sublayer(norm(x)),
    (
        "05.decoder_block",
        "your code forgets the skip connection around cross-attention",
    ): no_residual_around_cross_attention,
    ("05.decoder_block", "your code normalizes the memory again"): decoder_that_norms_the_memory,
    ("05.stack", "your code applies the norm after each block"): norm_each_block,
    ("05.parameters", "your answer forgets the biases"): lambda d, f: 4 * d**2 + 2 * d * f + 4 * d,
    ("05b.warmup", "your rate starts at 0"): lambda n, lr, warmup: lr if n > warmup else lr * n / warmup,
}


@pytest.mark.parametrize(
    ("key", "answer"), WRITTEN_DIFFERENTLY.items(), ids=lambda one: getattr(one, "__name__", str(one))
)
def test_a_mistake_is_known_however_it_is_written(key: tuple[str, str], answer: object) -> None:
    assert grade(EXERCISES[key[0]], answer).mistake == key[1]
