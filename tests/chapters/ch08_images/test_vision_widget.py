"""The widgets of images: what the text says is what is computed, and the pictures show it."""

import html
import io
import re

import numpy as np
import pytest
import torch
from matplotlib import rc_context
from PIL import Image

from course_lib.chapters.ch08_images import class_attention_widget, confusion_widget, digits_vit
from course_lib.chapters.ch08_images import patch_picture as cutting
from course_lib.chapters.ch08_images import patches_widget as patches
from course_lib.chapters.ch08_images.class_attention_widget import class_attention_explorer
from course_lib.chapters.ch08_images.confusion_widget import CHANGES, confusion_explorer
from course_lib.chapters.ch08_images.patches_widget import patch_explorer
from course_lib.chapters.ch08_images.vit_interpret import (
    attention_maps,
    class_attention,
    on_patches,
    rollout,
)
from course_lib.datasets import ImageSplit
from course_lib.layers.patches import unfold_patches
from course_lib.models.vit import ViT, ViTConfig
from course_lib.tasks.image_classification import accuracy, predict, to_floats
from course_lib.widgets import explorer

CLASSES = ("cat", "dog", "<b>$ship$", "a long name")


def text_of(widget) -> str:
    return re.sub(r"<[^>]*>$|^<[^>]*>", "", html.unescape(widget.text.value))


def coloured(images: int = 9, side: int = 12) -> ImageSplit:
    rng = torch.Generator().manual_seed(1)
    pixels = torch.randint(256, (images, 3, side, side), generator=rng, dtype=torch.uint8)
    return ImageSplit(pixels, torch.arange(images) % 4)


def colour_model(**changes) -> ViT:
    """A model without training, whose head is not zero."""
    torch.manual_seed(4)
    sizes = {"classes": 4, "image_size": 12, "patch_size": 4, "d_model": 24, "heads": 3, "layers": 1}
    model = ViT(ViTConfig(**sizes | changes))
    torch.nn.init.normal_(model.head.weight)
    return model.eval()


@pytest.fixture
def digits() -> tuple[ViT, ImageSplit]:
    """The model and the images that an explorer shows without others."""
    return digits_vit.digits_model(), digits_vit.digits().test


# ---- the model


def test_the_stored_model_reads_digits_that_it_has_not_seen(digits) -> None:
    model, test = digits
    assert accuracy(model, test) > 0.95
    assert not any(p.requires_grad for p in model.parameters()) and not model.training
    assert sum(file.stat().st_size for file in digits_vit.STORED.iterdir()) < 300_000
    assert digits_vit.make(steps=2).config == model.config  # the command makes a model of this form


@pytest.mark.parametrize("make", [class_attention_explorer, confusion_explorer])
def test_a_model_needs_images_and_names_that_fit(make) -> None:
    with pytest.raises(ValueError, match="classes=4, no images, 4 names"):
        make(colour_model(), None, CLASSES)
    with pytest.raises(ValueError, match="classes=4, 9 images, 0 names"):
        make(colour_model(), coloured())
    with pytest.raises(ValueError, match="classes=None, 9 images"):
        make(None, coloured(), CLASSES)
    with pytest.raises(ValueError, match="8.*image_size=12|12.*8"):
        make(colour_model(), coloured(side=8), CLASSES)


@pytest.mark.parametrize("make", [class_attention_explorer, confusion_explorer])
def test_any_classifier_can_be_looked_at(make) -> None:
    """In colour, of one layer, with names that are markup or formulas, on one image only."""
    widget = make(colour_model(), coloured(), CLASSES)
    for control in widget.controls.values():
        if not control.disabled:
            before = widget.image.value
            options = getattr(control, "options", None)
            control.value = options[-1] if options else control.max
            assert widget.image.value != before
    assert "<b>" not in widget.text.value
    make(colour_model(), coloured()[:1], CLASSES)


# ---- patches


