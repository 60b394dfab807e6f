"""Wrong answers to the exercises of chapters 8 to 10 and the appendices: none passes."""

import math

import pytest
import torch
import torch.nn.functional as F
from helpers.learner import refused

from course_lib.exercises import find, grade
from course_lib.text.tokenizers import CLS


def embed_by_conv1d(patches, weight, bias):
    return F.conv1d(patches.mT, weight.flatten(1)[..., None], bias).mT


def embed_by_module(patches, weight, bias):
    layer = torch.nn.Conv2d(weight.shape[1], len(weight), weight.shape[2], weight.shape[2])
    layer.weight, layer.bias = torch.nn.Parameter(weight), torch.nn.Parameter(bias)
    images = patches.reshape(-1, *weight.shape[1:])
    return layer(images).reshape(*patches.shape[:2], -1)


def embed_by_a_copied_module(patches, weight, bias):
    layer = torch.nn.Conv2d(weight.shape[1], len(weight), weight.shape[2], weight.shape[2])
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(bias)
    return layer(patches.reshape(-1, *weight.shape[1:])).reshape(*patches.shape[:2], -1)


def paint(
    per_row, rows=lambda r, s: slice(r * s, (r + 1) * s), columns=lambda c, s: slice(c * s, (c + 1) * s)
):
    def painted_by(images, patches, size):
        painted = images.clone()
        for image, chosen in zip(painted, patches.tolist(), strict=True):
            for patch in chosen:
                row, column = divmod(patch, per_row(images, size))
                image[rows(row, size), columns(column, size)] = -1
        return painted

    return painted_by


def across(images, size):
    return images.shape[-1] // size


def rollout_with(merge, mix=lambda layer, own: (layer + own) / 2):
    def rollout(weights):
        own = arrived = torch.eye(weights.shape[-1])
        for layer in merge(weights):
            arrived = mix(layer, own) @ arrived
        return arrived

    return rollout


def map_with(merge, norm=lambda row: row / row.sum(-1, keepdim=True)):
    return lambda weights, side: norm(merge(weights)).reshape(len(weights), side, side)


def noise_with(alpha_bar, of_noise=lambda a: (1 - a) ** 0.5):
    def noised(clean, noise, betas, t):
        a = alpha_bar(betas, t)
        return a**0.5 * clean + of_noise(a) * noise

    return noised


def noise_step_by_step(clean, noise, betas, t):
    x = clean
    for i in range(t):
        x = (1 - betas[i]).sqrt() * x + betas[i].sqrt() * noise
    return x


def attention_with(scale, dim=-1, pick=lambda q, k, v: (q, k, v)):
    def attend(qkv, heads):
        q, k, v = (part.unflatten(1, (heads, -1)) for part in qkv.chunk(3, dim=1))
        q, k, v = pick(q, k, v)
        weights = (q.mT @ k / scale(q)).softmax(dim=dim)
        return (v @ weights.mT).flatten(1, 2)

    return attend


def lora_with(factor, count=lambda w, a, b: a.numel() + b.numel()):
    return lambda x, w, a, b, alpha: (
        x @ w.T + factor(alpha, x, w, a, b) * (x @ a.T @ b.T),
        count(w, a, b),
    )


