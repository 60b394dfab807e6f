"""Wrong answers to the exercises of chapters 6 to 6d, written as students write them: none passes."""

import math
import statistics
from collections import Counter
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from helpers.learner import refused

from course_lib.exercises import find, grade
from course_lib.text.bleu import brevity_penalty, ngrams
from course_lib.text.bpe import merge_pair
from course_lib.text.significance import bleu_from_statistics, bootstrap_bleu
from course_lib.text.tokenizers import BOS, EOS, PAD


def greedy_continue(table, start, end, max_tokens):
    ids, last = [], start
    for _ in range(max_tokens):
        last = int(table[last].argmax())
        if last == end:
            continue
        ids.append(last)
    return ids


def greedy_after_append(table, start, end, max_tokens):
    ids, last = [], start
    for _ in range(max_tokens):
        last = int(table[last].argmax())
        ids.append(last)
        if last == end:
            break
    return ids


def greedy_without_limit(table, start, end, max_tokens):
    ids, last = [], start
    while last != end:  # each input must come to its end, or the check would never return
        last = int(table[last].argmax())
        ids.append(last)
    return ids


def greedy_of_eos(table, start, end, max_tokens):
    ids, last = [], start
    for _ in range(max_tokens):
        last = int(table[last].argmax())
        if last == EOS:
            break
        ids.append(last)
    return ids


def cache_with(join, first=0):
    def step(q, k, v, cache):
        if cache is not None:
            k, v = join(cache[first], k), join(cache[1 - first], v)
        return F.scaled_dot_product_attention(q, k, v), k, v

    return step


def beam_by(key, **options):
    def step(hypotheses, log_p, width):
        extended = [
            ([*ids, i], total + p)
            for (ids, total), row in zip(hypotheses, log_p, strict=True)
            for i, p in enumerate(row)
        ]
        best = sorted(extended, key=key, **options)[:width]
        unfinished = [(ids, total) for ids, total in best if ids[-1] != EOS]
        return unfinished, [(ids[:-1], total) for ids, total in best if ids[-1] == EOS]

    return step


def best_by(score):
    return lambda hypotheses: max(hypotheses, key=lambda pair: score(pair[1], len(pair[0])))[0]


def int8_by(scale, dtype=torch.int8):
    return lambda weight: ((weight / scale(weight)).round().to(dtype), scale(weight))


def verify_with(mismatch, end=lambda drafted, best: [*drafted, best[-1]]):
    def verify(logits, drafted):
        best = logits.argmax(dim=-1).tolist()
        for i, token in enumerate(drafted):
            if token != best[i]:
                return mismatch(drafted, best, i)
        return end(drafted, best)

    return verify


def bleu_with(
    found=lambda mine, theirs: (mine & theirs).total(),
    total=lambda mine, theirs: mine.total(),
    lengths=lambda cs, rs: (sum(map(len, cs)), sum(map(len, rs))),
    least=1,
):
    def bleu(candidates, references):
        product = 1
        for n in (1, 2, 3, 4):
            grams = [(ngrams(c, n), ngrams(r, n)) for c, r in zip(candidates, references, strict=True)]
            product *= sum(found(*both) for both in grams) / max(sum(total(*both) for both in grams), least)
        return 100 * brevity_penalty(*lengths(candidates, references)) * product ** (1 / 4)

    return bleu


def chrf_with(precision, recall):
    def chrf(candidate, reference):
        c, r = candidate.replace(" ", ""), reference.replace(" ", "")
        found = [(ngrams(c, n) & ngrams(r, n)).total() for n in range(1, 7)]
        p = sum(f / precision(len(c), len(r), n) for n, f in enumerate(found, start=1)) / 6
        r_ = sum(f / recall(len(c), len(r), n) for n, f in enumerate(found, start=1)) / 6
        return 100 * 5 * p * r_ / (4 * p + r_) if p else 0.0

    return chrf


def paired_with(ends):
    return lambda a, b, draws: ends(bootstrap_bleu(b, draws) - bootstrap_bleu(a, draws))