def test_the_tokens_are_those_of_the_model() -> None:
    pixels = coloured(1).pixels
    mine = cutting.cut_up(pixels[0], 4, 4, cutting.WHOLE)
    assert torch.equal(mine.flatten(1).float(), unfold_patches(pixels.float(), 4)[0])
    overlapping = cutting.cut_up(pixels[0], 4, 2, cutting.WHOLE)
    assert len(overlapping) == 5 * 5
    assert torch.equal(overlapping[5 * 1 + 3], pixels[0, :, 2:6, 6:10])


def test_the_lectures_reshape_mixes_three_squares() -> None:
    """As on the slide: two unfolds, then the numbers are read on without a permute."""
    pixels = coloured(1).pixels
    lecture = pixels.unfold(2, 4, 4).unfold(3, 4, 4).reshape(1, 9, 3 * 4 * 4)[0]
    mine = cutting.cut_up(pixels[0], 4, 4, cutting.RESHAPED)
    assert torch.equal(mine.flatten(1), lecture)
    for token in range(9):
        squares = cutting.squares_of(token, 9, 3, cutting.RESHAPED)
        for part, (channel, place) in zip(mine[token], squares, strict=True):
            row, column = divmod(place, 3)
            square = pixels[0, channel, 4 * row : 4 * row + 4, 4 * column : 4 * column + 4]
            assert torch.equal(part, square)


def test_every_size_and_stride_that_is_offered_covers_the_image() -> None:
    for side in (8, 12, 32, 64):
        for patch in patches.sizes(side):
            assert side % patch == 0
            for stride in patches.strides(side, patch):
                assert (side - patch) % stride == 0 and 1 <= stride <= patch
                across = cutting.tokens_across(side, patch, stride)
                assert across**2 <= patches.MOST and (across - 1) * stride + patch == side
    assert patches.sizes(64) == [2, 4, 8, 16, 32, 64]


def test_controls_offer_what_the_others_allow() -> None:
    widget = patch_explorer()
    image, patch, stride, token, _ = widget.controls.values()
    patch.value = 16
    assert list(stride.options)[:2] == [16, 8] and token.max == 4 and token.value == 4
    stride.value = 8
    assert token.max == 9
    image.value = image.options[-1]
    assert list(patch.options) == [1, 2, 4, 8] and patch.value in patch.options
    assert stride.value == patch.value
    patch.value = 8
    assert token.disabled and token.min < token.max and "1 tokens" in text_of(widget)
    patch.value = 1
    assert token.max == 64 and not token.disabled


def test_the_patch_text_counts() -> None:
    widget = patch_explorer(coloured().pixels)

    def text(**values) -> str:
        for name, value in values.items():
            widget.controls[name].value = value
        return text_of(widget)

    counts = text(patch=4, stride=2, token=8)
    for said in (
        "Image 1: 12×12 pixels, 3 channels; patches of 4×4 at stride 2: 5 rows of 5, 25 tokens",
        "tokens of 3·4·4 = 48 values.",
        f"each pixel is in {25 * 16 / 144:.1f} of them on average",
        "each head computes 676 weights",
    ):
        assert said in counts
    assert counts.endswith("Token 8 is the patch in row 2, column 3.")
    mixed = text(stride=4, token=5, cut=cutting.RESHAPED)
    assert "Token 5 consists of green of patch 4, green of patch 5, green of patch 6" in mixed
    numbers = coloured().pixels[0, :, 0:2, 8:10].flatten().tolist()
    assert text(patch=2, cut=cutting.WHOLE).endswith(f"column 5: {' '.join(map(str, numbers))}.")


