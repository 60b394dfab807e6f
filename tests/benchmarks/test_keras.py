"""The rebuilt tutorial: as many parameters as it prints, and padding that changes nothing that counts."""

import torch

from course_lib.benchmarks import keras_rival
from course_lib.benchmarks.keras_rival import KerasLike
from course_lib.benchmarks.timing import Plan
from course_lib.text.tokenizers import PAD


def parameters(*modules):
    return sum(p.numel() for module in modules for p in module.parameters())


def test_parameters_are_those_of_the_tutorial():
    with torch.device("meta"):
        model = KerasLike(keras_rival.SIZES)
    assert parameters(model.tables[0], model.places[0]) == 3_845_120
    assert parameters(model.encoder) == 3_155_456
    assert parameters(model.tables[1], model.places[1], model.decoder, model.output) == 12_959_640
    assert parameters(model) == 19_960_216


def test_padding_and_later_words_change_no_prediction():
    torch.manual_seed(0)
    model = KerasLike(keras_rival.TINY).eval()
    source, target = torch.randint(5, 50, (3, 7)), torch.randint(5, 50, (3, 6))
    longer = torch.cat([source, torch.full((3, 4), PAD)], dim=1)
    logits = model(source, target)
    assert logits.shape == (3, 6, 50)
    torch.testing.assert_close(model(longer, target), logits)
    other = target.clone()
    other[:, 4:] = 9
    torch.testing.assert_close(model(source, other)[:, :4], logits[:, :4])
    assert not torch.allclose(model(source, other)[:, 4:], logits[:, 4:])
    assert not torch.allclose(model(source.flip(1), target), logits)


def test_row_measures_all_three():
    (found,) = keras_rival.keras(Plan(seconds=0.0, least=2, warm_up=1, tiny=True))
    assert list(found.seconds) == ["ours, preset spa-eng-8-original", "ours, its sizes", "Keras-like"]
    assert min(found.amounts["Keras-like"]) == 2 * keras_rival.TINY.batch
