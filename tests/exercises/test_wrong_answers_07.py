"""Wrong answers to the exercises of chapters 7 to 7d, written as students write them: none passes."""

import math
from collections import Counter

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from helpers.learner import refused

from course_lib.exercises import find, grade
from course_lib.layers.masks import causal_mask
from course_lib.text.tokenizers import EOS


def scores_as(first, second):
    return lambda losses, n: (first(losses, n), second(losses, n))


def perplexity(losses, n):
    return math.exp(sum(losses) / len(losses))


def bits(losses, n):
    return sum(losses) / math.log(2) / n


def bigram_with(entry=lambda pairs, pair, added: pairs[pair], result=None, smooth=True):
    def bigram(ids, vocab, added):
        counts = torch.zeros(vocab, vocab)
        pairs = Counter(zip(ids, ids[1:], strict=False))
        for first, second in pairs:
            counts[first, second] = entry(pairs, (first, second), added)
        if smooth:
            counts += added
        return result(counts, added) if result else counts / counts.sum(dim=1, keepdim=True)

    return bigram


def gpt_with(
    positions_of=lambda positions, ids: positions[: ids.shape[1]],
    embed=lambda x: x,
    inside=False,
    mask=causal_mask,
    last=lambda norm, x: norm(x),
):
    def gpt(ids, embedding, positions, blocks, norm):
        x = embed(embedding[ids]) + positions_of(positions, ids)
        for block in blocks:
            x = block(x, mask(ids.shape[1]))
            x = norm(x) if inside else x
        return last(norm, x) @ embedding.T

    return gpt


def gpt_norm_first(ids, embedding, positions, blocks, norm):
    x = norm(embedding[ids] + positions[: ids.shape[1]])
    for block in blocks:
        x = block(x, causal_mask(ids.shape[1]))
    return x @ embedding.T


def top_p_with(values):
    def top_p(p, mass):
        ordered, indices = p.sort(descending=True)
        kept = torch.zeros_like(p).scatter(0, indices, values(ordered, mass).float())
        return kept / kept.sum()

    return top_p


def top_k_with(smallest, temper=lambda x, t: x / t):
    return lambda logits, temperature, k: (
        temper(logits, temperature).masked_fill(logits < smallest(logits, k), -math.inf).softmax(-1)
    )


def ablate_with(change):
    def ablate(outputs, w_o, head):
        outputs = outputs.clone()
        change(outputs, head)
        return outputs.flatten(-2) @ w_o.T

    return ablate


def to_zero(index):
    def change(outputs, head):
        outputs[index(head)] = 0

    return change


def to_mean(outputs, head):
    outputs[:, head] = outputs[:, head].mean(dim=0)


def patch_with(when=lambda i, depth: i == depth, put=None, clone=True, late=False, result=lambda x, other: x):
    def patch(blocks, x, other, depth, position):
        for i, block in enumerate(blocks):
            if late:
                x, other = block(x), block(other)
            if when(i, depth):
                x = x.clone() if clone else x
                if put:
                    put(x, other, position)
                else:
                    x[position] = other[position]
            if not late:
                x, other = block(x), block(other)
        return result(x, other)

    return patch


def patch_everything(x, other, position):
    x[:] = other


def patch_sum(x, other, position):
    x[position] += other[position]


def noise_with(drop=lambda d, m: d < 0.1, cover=lambda d, m: m < 0.15):
    return lambda ids, dropped, masked, mask: [
        mask if cover(d, m) else i for i, d, m in zip(ids, dropped, masked, strict=True) if not drop(d, m)
    ]


def masks_with(
    special=lambda ids: ids >= 5,
    become=lambda dice, any_token, ids, mask: torch.where(
        dice < 0.8, mask, torch.where(dice < 0.9, any_token, ids)
    ),
    label=-100,
    below=lambda draw: draw < 0.15,
    result=lambda changed, labels: (changed, labels),
):
    def masks(ids, draw, dice, any_token, mask):
        chosen = below(draw) & special(ids)
        changed = torch.where(chosen, become(dice, any_token, ids, mask), ids)
        return result(changed, torch.where(chosen, ids, label))

    return masks