def test_the_sequence_shows_the_tokens_in_order() -> None:
    tokens = torch.arange(6, dtype=torch.uint8)[:, None, None, None].expand(6, 1, 2, 2)
    drawn = cutting.montage(tokens, line=4, right=1, below=1)
    assert drawn.shape == (2 * 3, 4 * 3, 4)
    assert drawn[0, ::3, 0].tolist() == [0, 1, 2, 3] and drawn[3, ::3, 1].tolist() == [4, 5, 255, 255]
    assert drawn[0, :3, 3].tolist() == [255, 255, 0] and drawn[3, 6:9, 3].tolist() == [0, 0, 0]
    assert (drawn[2, :, 3] == 0).all()


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((1, 3, 8, 12), "8×12 pixels with 3 channels"),
        ((1, 2, 8, 8), "with 2 channels"),
        ((1, 1, 37, 37), "37 pixels"),
    ],
)
def test_images_that_cannot_be_cut_get_the_reason(shape: tuple[int, ...], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        patch_explorer(torch.zeros(shape, dtype=torch.uint8))


def test_a_picture_of_ones_own_is_cut_to_a_square_in_its_middle(tmp_path) -> None:
    wide = np.zeros((40, 100, 3), np.uint8)
    wide[:, 30:70] = (200, 100, 50)  # the middle; black on both sides
    Image.fromarray(wide).save(tmp_path / "wide.png")
    widget = patch_explorer(tmp_path / "wide.png")
    assert widget.controls["image"].value == "your picture"
    shown = patches.pictures_of(str(tmp_path / "wide.png"))["your picture"]
    assert shown.shape == (3, patches.SIDE, patches.SIDE)
    assert shown.flatten(1).T.unique(dim=0).tolist() == [[200, 100, 50]]
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(ValueError, match=r"text\.png is not a picture"):
        patch_explorer(tmp_path / "text.png")


# ---- the class token


def test_the_weights_are_those_of_the_model(digits) -> None:
    model, test = digits
    maps = attention_maps(model, to_floats(test.pixels[6:7]))
    look = class_attention_widget.look(model, test[6:7])
    assert torch.allclose(look.weights(2, 3), class_attention(maps)[1, 0, 2])
    assert torch.allclose(look.weights(3, "mean"), class_attention(maps)[2, 0].mean(dim=0))
    assert torch.allclose(look.weights(2, "rollout"), on_patches(rollout(maps[:2])[0, 0]))
    assert torch.allclose(look.probabilities, predict(model, test.pixels[6:7])[0].softmax(dim=-1), atol=1e-6)


def test_the_least_sure_images_come_first(digits) -> None:
    model, test = digits
    chosen = class_attention_widget.least_sure(model, test)
    assert len(chosen) == class_attention_widget.MOST_IMAGES
    sure, all_sure = (predict(model, one.pixels).softmax(dim=-1).amax(dim=-1) for one in (chosen, test))
    assert (sure.diff() >= -1e-5).all() and sure[-1] <= all_sure.median()


def test_the_text_and_the_maps_show_the_chosen_head_and_patch(digits) -> None:
    model, test = digits
    images = class_attention_widget.least_sure(model, test)
    widget, look = class_attention_explorer(), class_attention_widget.look(model, images[6:7])
    for name, value in {"image": 7, "layer": 2, "head": 3}.items():
        widget.controls[name].value = value
    weights, p, text = look.weights(2, 3), look.probabilities, text_of(widget)
    assert look.label == images.labels[6]
    verdict = "correctly" if p.argmax() == look.label else "incorrectly"
    assert text.startswith(f"Image 7 has label {look.label}; the model {verdict} predicts {p.argmax()} with ")
    row, column = divmod(int(weights.argmax()), 4)
    for said in (
        f"probability {p.max():.2f} (next: ",
        f"Layer 2, head 3: the class token gives itself a weight of {1 - weights.sum():.2f}.",
        f"Of the patches, the one in row {row + 1}, column {column + 1} gets the most, {weights.max():.2f}. ",
        "Uniform weights would be 0.06.",
    ):
        assert said in text
    image, numbers, classes = widget.maps.heatmaps
    assert np.array_equal(image.picture, class_attention_widget.heated(look.pixels, weights))
    assert np.allclose(image.weights, weights) and np.allclose(numbers.weights, weights)
    best = p.topk(class_attention_widget.LIKELIEST)
    assert classes.rows == [str(i) for i in best.indices.tolist()]
    assert np.allclose(classes.weights[:, 0], best.values)
    for number, (row, column) in enumerate([(0, 3), (2, 1)]):  # a click on the image, and on the weights
        widget.maps.select(row, column, number)
        weight = weights[row, column].item()
        place = f"in row {row + 1}, column {column + 1}, gets {weight:.3f}: {17 * weight:.1f} times a uniform"
        assert place in text_of(widget)
        assert all(widget.maps.framed(i)[1:] == (row, column) for i in (0, 1))
    widget.maps.select(2, 0, class_attention_widget.LIKELIEST_MAP)
    assert "framed" not in text_of(widget) and widget.maps.framed(0)[1:] == (None, None)


def test_the_veil_is_densest_where_the_weight_is_largest() -> None:
    weights = torch.zeros(3, 3)
    weights[1, 2], weights[0, 0] = 0.4, 0.2
    black = torch.zeros(1, 12, 12, dtype=torch.uint8)
    heat = class_attention_widget.heated(black, weights).astype(int)
    assert (heat[4:8, 8:12] == heat[4, 8]).all() and (heat[8:] == 0).all()
    assert np.abs(heat[4, 8] - 2 * heat[0, 0]).max() <= 2 and heat[0, 0].max() > 60


def test_without_a_class_token_there_is_nothing_to_see() -> None:
    with pytest.raises(ValueError, match="no class token"):
        class_attention_explorer(colour_model(pooling="mean"), coloured(), CLASSES)


# ---- confusion


def test_the_matrix_and_the_images_behind_a_cell() -> None:
    shown = confusion_widget.Outcome(
        torch.zeros(5, 1, 8, 8, dtype=torch.uint8),
        torch.tensor([1, 1, 0, 1, 1]),
        torch.tensor([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.8, 0.1, 0.1], [0.9, 0.1, 0.0], [0.4, 0.5, 0.1]]),
    )
    assert shown.matrix().tolist() == [[1, 0, 0], [2, 2, 0], [0, 0, 0]]
    assert shown.behind(1, 0) == [3, 0]  # the most confident error first
    assert shown.behind(1, 1) == [4, 1]  # the least confident correct one first
    assert shown.behind(2, 1) == []
    text = confusion_widget.in_words(shown, 1, 0, ["a", "b", "c"], "original")
    assert text == (
        "Images: original. Accuracy 60.0% (3 of 5). Of 4 of class b, 2 are correct; errors: "
        "2 as a. Below each image: the probability of a, then of b. Shown are the most confident errors. "
        "Mean probability of a: 0.75."
    )
    empty = confusion_widget.in_words(shown, 0, 2, ["a", "b", "c"], "original")
    assert empty.endswith("errors: none. No image of class a is predicted as c.")


