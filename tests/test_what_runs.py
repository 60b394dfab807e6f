"""What a student writes is what runs: in training and translation, in every precision."""

import subprocess
import sys

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


@pytest.mark.parametrize(("call", "most", "depth"), [("gpt", 13, 6), ("translation", 60, 9)])
def test_few_functions_are_run_and_not_deep_inside_one_another(call, most, depth):
    """In its own process, because the shape checks of tests are functions, too."""
    command = [sys.executable, "-m", "helpers.call_counts", call]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    functions, _, deepest = map(int, done.stdout.split())
    assert functions <= most and deepest <= depth, done.stderr
