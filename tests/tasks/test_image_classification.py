"""Image classifiers: batches, loss, predictions, confusion matrix, files, and what is refused."""

import json
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from helpers.small_training import learn
from torch import nn

from course_lib.datasets import ImageSplit, load_images
from course_lib.models.vit import TOKENIZERS, ViT, ViTConfig
from course_lib.tasks.image_classification import (
    ImageBatches,
    ImageClassificationLoss,
    accuracy,
    check_fits,
    confusion_matrix,
    load_classifier,
    predict,
    save_classifier,
    to_floats,
)

CONFIG = ViTConfig(classes=5, image_size=12, patch_size=4, d_model=24, heads=2, layers=1)


def split_of(images=11, channels=3, side=12, classes=5):
    rng = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (images, channels, side, side), generator=rng, dtype=torch.uint8)
    return ImageSplit(pixels, torch.arange(images) % classes)


def model_of(**changes):
    torch.manual_seed(0)
    model = ViT(replace(CONFIG, **changes))
    nn.init.normal_(model.head.weight)
    return model


# Batches


def test_images_keep_their_labels(device):
    split = split_of()
    images, labels = ImageBatches(split.to(device), 4).batch_of([7, 2, 5])
    assert labels.tolist() == [2, 2, 0] and images.device.type == torch.device(device).type
    assert torch.allclose(images[1].cpu(), split.pixels[2].float() / 127.5 - 1)


def test_augmentation_sees_pixels_and_labels():
    def darken(pixels, labels):
        assert pixels.dtype == torch.uint8
        return pixels // 2, F.one_hot(labels, 5).float()

    split = split_of()
    images, labels = ImageBatches(split, 4, augment=darken).batch_of([7, 2])
    assert torch.equal(images, to_floats(split.pixels[[7, 2]] // 2))
    assert labels.argmax(-1).tolist() == [2, 2] and labels.shape == (2, 5)


@pytest.mark.parametrize("batch", [0, 12])
def test_a_batch_of_more_images_than_there_are_is_refused(batch):
    with pytest.raises(ValueError, match=f"batch={batch} must be from 1 to 11, the number"):
        ImageBatches(split_of(), batch)


# Loss


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_the_loss_is_the_log_of_the_right_classes(device, smoothing):
    model, split = model_of().to(device), split_of().to(device)
    images = to_floats(split.pixels)
    loss, count = ImageClassificationLoss(model, smoothing)(images, split.labels)
    logs = model(images).log_softmax(-1)
    right = logs[torch.arange(11), split.labels]
    expected = -((1 - smoothing) * right + smoothing * logs.mean(-1)).sum()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-4) and count.item() == 11


def test_labels_may_be_shares_of_classes():
    model, split = model_of(), split_of()
    images, rows = to_floats(split.pixels), F.one_hot(split.labels, 5).float()
    objective = ImageClassificationLoss(model)
    assert objective(images, rows)[0].item() == pytest.approx(objective(images, split.labels)[0].item())
    mixed = 0.25 * rows + 0.75 * rows.flip(0)
    expected = 0.25 * objective(images, rows)[0] + 0.75 * objective(images, rows.flip(0))[0]
    assert objective(images, mixed)[0].item() == pytest.approx(expected.item(), rel=1e-5)


def test_a_label_without_a_class_is_refused():
    images = to_floats(split_of().pixels)
    with pytest.raises(ValueError, match="labels run from 0 to 10, but classes=5 takes 0 to 4"):
        ImageClassificationLoss(model_of())(images, torch.arange(11))


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (split_of(channels=1), "images are gray, channels=1, and the model is for channels=3"),
        (split_of(channels=4), "neither gray nor in color, channels=4"),
        (split_of(side=16), "images of 16×16 pixels for a model of image_size=12"),
        (split_of(classes=7), "labels run from 0 to 6, but classes=5"),
    ],
)
def test_images_that_do_not_fit_the_model_are_refused(split, message):
    with pytest.raises(ValueError, match=message):
        check_fits(model_of(), split)


# Predictions


def test_predictions_are_those_of_the_model_in_evaluation_mode(device):
    model, split = model_of(dropout=0.5).to(device).train(), split_of()
    logits = predict(model, split.pixels, batch=4)
    assert model.training and logits.device.type == "cpu"
    expected = model.eval()(to_floats(split.pixels).to(device)).cpu()
    assert torch.allclose(logits, expected, atol=1e-4)
    assert torch.allclose(predict(model, to_floats(split.pixels)), expected, atol=1e-4)
    assert not model.training


def test_accuracy_is_the_share_of_right_answers():
    model, split = model_of(), split_of()
    right = predict(model, split.pixels).argmax(-1)
    labels = torch.where(torch.arange(11) < 4, right, (right + 1) % 5)
    assert accuracy(model, ImageSplit(split.pixels, labels), batch=3) == pytest.approx(4 / 11)


def test_confusion_matrix_equals_that_of_scikit_learn(device):
    from sklearn import metrics

    rng = torch.Generator().manual_seed(0)
    labels, predicted = torch.randint(7, (2, 200), generator=rng)
    ours = confusion_matrix(labels.to(device), predicted.to(device), 7).tolist()
    assert ours == metrics.confusion_matrix(labels, predicted).tolist()
    with pytest.raises(ValueError, match="labels run from 0 to 6, but classes=6"):
        confusion_matrix(labels, predicted, 6)


# Training and files


@pytest.mark.slow
def test_a_classifier_learns_the_digits():
    digits = load_images()
    config = ViTConfig(classes=10, image_size=8, patch_size=2, channels=1, d_model=32, heads=2, layers=1)
    torch.manual_seed(0)
    model = ViT(config)
    batches, settings = ImageBatches(digits.train, 32), {"optimizer": "muon", "lr": 1e-2, "warmup": 10}
    settings |= {"evaluate": lambda: {"accuracy": accuracy(model, digits.validation)}, "evaluate_every": 60}
    history = learn(ImageClassificationLoss(model), batches, steps=120, **settings)
    assert history.tokens == 120 * 32  # it counts images
    assert history.losses[0] == pytest.approx(2.3026, abs=0.01)
    assert accuracy(model, digits.test) > 0.7
    assert [one["step"] for one in history.evaluations] == [60, 120]


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_a_saved_classifier_comes_back(tmp_path, tokenizer):
    model, split = model_of(tokenizer=tokenizer), split_of()
    model.train()(to_floats(split.pixels))  # running averages, if there are any, are stored, too
    save_classifier(tmp_path / "model", model, ["a", "b", "c", "d", "e"])
    again, classes = load_classifier(tmp_path / "model")
    assert classes == ["a", "b", "c", "d", "e"] and again.config == model.config and not again.training
    assert torch.equal(predict(again, split.pixels), predict(model, split.pixels))


def test_there_is_one_name_for_each_class(tmp_path):
    with pytest.raises(ValueError, match="2 class names, but the model has classes=5"):
        save_classifier(tmp_path / "model", model_of(), ["a", "b"])
    save_classifier(tmp_path / "model", model_of(), ["a", "b", "c", "d", "e"])
    path = tmp_path / "model" / "config.json"
    about = json.loads(path.read_text())
    path.write_text(json.dumps({**about, "classes": ["a", "b"]}))
    with pytest.raises(ValueError, match="2 class names, but the model has classes=5"):
        load_classifier(tmp_path / "model")