def size_with(tokens):
    return lambda law, flops, sizes: min(sizes, key=lambda n: law.loss(n, tokens(flops, n)))


def labels_after_eos(prompt, answer):
    text = prompt + answer
    start = text.index(EOS) if EOS in text else len(text)
    return [token if n > start else -100 for n, token in enumerate(text)][1:] + [-100]


def dpo_with(loss=lambda m: -F.logsigmoid(m), reduce=lambda x: x.mean(), margin=None):
    def dpo(chosen, rejected, ref_chosen, ref_rejected, beta):
        m = (margin or (lambda a, b, c, d: (a - c) - (b - d)))(chosen, rejected, ref_chosen, ref_rejected)
        return reduce(loss(beta * m))

    return dpo


WRONG = [  # exercise, what the message must name (None: it shows a counterexample), answer
    ("07.loss", "not flatten", lambda logits, ids: F.cross_entropy(logits[:, :-1], ids[:, 1:])),
    (
        "07.loss",
        "in bits",
        lambda x, ids: F.cross_entropy(x[:, :-1].flatten(0, 1), ids[:, 1:].flatten()) / math.log(2),
    ),
    (
        "07.loss",
        "each text",
        lambda x, ids: F.cross_entropy(x[:, :-1].mT, ids[:, 1:], reduction="none").sum(dim=1).mean(),
    ),
    (
        "07.loss",
        "divides by all tokens",
        lambda x, ids: F.cross_entropy(x[:, :-1].mT, ids[:, 1:], reduction="sum") / ids.numel(),
    ),
    ("07.loss", "no gradient", lambda x, ids: F.cross_entropy(x[:, :-1].mT, ids[:, 1:]).item()),
    ("07.loss", "does not shift", lambda x, ids: F.cross_entropy(x.flatten(0, 1), ids.flatten())),
    ("07.scores", "per character", scores_as(lambda losses, n: math.exp(sum(losses) / n), bits)),
    ("07.scores", "per character", scores_as(lambda losses, n: 2 ** bits(losses, n), bits)),
    ("07.scores", "wrong order", scores_as(bits, perplexity)),
    ("07.scores", "base 2", scores_as(lambda losses, n: 2 ** (sum(losses) / len(losses)), bits)),
    (
        "07.bigram",
        "by the sum of a row",
        bigram_with(result=lambda counts, added: counts / counts.sum(dim=1)),
    ),
    ("07.bigram", "not normalize", bigram_with(result=lambda counts, added: counts)),
    ("07.bigram", "softmax", bigram_with(result=lambda counts, added: counts.softmax(dim=-1))),
    (
        "07.bigram",
        "after normalizing",
        bigram_with(result=lambda c, added: (c / c.sum(1, keepdim=True).clamp(min=1)) + added, smooth=False),
    ),
    (
        "07.bigram",
        "only the pairs that occurred",
        bigram_with(entry=lambda pairs, pair, added: pairs[pair] + added, smooth=False),
    ),
    ("07.bigram", "not how often", bigram_with(entry=lambda pairs, pair, added: 1)),
    ("07.bigram", "columns", bigram_with(result=lambda c, added: c / c.sum(dim=0, keepdim=True))),
    ("07.gpt", "too many or too few", gpt_with(lambda positions, ids: positions)),
    ("07.gpt", "from 1", gpt_with(lambda positions, ids: positions[1 : ids.shape[1] + 1])),
    ("07.gpt", "by the ids", gpt_with(lambda positions, ids: positions[ids])),
    ("07.gpt", "same position", gpt_with(lambda positions, ids: positions[ids.shape[1]])),
    ("07.gpt", "after every block", gpt_with(inside=True)),
    ("07.gpt", "after every block", gpt_with(inside=True, last=lambda norm, x: x)),
    ("07.gpt", "before the blocks", gpt_norm_first),
    ("07.gpt", "√d_model", gpt_with(embed=lambda x: x * x.shape[-1] ** 0.5)),
    ("07.gpt", "no final norm", gpt_with(last=lambda norm, x: x)),
    ("07.gpt", "no causal mask", gpt_with(mask=lambda tokens: None)),
    ("07.top_p", "drops the token", top_p_with(lambda o, mass: o * (o.cumsum(0) <= mass))),
    ("07.top_p", "drops the token", top_p_with(lambda o, mass: o * (o.cumsum(0) < mass))),
    ("07.top_p", "least likely", top_p_with(lambda o, mass: o * (o.cumsum(0) >= 1 - mass))),
    ("07.top_p", "least likely", top_p_with(lambda o, mass: o * (o.cumsum(0) > mass))),
    ("07.top_p", "same probability", top_p_with(lambda o, mass: o.cumsum(0) - o < mass)),
    ("07.top_p", "cumulative sums", top_p_with(lambda o, mass: o.cumsum(0) * (o.cumsum(0) - o < mass))),
    ("07.top_k", "multiplies", top_k_with(lambda x, k: x.topk(k).values[-1], lambda x, t: x * t)),
    ("07.top_k", "only the most likely", top_k_with(lambda x, k: x.topk(k).values[0])),
    ("07.top_k", "one token too many", top_k_with(lambda x, k: x.topk(k + 1).values[-1])),
    ("07.top_k", "only k numbers", lambda x, t, k: (x / t).topk(k).values.softmax(-1)),
    (
        "07.top_k",
        "unscaled threshold",
        lambda x, t, k: (x / t).masked_fill(x / t < x.topk(k).values[-1], -math.inf).softmax(-1),
    ),
    (
        "07b.lens",
        "gain and bias",
        lambda x, norm, e: (F.layer_norm(x, (x.shape[-1],)) @ e.T).softmax(-1),
    ),
    ("07b.lens", "skips the final", lambda x, norm, e: F.softmax(x @ e.T, dim=-1)),
    ("07b.lens", "logits", lambda x, norm, e: F.linear(norm(x), e)),
    ("07b.lens", "last depth", lambda x, norm, e: (norm(x[-1]) @ e.T).softmax(-1)),
    ("07b.lens", "averages over the depths", lambda x, norm, e: (norm(x.mean(0)) @ e.T).softmax(-1)),
    (
        "07b.induction",
        "whole block",
        lambda w, p: w[p:][:, torch.arange(p, len(w)) - (p - 1)].mean(),
    ),
    ("07b.induction", "earlier occurrence itself", lambda w, p: w.diagonal(-p).mean()),
    ("07b.induction", "first period", lambda w, p: w.diagonal(-(p - 1)).mean()),
    ("07b.induction", "maximum", lambda w, p: max(w[q, q - p + 1] for q in range(p, len(w)))),
    (
        "07b.induction",
        "into the first period",
        lambda w, p: torch.stack([w[q, q % p + 1] for q in range(p, len(w))]).mean(),
    ),
    ("07b.ablate", "head's mean", ablate_with(to_mean)),
    ("07b.ablate", "wrong head", ablate_with(to_zero(lambda head: (slice(None), head - 1)))),
    ("07b.ablate", "one feature", ablate_with(to_zero(lambda head: (..., head)))),
    ("07b.ablate", "sets a token", ablate_with(to_zero(lambda head: head))),
    ("07b.patch", None, patch_with(clone=False)),
    ("07b.patch", "after block", patch_with(late=True)),
    ("07b.patch", "too early", patch_with(lambda i, depth: i == depth - 1)),
    ("07b.patch", "never patches at depth 0", patch_with(lambda i, depth: i == depth - 1, late=True)),
    ("07b.patch", "never patches at depth 0", patch_with(lambda i, depth: depth and i == depth)),
    ("07b.patch", "is the other run", patch_with(result=lambda x, other: other)),
    ("07b.patch", "is the other run", patch_with(put=patch_everything)),
    ("07b.patch", "adds the other", patch_with(put=patch_sum)),
    ("07b.patch", "every depth", patch_with(lambda i, depth: True)),
    ("07c.noise", "on the limit", noise_with(drop=lambda d, m: d <= 0.1)),
    ("07c.noise", "on the limit", noise_with(cover=lambda d, m: m <= 0.15)),
    ("07c.noise", "too many tokens", noise_with(cover=lambda d, m: m < 0.25)),
    ("07c.noise", "two limits", noise_with(lambda d, m: d < 0.15, lambda d, m: m < 0.1)),
    ("07c.noise", "two lists", noise_with(lambda d, m: m < 0.1, lambda d, m: d < 0.15)),
    ("07c.noise", "should be dropped", noise_with(drop=lambda d, m: d >= 0.1)),
    ("07c.masks", "some special tokens", masks_with(lambda ids: ids > 3)),
    ("07c.masks", "some special tokens", masks_with(lambda ids: ids >= 3)),
    ("07c.masks", "never chooses id 5", masks_with(lambda ids: ids > 5)),
    ("07c.masks", "0.2 and 0.1", masks_with(become=lambda d, a, i, m: torch.where(d >= 0.2, m, i))),
    (
        "07c.masks",
        "0.2 and 0.1",
        masks_with(become=lambda d, a, i, m: torch.where(d >= 0.2, m, torch.where(d >= 0.1, a, i))),
    ),
    (
        "07c.masks",
        "two kinds",
        masks_with(become=lambda d, a, i, m: torch.where(d < 0.8, m, torch.where(d < 0.9, i, a))),
    ),
    ("07c.masks", "another number", masks_with(label=0)),
    ("07c.masks", "another number", masks_with(label=-1)),
    ("07c.masks", "labels first", masks_with(result=lambda changed, labels: (labels, changed))),
    ("07c.masks", "only the changed ids", masks_with(result=lambda changed, labels: changed)),
    ("07c.masks", "on the limit", masks_with(below=lambda draw: draw <= 0.15)),
    ("07c.compute", "C before N", lambda n, d, t: (72 * n * d * d * t, 12 * n * d * d)),
    ("07c.compute", "not square", lambda n, d, t: (12 * n * d, 6 * 12 * n * d * t)),
    ("07c.compute", "forward pass alone", lambda n, d, t: (12 * n * d * d, 24 * n * d * d * t)),
    (
        "07c.power_law",
        "log x to the log of the loss",
        lambda x, y: (lambda f: (math.exp(-f[1] / f[0]), -1 / f[0]))(np.polyfit(y.log(), x.log(), 1)),
    ),
    (
        "07c.power_law",
        "slope for the intercept",
        lambda x, y: (lambda f: (math.exp(f[0]), -f[1]))(np.polyfit(x.log(), y.log(), 1)),
    ),
    (
        "07c.power_law",
        "wrong sign",
        lambda x, y: (lambda f: (math.exp(f[1]), f[0]))(np.polyfit(x.log(), y.log(), 1)),
    ),
    ("07c.best_size", "another number than 6", size_with(lambda flops, n: flops / (2 * n))),
    ("07c.best_size", "another number than 6", size_with(lambda flops, n: flops / (3 * n))),
    ("07c.best_size", "another number than 6", size_with(lambda flops, n: flops / (4 * n))),
    ("07c.best_size", "another number than 6", size_with(lambda flops, n: flops / (5 * n))),
    ("07c.best_size", "factor 6", size_with(lambda flops, n: flops / n)),
    (
        "07c.best_size",
        "20 tokens",
        lambda law, flops, sizes: min(sizes, key=lambda n: abs(flops / (6 * n) - 20 * n)),
    ),
    ("07c.best_size", "largest size", size_with(lambda flops, n: 6 * n / flops)),
    ("07c.best_size", "largest size", size_with(lambda flops, n: flops)),
    (
        "07c.best_size",
        "swaps parameters and tokens",
        lambda law, flops, sizes: min(sizes, key=lambda n: law.loss(flops / (6 * n), n)),
    ),
    (
        "07c.best_size",
        "number of tokens",
        lambda law, flops, sizes: flops / (6 * min(sizes, key=lambda n: law.loss(n, flops / (6 * n)))),
    ),
    ("07d.answer_labels", "first EOS", labels_after_eos),
    (
        "07d.answer_labels",
        "end with the first token",
        lambda prompt, answer: (
            [-100] * (len(prompt) - 1) + torch.tensor(prompt + answer).roll(-1).tolist()[len(prompt) - 1 :]
        ),
    ),
    ("07d.answer_labels", "label -1", lambda prompt, answer: [-1] * (len(prompt) - 1) + answer + [-1]),
    ("07d.answer_labels", "not shifted", lambda prompt, answer: [-100] * len(prompt) + answer),
    ("07d.answer_labels", "answer alone", lambda prompt, answer: answer[1:] + [-100]),
    (
        "07d.lora",
        "no gradient",
        lambda x, w, a, b, alpha: x @ w.T + alpha / len(a) * (x @ a.T @ b.T).detach(),
    ),
    ("07d.lora", "wrong number", lambda x, w, a, b, alpha: x @ w.T + alpha / len(x) * x @ a.T @ b.T),
    ("07d.lora", "not transpose the update", lambda x, w, a, b, alpha: x @ w.T + alpha / len(a) * x @ a @ b),
    ("07d.lora", "not transpose W", lambda x, w, a, b, alpha: x @ w + alpha / len(a) * x @ a.T @ b.T),
    ("07d.lora", "B before A", lambda x, w, a, b, alpha: x @ w.T + alpha / len(a) * x @ b.T @ a.T),
    ("07d.dpo", "no gradient", dpo_with(reduce=lambda x: x.mean().item())),
    ("07d.dpo", "no gradient", dpo_with(reduce=lambda x: x.mean().detach())),
    ("07d.dpo", "no gradient", dpo_with(margin=lambda a, b, c, d: a.detach() - c - (b.detach() - d))),
    ("07d.dpo", "mean of the margins", dpo_with(lambda m: -F.logsigmoid(m.mean()), lambda x: x)),
    ("07d.dpo", "adds the two differences", dpo_with(margin=lambda a, b, c, d: (a - c) + (b - d))),
    ("07d.dpo", "ignores the chosen", dpo_with(margin=lambda a, b, c, d: -(b - d))),
    ("07d.dpo", "ignores the reference", dpo_with(margin=lambda a, b, c, d: a - b)),
    ("07d.trainable", "treats every matrix as square", lambda shapes, r: sum(2 * r * i for _, i in shapes)),
]


