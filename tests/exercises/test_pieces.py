"""Pieces: what a student wrote earlier is used if it still passes; otherwise ours, and the reason is said."""

import pytest
import torch

from course_lib.exercises import catalogue, grade, my_pieces
from course_lib.utils import progress as saved

SOFTMAX = """def mine(scores):
    e = torch.exp(scores - scores.amax(-1, keepdim=True))
    return e / e.sum(-1, True)
"""
BLOCK = """def my_block(x, mask, w, masked_softmax, layer_norm, pre_norm):
    def attention(x):
        q, (k, v) = w.attention.w_q(x), w.attention.w_kv(x).chunk(2, dim=-1)
        q, k, v = (part.unflatten(-1, (w.attention.heads, -1)).transpose(1, 2) for part in (q, k, v))
        weights = masked_softmax(q @ k.mT / math.sqrt(q.shape[-1]), mask)
        return w.attention.w_o((weights @ v).transpose(1, 2).flatten(-2))

    x = pre_norm(x, attention, lambda x: layer_norm(x, w.norm_1.weight, w.norm_1.bias))
    feed_forward = lambda x: w.feed_forward.w_out(F.relu(w.feed_forward.w_in(x)))
    return pre_norm(x, feed_forward, lambda x: layer_norm(x, w.norm_2.weight, w.norm_2.bias))
"""


@pytest.fixture(autouse=True)
def new_session(monkeypatch):
    monkeypatch.setattr(saved, "_session", {})


def test_saved_answers_are_used_in_the_given_order(capsys):
    saved.remember("01.softmax", answer=SOFTMAX)
    saved.remember("05.block", answer=BLOCK)
    block, layer_norm, softmax = my_pieces("05.block", "05.layer_norm", "01.softmax")
    assert (block.__name__, softmax.__name__) == ("my_block", "mine")
    assert layer_norm is catalogue()["05.layer_norm"].reference
    assert torch.allclose(softmax(torch.tensor([0.0, 1.0])), torch.tensor([0.0, 1.0]).softmax(-1))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["≈ 05.block", "≈ 05.layer_norm", "≈ 01.softmax"]
    assert ["yours" == line.split(": ")[1] for line in lines] == [True, False, True]


@pytest.mark.parametrize("entry, said", [
    ({"state": "passed", "answer": ""}, "not the code"),
    ({"state": "wrong", "answer": SOFTMAX}, "not passed yet"),
    ({"state": "passed", "answer": "def mine(:"}, "SyntaxError"),
    ({"state": "passed", "answer": "raise KeyError('key')"}, "KeyError"),
    ({"state": "passed", "answer": "x = 3"}, "no function"),
    ({"state": "passed", "answer": "def mine(scores):\n    return helper(scores)\n"}, "'helper'"),
    ({"state": "passed", "answer": "def mine(scores):\n    ...\n"}, "fails"),
    ({"state": "passed", "answer": SOFTMAX.replace("-1", "0")}, "fails: your code"),
])  # fmt: skip
def test_ours_takes_over_and_the_line_says_why(entry, said, monkeypatch, capsys):
    monkeypatch.setattr(saved, "_session", {"01.softmax": entry})
    (softmax,) = my_pieces("01.softmax")
    assert softmax is catalogue()["01.softmax"].reference
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("≈ 01.softmax: ours") and said in line and len(line) <= 202


def test_an_exercise_that_is_unknown_or_asks_for_a_value():
    with pytest.raises(ValueError, match=r"no exercise '05\.blocks'.* 05\.block,"):
        my_pieces("05.layer_norm", "05.blocks")
    with pytest.raises(ValueError, match=r"06\.bleu_on_paper asks for a value"):
        my_pieces("06.bleu_on_paper")


def test_a_block_that_calls_the_library_is_told_so():
    verdict = grade(catalogue()["05.block"], lambda x, mask, w, *pieces: w.norm_1(w.attention(x, mask=mask)))
    assert verdict.mistake == "your code calls the library's layers"