def pair_of(count):
    def pair(words, counts):
        found = Counter()
        for word, number in zip(words, counts, strict=True):
            count(found, word, number)
        return min(found, key=lambda pair: (-found[pair], pair))

    return pair


def add_without_overlap(found, word, number):
    i = 0
    while i < len(word) - 1:
        found[word[i], word[i + 1]] += number
        i += 2 if i + 2 < len(word) and word[i] == word[i + 1] == word[i + 2] else 1


def overwrite(found, word, number):
    for pair in pairwise(word):
        found[pair] = number


def add_once_per_word(found, word, number):
    for pair in set(pairwise(word)):
        found[pair] += number


def merge_in_text(ids, pair, new):
    return [int(i) for i in " ".join(map(str, ids)).replace(f"{pair[0]} {pair[1]}", str(new)).split()]


def merge_digits(ids, pair, new):
    return [int(i) for i in "".join(map(str, ids)).replace(f"{pair[0]}{pair[1]}", str(new))]


def merge_bytes(ids, pair, new):
    return list(bytes(ids).replace(bytes(pair), bytes([new])))


def merge_with(
    found=lambda ids, i, pair: tuple(ids[i : i + 2]) == pair, step=lambda found: 2 if found else 1
):
    def merge(ids, pair, new):
        merged, i = [], 0
        while i < len(ids):
            merged.append(new if found(ids, i, pair) else ids[i])
            i += step(found(ids, i, pair))
        return merged

    return merge


def encode_with(number, keep=True, early=False):
    def encode(word, merges):
        ids = list(word.encode())
        for i, pair in enumerate(merges):
            merged = merge_pair(ids, pair, number(i, merges))
            ids = merged if keep else ids
            if early:
                return ids
        return ids

    return encode


def encode_applied(word, merges):
    ids, new = list(word.encode()), 256
    for pair in merges:
        if pair in pairwise(ids):
            ids = merge_pair(ids, pair, new)
            new += 1
    return ids


def stop_with(waiting, result=lambda i, patience: i, test=lambda waited, patience: waited >= patience):
    def stop(losses, patience):
        best, waited = float("inf"), 0
        for i, loss in enumerate(losses):
            waited = waiting(loss, best, waited)
            best = min(best, loss)
            if test(waited, patience):
                return result(i, patience)
        return len(losses) - 1

    return stop


def bleu_on_paper(precisions=(1, 3 / 4, 2 / 3, 1 / 2), penalty=None, root=4):
    return 100 * (penalty or math.exp(1 - 6 / 5)) * math.prod(precisions) ** (1 / root)