@pytest.mark.parametrize(
    ("key", "named", "answer"), WRONG, ids=lambda one: one if isinstance(one, str) else ""
)
def test_a_wrong_answer_is_refused_by_its_reason(key: str, named: str | None, answer: object) -> None:
    refused(key, named, answer)


RIGHT = [
    ("07c.noise", lambda *arguments: np.array(noise_with()(*arguments))),
    ("07c.power_law", lambda x, y: np.array([math.exp((f := np.polyfit(x.log(), y.log(), 1))[1]), -f[0]])),
    ("07d.dpo", dpo_with(F.softplus, margin=lambda a, b, c, d: b - d - (a - c))),
    ("07d.lora", lambda x, w, a, b, alpha: F.linear(x, w + alpha / a.shape[0] * b @ a)),
    ("07b.patch", patch_with()),
]


@pytest.mark.parametrize(("key", "answer"), RIGHT, ids=lambda one: one if isinstance(one, str) else "")
def test_an_unusual_right_answer_passes(key: str, answer: object) -> None:
    verdict = grade(find(key), answer)
    assert verdict.state == "passed", verdict.text


def test_a_patch_without_a_copy_is_recognized_by_what_it_destroys() -> None:
    assert "in place" in grade(find("07b.patch"), patch_with(clone=False)).text