def test_it_begins_at_the_commonest_mistake_and_a_click_chooses_a_cell_and_an_image(digits) -> None:
    widget, (model, test) = confusion_explorer(), digits
    shown = confusion_widget.outcome(model, test, CHANGES["original"])
    counts = shown.matrix()
    mistakes = counts.clone().fill_diagonal_(0)
    cell = int(widget.controls["true"].value), int(widget.controls["taken"].value)
    assert mistakes[cell] == mistakes.max() > 0 and widget.maps.framed(0) == (0, *cell)
    assert f"{cell[0]} predicted as {cell[1]}: {mistakes.max()} of " in widget.maps.heatmaps[1].title
    assert f"({round(accuracy(model, test) * len(test))} of {len(test)})." in text_of(widget)

    widget.maps.select(9, 8)
    assert (widget.controls["true"].value, widget.controls["taken"].value) == ("9", "8")
    matrix, images = widget.maps.heatmaps
    assert matrix.descriptions[9][8] == f"{counts[9, 8]} ({counts[9, 8] / counts[9].sum():.1%} of the class)"
    assert np.isfinite(images.weights).sum() == counts[9, 8] > 0
    widget.maps.select(0, 1, map=1)
    p = shown.probabilities[shown.behind(9, 8)[1]].topk(3)
    named = ", ".join(f"{i}: {x:.2f}" for x, i in zip(p.values.tolist(), p.indices.tolist(), strict=True))
    assert text_of(widget).endswith(f" Image 2 of these: {named}.")
    widget.maps.select(0, 4, map=1)  # no image there
    assert "of these" not in text_of(widget)
    titles: list[str] = []
    widget.maps.observe(lambda change: titles.append(change["new"][1]["title"]), names="maps")
    widget.maps.select(0, 9)
    assert images.rows and not widget.maps.heatmaps[1].rows and "No image of class 0" in text_of(widget)
    widget.maps.select(3, 3)  # one new picture, though two sliders have moved
    assert [title.partition(":")[0] for title in titles] == ["0 predicted as 9", "3 predicted as 3"]


