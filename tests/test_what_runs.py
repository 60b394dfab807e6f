"""What a student writes is what runs: in training and translation, in every precision."""

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from helpers.small_training import parts

from course_lib.layers.hooks import record_attention
from course_lib.layers.multi_head_attention import MultiHeadAttention
from course_lib.tasks.translation import translate
from course_lib.training.config import TrainConfig
from course_lib.training.precision import for_inference
from course_lib.training.trainer import train


class Counting:
    """PyTorch's attention, which counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, *args, **more):
        self.calls += 1
        return F.scaled_dot_product_attention(*args, **more)


def layers_of(model):
    return [module for module in model.modules() if isinstance(module, MultiHeadAttention)]


@pytest.mark.parametrize("precision", ["fp32", "bf16", "auto"])
def test_training_runs_the_attention_of_each_layer(precision):
    """Of one layer, and of a subclass: nothing overwrites it, during the run or after it."""
    _, objective, batches = parts()
    first, *others = layers_of(objective.model)
    first.attend = own = Counting()

    class Subclass(MultiHeadAttention):
        attend = inherited = Counting()

    for layer in others:
        layer.__class__ = Subclass
    train(objective, batches, TrainConfig(steps=3, precision=precision), device="cpu", progress=False)
    assert own.calls == 3 and Subclass.inherited.calls == 3 * len(others)
    assert first.attend is own and all("attend" not in vars(layer) for layer in others)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_copy_for_inference_runs_it_too(precision):
    _, objective, _ = parts()
    layers_of(objective.model)[0].attend = Counting()
    copied = layers_of(for_inference(objective.model, precision))
    assert isinstance(copied[0].attend, Counting)
    assert all(layer.attend is F.scaled_dot_product_attention for layer in copied[1:])


def test_translation_runs_the_layers_that_the_course_teaches(monkeypatch):
    tokenizer, objective, _ = parts(dropout=0.0)
    calls, forward = [], MultiHeadAttention.forward

    def noted(self, *args, **more):
        calls.append(self)
        return forward(self, *args, **more)

    monkeypatch.setattr(MultiHeadAttention, "forward", noted)
    translate(objective.model, tokenizer, ["one."], max_tokens=3)
    assert set(calls) == set(layers_of(objective.model))


def test_translation_runs_what_a_subclass_of_the_model_changes():
    """Here the output layer, which makes one token by far the likeliest."""
    tokenizer, objective, _ = parts(dropout=0.0)
    model, favorite = objective.model, tokenizer.encode("six")[0]
    plain = model.output_logits
    model.output_logits = lambda hidden: (
        plain(hidden) + 100 * F.one_hot(torch.tensor(favorite), len(tokenizer))
    )
    assert translate(model, tokenizer, ["one."], max_tokens=2) == [tokenizer.decode([favorite] * 2)]


def test_recording_during_generation_changes_nothing():
    tokenizer, objective, _ = parts(dropout=0.0)
    before = translate(objective.model, tokenizer, ["one and two."])
    with record_attention(objective.model) as maps:
        assert translate(objective.model, tokenizer, ["one and two."]) == before
    assert len(maps) == len(layers_of(objective.model))


@cache
def calls(name: str) -> list[list[str]]:
    """What a call runs, in its own process, because the shape checks of tests are functions, too."""
    command = [sys.executable, "-m", "helpers.call_counts", name]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize(("call", "most", "depth"), [("gpt", 13, 6), ("translate", 60, 9)])
def test_few_functions_are_run_and_not_deep_inside_one_another(call, most, depth):
    functions = {inside[-1] for inside in calls(call)}
    assert len(functions) <= most and max(map(len, calls(call))) <= depth, functions


PAGE = Path(__file__).parents[1] / "docs" / "library.md"
WALKS = re.findall(r"(?ms)^```text\n((train|translate) .*?)^```", PAGE.read_text(encoding="utf-8"))


def test_both_calls_are_followed_on_the_page():
    assert [name for _, name in WALKS] == ["train", "translate"]


@pytest.mark.parametrize(("text", "name"), WALKS, ids=["train", "translate"])
def test_the_page_shows_what_runs(text, name):
    """Each function on the page is called inside of the one above it, in the order of the page."""
    inside, start = [], 0
    for line in text.splitlines():
        indent, function, file = re.match(r"( *)(\S+) +(\S+)", line).groups()
        inside = [*inside[: len(indent) // 2], f"{file}:{function}"]
        assert len(inside) == len(indent) // 2 + 1, f"{function} is indented too far"
        found = [i for i, one in enumerate(calls(name)) if in_order(inside, one)]
        assert found, f"{function} is not called inside of {inside[:-1]}"
        later = [i for i in found if i >= start]
        assert later, f"{function} is called earlier than what stands above it"
        start = later[0]


def in_order(wanted: list[str], inside: list[str]) -> bool:
    """Whether the last one is the call itself, and the others are around it in this order."""
    rest = iter(inside)
    return wanted[-1] == inside[-1] and all(one in rest for one in wanted)
