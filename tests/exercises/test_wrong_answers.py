"""Wrong answers that learners give (wrong_answers.csv): none passes, and most are told what is wrong."""

import csv
import inspect
import math
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from helpers.learner import NAMES, flash
from helpers.solutions import written

from course_lib.exercises import Verdict, catalogue, grade
from course_lib.text.significance import bootstrap_bleu

EXERCISES = catalogue()
NAMED = 0.85  # of all; the others get only the smallest counterexample
# What a message without a known mistake can say: a pattern in all results, or the kind of the answer.
SAID = (
    "On every input", "Your function would be right", ".item()", "is close", "is of type", "has dtype",
    "has type",
)  # fmt: skip


def table() -> dict[str, list[tuple[str, str | None]]]:
    """The wrong answers by exercise, each with the name of its mistake where that has to be recognized."""
    rows: dict[str, list[tuple[str, str | None]]] = defaultdict(list)
    with Path(__file__).with_name("wrong_answers.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows[row["exercise"]].append((row["answer"], row["mistake"]))
    return rows


@cache
def graded(name: str, answer: str) -> Verdict:
    """The verdict on an expression of the parameters that the exercise names, or on a value."""
    exercise = EXERCISES[name]
    parameters = ", ".join(inspect.signature(exercise.reference).parameters)
    if exercise.inputs == ((),):
        return grade(exercise, eval(answer, dict(NAMES)))
    return grade(exercise, written(parameters, f"return {answer}", dict(NAMES)))


def is_named(verdict: Verdict) -> bool:
    return verdict.state == "mistake" or any(said in verdict.text for said in SAID)


@pytest.mark.parametrize("name", table())
def test_no_wrong_answer_passes_and_a_mistake_is_known_however_it_is_written(name: str) -> None:
    verdicts = [(answer, mistake, graded(name, answer)) for answer, mistake in table()[name]]
    assert [answer for answer, _, one in verdicts if one.state not in ("mistake", "wrong")] == []
    assert [answer for answer, mistake, one in verdicts if mistake not in (None, one.mistake)] == []


def test_most_wrong_answers_are_told_what_is_wrong() -> None:
    unnamed = [(name, one) for name, answers in table().items() for one, mistake in answers if not mistake]
    assert sum(is_named(graded(*one)) for one in unnamed) >= NAMED * len(unnamed)


# ---- right answers that are written in an unusual way


def accumulated_flash(q, k, v, block):
    """Blocks of keys without a call of my_combine."""
    top = torch.full((len(q), 1), -torch.inf)
    sums, results = torch.zeros(len(q), 1), torch.zeros(len(q), v.shape[-1])
    for start in range(0, len(k), block):
        scores = q @ k[start : start + block].mT * q.shape[-1] ** -0.5
        new = torch.maximum(top, scores.max(-1, keepdim=True).values)
        weights, old = (scores - new).exp(), (top - new).exp()
        sums = old * sums + weights.sum(-1, keepdim=True)
        results, top = old * results + weights @ v[start : start + block], new
    return results / sums


def scaled_first_flash(q, k, v, block):
    """Scales all queries and keys beforehand, and combines through the log-sum-exp."""
    q, k = q / q.shape[-1] ** 0.25, k / q.shape[-1] ** 0.25
    logs, outputs = [], []
    for keys, values in zip(k.split(block), v.split(block), strict=True):
        scores = q @ keys.T
        logs.append(scores.logsumexp(-1, keepdim=True))
        outputs.append(scores.softmax(-1) @ values)
    weights = torch.cat(logs, -1).softmax(-1)
    return sum(weights[:, [i]] * output for i, output in enumerate(outputs))


def detached_losses(layer, optimizer, batches):
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = (layer(x, x) - y).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def jacobian_depends(layer, x):
    jacobian = torch.autograd.functional.jacobian(layer, x)  # (tokens, features, tokens, d)
    return (jacobian != 0).any(-1).any(1)


def late_scaled_loophole(x):
    w_q, w_k = torch.tensor([[0.0], [0], [1], [0]]), torch.tensor([[0.004], [0], [0], [0]])
    weights = ((x @ w_q) @ (x @ w_k).T).softmax(-1)
    return float((weights @ torch.tensor([[750.0], [0], [-750]]))[1])


def numpy_table(tokens, d_model):
    angles = np.arange(tokens)[:, None] / 10000 ** (np.arange(0, d_model, 2) / d_model)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(tokens, d_model)


def noise_as_an_array(ids, dropped, masked, mask):
    kept = [(mask if m < 0.15 else i, d) for i, d, m in zip(ids, dropped, masked, strict=True)]
    return np.array([i for i, d in kept if d >= 0.1])


def patched_copy(blocks, x, other, depth, position):
    for i, block in enumerate(blocks):
        if i == depth:
            x = x.clone()
            x[position] = other[position]
        x, other = block(x), block(other)
    return x


def dpo_as_softplus(chosen, rejected, ref_chosen, ref_rejected, beta):
    return F.softplus(beta * (rejected - ref_rejected - (chosen - ref_chosen))).mean()


def replaced_in_a_text(ids, pair, new):
    return list(map(ord, "".join(map(chr, ids)).replace("".join(map(chr, pair)), chr(new))))


def paired_by_quantile(a, b, draws):
    differences = bootstrap_bleu(b, draws) - bootstrap_bleu(a, draws)
    return differences.quantile(torch.tensor([0.025, 0.975], dtype=differences.dtype))


UNUSUAL = {
    "01.softmax": [lambda s: (s - s.logsumexp(-1, keepdim=True)).exp()],
    "02.masked_softmax": [
        lambda s, m: s.masked_fill(~m, -torch.inf).softmax(-1).nan_to_num(0.0),
        lambda s, m: torch.where(m, s, -torch.inf).softmax(-1).masked_fill(~m, 0.0),
    ],
    "02.depends": [jacobian_depends],
    "03.train": [detached_losses],
    "03.loophole": [late_scaled_loophole],
    "03b.flash": [accumulated_flash, scaled_first_flash, flash],
    "04.sinusoidal": [numpy_table],
    "04.wavelength": [np.float32(62.83), torch.tensor(62.8319), np.array(62.8319)],
    "04b.window": [lambda tokens, window: np.tri(tokens, k=0) * np.tri(tokens, k=window - 1).T > 0],
    "05.layer_norm": [
        lambda x, g, b: (y := x - x.mean(-1, True)) * (y.pow(2).mean(-1, True) + 1e-5).rsqrt() * g + b
    ],
    "05b.rms_norm": [lambda x, gain: x * (x.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt() * gain],
    "05b.best_rate": [lambda losses: np.float64(min(losses, key=lambda lr: np.mean(losses[lr])))],
    "06.bleu_on_paper": [58, 57.9],
    "06c.paired": [paired_by_quantile],
    "06d.merge": [replaced_in_a_text],
    "07b.patch": [patched_copy],
    "07c.noise": [noise_as_an_array],
    "07c.power_law": [
        lambda x, y: np.array([math.exp((f := np.polyfit(x.log(), y.log(), 1))[1]), -f[0]])
    ],
    "07d.dpo": [dpo_as_softplus],
    "07d.lora": [lambda x, w, a, b, alpha: F.linear(x, w + alpha / a.shape[0] * b @ a)],
    "08.embed": [
        lambda patches, w, bias: torch.einsum("bpi,oi->bpo", patches, w.flatten(1)) + bias,
        lambda patches, w, bias: F.linear(patches, w.reshape(len(w), -1), bias),
    ],
    "08c.loss": [lambda x, y: F.cross_entropy(x, y)],
}  # fmt: skip


@pytest.mark.parametrize("name", UNUSUAL)
def test_right_answers_pass_however_they_are_written(name: str) -> None:
    verdicts = [grade(EXERCISES[name], one) for one in UNUSUAL[name]]
    assert [one.text for one in verdicts if one.state != "passed"] == []
