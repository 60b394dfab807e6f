"""The stored small models behind the widgets: all there, and what training gives again."""

import random

import pytest
import torch

from course_lib.chapters.ch03_heads import head_task_model
from course_lib.chapters.ch03_heads.heads_widget import HEADS
from course_lib.chapters.ch09_classification import toy_sentiment
from course_lib.chapters.ch09_classification.toy_sentiment import small_critic, train_critic
from course_lib.chapters.train_models import MODELS
from course_lib.datasets.batching import pad
from course_lib.tasks.text_classification import accuracy
from course_lib.widgets import stored, toy_lm


def test_exactly_the_models_that_the_command_makes_are_stored() -> None:
    folders = {path.parent for path in MODELS}
    assert {path for folder in folders for path in folder.iterdir()} == set(MODELS)


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("heads", HEADS)
def test_layers_trained_again_retrieve_what_the_stored_ones_do(heads: int) -> None:
    """Other kernels round differently, so that the weights are not compared."""
    words = "the old man reads a very long letter".split()
    scores = []
    for layer in (head_task_model.train(heads), head_task_model.trained(heads)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(head_task_model, "trained", lambda heads, layer=layer: layer)
            scores.append(head_task_model.look(heads, words)[1])
    assert torch.allclose(*scores, atol=0.1), scores


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_a_classifier_trained_again_is_as_accurate_as_the_stored_one() -> None:
    data, tokens = toy_sentiment.material()
    ids, labels = tokens.encode_batch(data.test.sentences[:1000]), data.test.labels[:1000]
    again, kept = (accuracy(make("mean"), ids, labels) for make in (train_critic, small_critic))
    assert kept > 0.9 and abs(again - kept) < 0.05, (again, kept)


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_a_language_model_trained_again_predicts_as_the_stored_one_does() -> None:
    again, tokens = toy_lm.train()
    kept, _ = toy_lm.small_world()
    rng = random.Random(99)
    ids = pad([tokens.encode(toy_lm.story(rng)) for _ in range(50)])
    with torch.inference_mode():
        same = again(ids).argmax(dim=-1) == kept(ids).argmax(dim=-1)
    assert same.float().mean() > 0.8


def test_saved_weights_are_those_that_are_loaded(tmp_path) -> None:
    file = tmp_path / "models" / "layer.safetensors"
    layer = torch.nn.Linear(2, 3)
    stored.save(layer, file)
    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    loaded = stored.load(lambda: torch.nn.Linear(2, 3), file)
    assert torch.equal(torch.rand(2), expected)  # the random numbers of others are left alone
    assert torch.equal(loaded.weight, layer.weight) and torch.equal(loaded.bias, layer.bias)
    assert not loaded.training and not loaded.weight.requires_grad