def test_the_gallery_shows_the_images_with_their_probabilities(digits) -> None:
    widget, (model, test) = confusion_explorer(), digits
    widget.maps.select(8, 8)
    shown = confusion_widget.outcome(model, test, CHANGES["original"])
    numbers = shown.behind(8, 8)[: confusion_widget.MOST]
    images = widget.maps.heatmaps[1]
    high, wide = images.picture.shape[0] // len(images.rows), images.picture.shape[1] // len(images.columns)
    for i, number in enumerate(numbers):
        row, column = divmod(i, confusion_widget.ACROSS)
        drawn = images.picture[row * high : row * high + 8, column * wide : column * wide + 8]
        assert np.array_equal(drawn[..., :3], cutting.colours(test.pixels[number]))
    probabilities = [f"{shown.probabilities[n, 8]:.2f}" for n in numbers]
    assert [text for line in images.texts for text in line] == probabilities
    assert images.descriptions[0][0].startswith(f"8: {probabilities[0]}, ")


def test_changes_leave_the_images_in_their_form() -> None:
    pixels = coloured().pixels
    for name, change in CHANGES.items():
        changed = change(pixels)
        assert changed.shape == pixels.shape and changed.dtype == torch.uint8
        assert torch.equal(change(pixels), changed)
        assert torch.equal(changed, pixels) == (name == "original")
    moved = CHANGES["one pixel to the right"](pixels)
    assert torch.equal(moved[..., 1:], pixels[..., :-1]) and (moved[..., 0] == 0).all()
    assert CHANGES["half the contrast"](pixels).max() == 127


# ---- all of them


def test_the_picture_equals_a_whole_drawing() -> None:
    widget = patch_explorer()
    for artist in widget.figure.findobj(lambda artist: artist.get_animated()):
        artist.set_animated(False)
    mine = np.asarray(Image.open(io.BytesIO(widget.image.value)))
    whole = np.asarray(Image.open(io.BytesIO(explorer.Canvas(widget.figure).png())))
    assert (mine != whole).mean() < 0.003


@pytest.mark.parametrize("make", [patch_explorer, class_attention_explorer, confusion_explorer])
@pytest.mark.parametrize("projected", [False, True])
def test_every_word_stays_inside_the_picture(make, projected: bool) -> None:
    with rc_context():  # the projector's style is left behind
        explorer.projector(projected)
        try:
            widget = make()
        finally:
            explorer.projector(False)
    renderer = widget.canvas.agg.get_renderer()
    for text in widget.figure.findobj(lambda artist: hasattr(artist, "get_text") and artist.get_text()):
        box = text.get_window_extent(renderer)
        assert box.x0 >= 0 and box.y0 >= 0, text.get_text()
        assert box.x1 <= widget.figure.bbox.x1 and box.y1 <= widget.figure.bbox.y1, text.get_text()