WRONG = [  # exercise, what the message must name (None: it shows a counterexample), answer
    ("08.embed", "calls a convolution", embed_by_conv1d),
    ("08.embed", "calls a convolution", embed_by_module),
    ("08.embed", "calls a convolution", embed_by_a_copied_module),
    ("08.embed", "leaves out the bias", lambda patches, w, bias: patches @ w.flatten(1).T),
    ("08.embed", "instead of transposing", lambda patches, w, bias: patches @ w.view(-1, len(w)) + bias),
    ("08.patches", "strips", lambda x, s: x.reshape(len(x), -1, x.shape[1] * s * s)),
    ("08.sequence", "no position to the class", lambda p, c, pos: torch.cat(
        [c.expand(len(p), 1, -1), p + pos[1:]], dim=1
    )),
    ("08.pool", "includes the class token", lambda states: states.mean(1)),
    ("08b.map", "second softmax", map_with(lambda w: w[:, :, 0, 1:].mean(1), lambda row: row.softmax(-1))),
    ("08b.map", "largest weight over the heads", map_with(lambda w: w[:, :, 0, 1:].amax(1))),
    ("08b.map", "sum to 1", map_with(lambda w: w[:, :, 0, 1:].mean(1), lambda row: row / row.sum())),
    ("08b.map", "column 0|attend to the class token", map_with(lambda w: w[:, :, 1:, 0].mean(1))),
    ("08b.rollout", "largest weight", rollout_with(lambda w: w.amax(dim=1))),
    ("08b.rollout", "adds up the heads", rollout_with(lambda w: w.sum(dim=1))),
    ("08b.rollout", "skip connection", rollout_with(lambda w: w.mean(1), lambda layer, own: layer)),
    ("08b.rollout", "wrong order", rollout_with(lambda w: w.mean(1).flip(0))),
    ("08b.occlude", "height for the width", paint(lambda images, size: images.shape[1] // size)),
    ("08b.occlude", "number of a patch", paint(
        across, lambda r, s: slice(r, r + s), lambda c, s: slice(c, c + s)
    )),
    ("08b.occlude", "counts pixels", paint(lambda images, size: images.shape[2])),
    ("08b.occlude", "single pixel", paint(across, lambda r, s: r * s, lambda c, s: c * s)),
    ("08b.positions", "repeats rows and columns alike", lambda rows, columns: torch.cat(
        [rows.repeat(len(columns), 1), columns.repeat(len(rows), 1)], dim=1
    )),
    ("08c.loss", "Kullback", lambda x, y: F.kl_div(x.log_softmax(-1), y, reduction="batchmean")),
    ("08c.loss", "logarithm of the average", lambda x, y: -(y * x.softmax(-1)).sum(-1).log().mean()),
    ("08c.loss", "no gradient", lambda x, y: F.cross_entropy(x, y).detach()),
    ("08c.loss", "sums over the images", lambda x, y: F.cross_entropy(x, y, reduction="sum")),
    ("08c.shift", "down only", lambda image, right, down: F.pad(image, (0, 0, down, -down))),
    ("08c.percent", "another row", lambda counts: 100 * counts / counts.sum(1)),
    ("09.last", "of all texts", lambda states, real: states[:, real.sum(1) - 1]),
    ("09.last", "reads the padding", lambda states, real: states[:, -1]),
    ("09.lora", "wrong number", lora_with(lambda alpha, x, w, a, b: alpha / len(b))),
    ("09.lora", "square root", lora_with(lambda alpha, x, w, a, b: alpha / math.sqrt(len(a)))),
    ("09.lora", "frozen weights", lora_with(
        lambda alpha, x, w, a, b: alpha / len(a), lambda w, a, b: w.numel()
    )),
    ("09.max", "finite number", lambda s, real: s.masked_fill(~real[..., None], -1e3).amax(1)),
    ("09.class_token", "overwrites", lambda table, ids: torch.cat(
        [table[CLS].expand(len(ids), 1, -1), table[ids[:, 1:]]], dim=1
    )),
    ("10.noise", "same noise", noise_step_by_step),
    ("10.noise", "sum of the betas", noise_with(lambda betas, t: 1 - betas[:t].sum())),
    ("10.noise", "1 minus the product", noise_with(lambda betas, t: 1 - betas[:t].prod())),
    ("10.noise", "single beta", noise_with(lambda betas, t: 1 - betas[t - 1])),
    ("10.noise", "product of the betas", noise_with(lambda betas, t: betas[:t].prod())),
    ("10.noise", "instead of its root", noise_with(
        lambda betas, t: (1 - betas[:t]).prod(), lambda a: 1 - a
    )),
    ("10.noise", "one step too many", noise_with(lambda betas, t: (1 - betas[: t + 1]).prod())),
    ("10.attention", "number of pixels", attention_with(lambda q: math.sqrt(q.shape[-1]))),
    ("10.attention", "instead of its root", attention_with(lambda q: q.shape[2])),
    ("10.attention", "queries and keys", attention_with(
        lambda q: math.sqrt(q.shape[2]), pick=lambda q, k, v: (k, q, v)
    )),
    ("10.attention", "over the queries", attention_with(lambda q: math.sqrt(q.shape[2]), dim=-2)),
    ("10.back", "leaves out the noise", lambda x, found, here, there: (
        math.sqrt(there) * (x - math.sqrt(1 - here) * found) / math.sqrt(here)
    )),
    ("10.back", "instead of its root", lambda x, found, here, there: (
        math.sqrt(there) * (x - math.sqrt(1 - here) * found) / here + math.sqrt(1 - there) * found
    )),
    ("10.memory", "side as the number", lambda side, batch, heads: 4 * batch * heads * side * side),
    ("A1.loss_of_words", "is a sum", lambda losses, real: (losses * real).sum()),
    ("A1.flat_parameters", "one bias in all", lambda n, i, o: n * i * n * o + 1),
    ("A3.mean_loss", "over batches", lambda losses, sizes: sum(losses) / len(losses)),
    ("A3.cached_mask", "hides nothing", lambda earlier, new: torch.ones(new, earlier + new) > 0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("key", "named", "answer"), WRONG, ids=lambda one: one if isinstance(one, str) else ""
)
def test_a_wrong_answer_is_refused_by_its_reason(key: str, named: str | None, answer: object) -> None:
    refused(key, named, answer)


RIGHT = [
    ("08.embed", lambda patches, w, bias: torch.einsum("bpi,oi->bpo", patches, w.flatten(1)) + bias),
    ("08.embed", lambda patches, w, bias: F.linear(patches, w.reshape(len(w), -1), bias)),
    ("08c.loss", lambda x, y: F.cross_entropy(x, y)),
    ("09.lora", lora_with(lambda alpha, x, w, a, b: alpha / a.shape[0])),
    ("10.attention", attention_with(lambda q: q.shape[-2] ** 0.5)),
]


@pytest.mark.parametrize(("key", "answer"), RIGHT, ids=lambda one: one if isinstance(one, str) else "")
def test_an_unusual_right_answer_passes(key: str, answer: object) -> None:
    verdict = grade(find(key), answer)
    assert verdict.state == "passed", verdict.text