WRONG = [  # exercise, what the message must name (None: it shows a counterexample), answer
    ("06.shift", "begin with EOS", lambda ids: ([EOS, *ids], [*ids, EOS])),
    ("06.shift", "swaps inputs and labels", lambda ids: ([*ids, EOS], [BOS, *ids])),
    ("06.shift", "end with BOS", lambda ids: ([BOS, *ids], [*ids, BOS])),
    ("06.loss", "not flatten", lambda logits, labels: F.cross_entropy(logits, labels)),
    ("06.loss", "not flatten", lambda logits, labels: F.cross_entropy(logits, labels, ignore_index=PAD)),
    (
        "06.loss",
        "number of sentences",
        lambda logits, labels: (
            F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=PAD, reduction="sum")
            / labels.shape[0]
        ),
    ),
    (
        "06.loss",
        "multiplies the logits of padding",
        lambda logits, labels: F.cross_entropy(
            (logits * (labels != PAD).unsqueeze(-1)).flatten(0, 1), labels.flatten()
        ),
    ),
    ("06.loss", "leaves out EOS", lambda x, y: F.cross_entropy(x[y > 2], y[y > 2])),
    ("06.loss", "only the padding", lambda x, y: F.cross_entropy(x[y == PAD], y[y == PAD])),
    ("06.loss", "counts the padding", lambda x, y: F.cross_entropy(x.transpose(1, 2), y)),
    ("06.loss", "no gradient", lambda x, y: F.cross_entropy(x[y != PAD], y[y != PAD]).detach()),
    ("06.loss", "sum", lambda x, y: F.cross_entropy(x[y != PAD], y[y != PAD], reduction="sum")),
    ("06.bleu_on_paper", "ratio of the lengths", bleu_on_paper(penalty=5 / 6)),
    ("06.bleu_on_paper", "another root", bleu_on_paper(root=2)),
    ("06.bleu_on_paper", "another root", bleu_on_paper(root=3)),
    ("06.bleu_on_paper", "number of words", 38.3),
    ("06.bleu_on_paper", "off by one", 52.3),
    ("06.bleu_on_paper", "smoothed", bleu_on_paper((1, 4 / 5, 3 / 4, 2 / 3))),
    ("06.bleu_on_paper", "no brevity penalty", 70.7),
    ("06.bleu_on_paper", "takes no root", bleu_on_paper(root=1)),
    ("06.bleu_on_paper", "arithmetic mean", 100 * math.exp(-0.2) * (1 + 3 / 4 + 2 / 3 + 1 / 2) / 4),
    ("06.bleu_on_paper", "penalty alone", 81.9),
    ("06.bleu_on_paper", "from 0 to 1", 0.579),
    (
        "06.smoothing",
        "calls F.cross_entropy",
        lambda logits, label, epsilon: F.cross_entropy(logits, torch.tensor(label), label_smoothing=epsilon),
    ),
    (
        "06.smoothing",
        "calls F.cross_entropy",
        lambda logits, label, epsilon: torch.nn.CrossEntropyLoss(label_smoothing=epsilon)(
            logits[None], torch.tensor([label])
        ),
    ),
    (
        "06.smoothing",
        "without log p",
        lambda x, y, e: -((1 - e) * x.log_softmax(dim=-1)[y] + e),
    ),
    (
        "06.smoothing",
        "whole mass",
        lambda x, y, e: -((1 - e) * x.log_softmax(dim=-1)[y] + e * x.log_softmax(dim=-1).sum()),
    ),
    (
        "06.smoothing",
        "only scales",
        lambda x, y, e: -((1 - e) * x.log_softmax(dim=-1)[y]),
    ),
    (
        "06.smoothing",
        "wrong sign",
        lambda x, y, e: (1 - e) * x.log_softmax(dim=-1)[y] + e * x.log_softmax(dim=-1).mean(),
    ),
    (
        "06.smoothing",
        "no gradient",
        lambda x, y, e: -((1 - e) * x.log_softmax(-1)[y] + e * x.log_softmax(-1).mean()).item(),
    ),
    ("06b.greedy", "skips `end`", greedy_continue),
    ("06b.greedy", "returns `end`", greedy_after_append),
    ("06b.greedy", "fixed id", greedy_of_eos),
    ("06b.greedy", None, greedy_without_limit),
    ("06b.cache", "swaps keys and values", cache_with(lambda old, new: torch.cat([old, new]), first=1)),
    ("06b.cache", "axis of the tokens", cache_with(lambda old, new: torch.cat([old, new], dim=1))),
    ("06b.cache", "axis of the tokens", cache_with(lambda old, new: torch.cat([old, new], dim=-1))),
    ("06b.cache", "adds the new key", cache_with(lambda old, new: old + new)),
    ("06b.cache", "newest token first", cache_with(lambda old, new: torch.cat([new, old]))),
    ("06b.beam", "least probable", beam_by(lambda pair: pair[1])),
    ("06b.beam", "sorts by the ids", beam_by(lambda pair: pair[0])),
    ("06b.best", "BOS", best_by(lambda total, n: total / (n + 2))),
    ("06b.best", "does not count EOS", best_by(lambda total, n: total / n)),
    ("06b.best", "power of the length", best_by(lambda total, n: total / (n + 1) ** 0.6)),
    ("06b.best", "adds the length", best_by(lambda total, n: total + n)),
    ("06b.best", "adds the length", best_by(lambda total, n: total + n + 1)),
    ("06b.best", "subtracts the length", best_by(lambda total, n: total - n)),
    ("06b.best", "multiplies", best_by(lambda total, n: total * (n + 1))),
    ("06b.best", "ignores the length", best_by(lambda total, n: total)),
    ("06b.best", None, best_by(lambda total, n: total / math.log(n + 1))),
    ("06b.int8", "largest weight itself", int8_by(lambda w: w.abs().amax(dim=1, keepdim=True))),
    ("06b.int8", "after the maximum", int8_by(lambda w: w.amax(dim=1, keepdim=True).abs() / 127)),
    ("06b.int8", "255", int8_by(lambda w: (w.amax(1, keepdim=True) - w.amin(1, keepdim=True)) / 255)),
    ("06b.int8", "one scale for the whole", int8_by(lambda w: w.abs().max() / 127)),
    ("06b.int8", "larger type", int8_by(lambda w: w.abs().amax(1, keepdim=True) / 127, torch.float32)),
    ("06b.int8", "larger type", int8_by(lambda w: w.abs().amax(1, keepdim=True) / 127, torch.int16)),
    ("06b.verify", "beside the model's own", verify_with(lambda d, best, i: [*d[: i + 1], best[i]])),
    ("06b.verify", "only the model's last", verify_with(lambda d, best, i: [best[i]], lambda d, b: b[-1:])),
    ("06b.verify", "one row too far", verify_with(lambda d, best, i: [*d[:i], best[i + 1]])),
    ("06b.verify", "drops the model's own", verify_with(lambda d, best, i: d[:i])),
    ("06b.verify", "forgets the extra", verify_with(lambda d, b, i: [*d[:i], b[i]], lambda d, b: d)),
    (
        "06c.precision",
        "larger of the two",
        lambda c, r, n: (ngrams(c, n) | ngrams(r, n)).total() / ngrams(c, n).total(),
    ),
    (
        "06c.precision",
        "distinct",
        lambda c, r, n: (ngrams(c, n) & ngrams(r, n)).total() / len(ngrams(c, n)),
    ),
    (
        "06c.precision",
        "n-grams of the reference",
        lambda c, r, n: (ngrams(c, n) & ngrams(r, n)).total() / ngrams(r, n).total(),
    ),
    ("06c.bleu", "n-grams of the reference", bleu_with(total=lambda mine, theirs: theirs.total())),
    ("06c.bleu", "swaps c and r", bleu_with(lengths=lambda c, r: (sum(map(len, r)), sum(map(len, c))))),
    ("06c.bleu", "matching n-grams only once", bleu_with(found=lambda mine, theirs: len(mine & theirs))),
    ("06c.bleu", "candidate's n-grams only once", bleu_with(total=lambda mine, theirs: len(mine))),
    ("06c.bleu", "numbers of sentences", bleu_with(lengths=lambda c, r: (len(c), len(r)))),
    ("06c.bleu", "first sentence", bleu_with(lengths=lambda c, r: (len(c[0]), len(r[0])))),
    ("06c.bleu", "all n-grams as matches", bleu_with(found=lambda mine, theirs: mine.total())),
    ("06c.bleu", "no sentence has four words", bleu_with(least=0)),
    ("06c.bleu", None, bleu_with(least=2)),
    (
        "06c.bootstrap",
        "averages the BLEU",
        lambda statistics, draws: bleu_from_statistics(statistics[draws]).mean(1),
    ),
    ("06c.bootstrap", "by itself", lambda statistics, draws: bleu_from_statistics(statistics[draws])),
    ("06c.paired", "middle 90%", paired_with(lambda d: (d.quantile(0.05).item(), d.quantile(0.95).item()))),
    (
        "06c.paired",
        "normal distribution",
        paired_with(lambda d: ((d.mean() - 1.96 * d.std()).item(), (d.mean() + 1.96 * d.std()).item())),
    ),
    ("06c.paired", "not symmetric", paired_with(lambda d: (d.quantile(0.05).item(), d.max().item()))),
    ("06c.brevity", "c/r − 1", lambda c, r: 1.0 if c > r else math.exp(c / r - 1)),
    ("06c.brevity", "plain ratio", lambda c, r: min(c / r, 1)),
    ("06c.chrf", "one n-gram too few", chrf_with(lambda c, r, n: c - n, lambda c, r, n: r - n)),
    ("06c.chrf", "precision alone", chrf_with(lambda c, r, n: c - n + 1, lambda c, r, n: c - n + 1)),
    ("06c.chrf", "recall alone", chrf_with(lambda c, r, n: r - n + 1, lambda c, r, n: r - n + 1)),
    ("06c.chrf", "number of characters", chrf_with(lambda c, r, n: c, lambda c, r, n: r)),
    ("06c.chrf", "interchanged", chrf_with(lambda c, r, n: r - n + 1, lambda c, r, n: c - n + 1)),
    ("06d.pair", "one merge would replace", pair_of(add_without_overlap)),
    ("06d.pair", "last count", pair_of(overwrite)),
    ("06d.pair", "once per word", pair_of(add_once_per_word)),
    ("06d.pair", "ignores `counts`", pair_of(lambda found, word, number: found.update(pairwise(word)))),
    ("06d.merge", "text of the ids", merge_in_text),
    ("06d.merge", None, merge_digits),
    ("06d.merge", None, merge_bytes),
    ("06d.merge", "never merges", merge_with(lambda ids, i, pair: ids[i : i + 2] == pair)),
    ("06d.merge", "always moves on by two", merge_with(step=lambda found: 2)),
    ("06d.merge", "keeps the second id", merge_with(step=lambda found: 1)),
    ("06d.encode", "same number", encode_with(lambda i, merges: 256 + len(merges))),
    ("06d.encode", "wrong number", encode_with(lambda i, merges: 257 + i)),
    ("06d.encode", "drops the result", encode_with(lambda i, merges: 256 + i, keep=False)),
    ("06d.encode", "after the first merge", encode_with(lambda i, merges: 256 + i, early=True)),
    ("06d.encode", "only the merges that apply", encode_applied),
    ("06d.stop", "starts at 1", stop_with(lambda loss, best, w: 1 if loss < best else w + 1)),
    ("06d.stop", "counts the good", stop_with(lambda loss, best, w: 0 if loss > best else w + 1)),
    ("06d.stop", "from 1", stop_with(lambda loss, best, w: 0 if loss < best else w + 1, lambda i, p: i + 1)),
    ("06d.stop", "best evaluation", lambda losses, patience: losses.index(min(losses))),
    (
        "06d.stop",
        "best evaluation",
        stop_with(lambda loss, best, w: 0 if loss < best else w + 1, lambda i, p: i - p),
    ),
    ("06d.stop", "beyond 1", stop_with(lambda loss, best, w: 0 if loss < best else 1)),
    ("06d.stop", "too late", stop_with(lambda l, b, w: 0 if l < b else w + 1, test=lambda w, p: w > p)),  # noqa: E741
    ("06d.chance", "both runs vary", lambda scores: 2 * statistics.stdev(scores)),
    ("06d.chance", "square root of the number", lambda s: 2 * 2**0.5 * statistics.stdev(s) / len(s) ** 0.5),
    ("06d.chance", "number of scores", lambda scores: 2 * 2**0.5 * statistics.pstdev(scores)),
]


@pytest.mark.parametrize(
    ("key", "named", "answer"), WRONG, ids=lambda one: one if isinstance(one, str) else ""
)
def test_a_wrong_answer_is_refused_by_its_reason(key: str, named: str | None, answer: object) -> None:
    refused(key, named, answer)


RIGHT = [
    ("06.bleu_on_paper", 58),
    ("06.bleu_on_paper", 57.9),
    (
        "06c.paired",
        paired_with(lambda d: [sorted(d.tolist())[int(q * len(d))] for q in (0.025, 0.975)]),
    ),
    ("06c.paired", paired_with(lambda d: d.quantile(torch.tensor([0.025, 0.975], dtype=d.dtype)))),
    (
        "06d.merge",
        lambda ids, pair, new: list(
            map(ord, "".join(map(chr, ids)).replace("".join(map(chr, pair)), chr(new)))
        ),
    ),
]


@pytest.mark.parametrize(("key", "answer"), RIGHT, ids=lambda one: one if isinstance(one, str) else "")
def test_an_unusual_right_answer_passes(key: str, answer: object) -> None:
    assert grade(find(key), answer).state == "passed"
