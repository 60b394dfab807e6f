"""The widgets of attention between pixels and of diffusion, the models they use, and what they say."""

import re

import pytest
import torch
from torch import nn

from course_lib.chapters.ch10_pixels import diffusion_explorer, pixel_attention_explorer
from course_lib.chapters.ch10_pixels import diffusion_widget as diffusion
from course_lib.chapters.ch10_pixels import pixel_attention as pixel_runs
from course_lib.chapters.ch10_pixels import pixels_widget as pixels
from course_lib.chapters.ch10_pixels import symmetry_denoiser as mirrors
from course_lib.datasets import load_images
from course_lib.layers.multi_head_attention import attention
from course_lib.tasks.diffusion import noise_loss
from course_lib.tasks.image_classification import to_floats


def test_the_pictures_are_symmetrical_and_otherwise_random():
    pictures = mirrors.mirrors(3000, torch.Generator().manual_seed(0))
    assert pictures.shape == (3000, 1, mirrors.HEIGHT, mirrors.WIDTH)
    assert torch.equal(pictures, pictures.flip(3))
    half = pictures[..., : mirrors.WIDTH // 2].flatten(1)
    table = half.T @ half / len(half)
    assert (table - torch.eye(half.shape[1])).abs().max() < 0.12


def test_each_convolution_reaches_one_pixel_further_and_attention_all():
    for more, columns in ((0, 4), (2, 6), (mirrors.CONVOLUTIONS, mirrors.WIDTH)):  # of column 2
        reached = mirrors.reach(mirrors.MirrorNet(attention=False, more_convolutions=more), row=1, column=1)
        assert reached[:, :columns].any(dim=0).all() and not reached[:, columns:].any()
    assert mirrors.reach(mirrors.trained_mirrors(), 1, 1).all()


def test_a_run_has_an_error_for_each_column():
    run = mirrors.convolutions_run(seed=0, lr=1e-3, steps=2)
    assert len(run["errors"]) == mirrors.WIDTH and all(error > 0.3 for error in run["errors"])


@pytest.mark.slow
def test_training_is_the_same_each_time_and_leaves_chance_alone():
    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    one, other = (mirrors.train_mirrors(attention=True, steps=3, seed=1) for _ in range(2))
    assert torch.equal(torch.rand(2), expected)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_the_stored_network_sees_the_mirror_pixel():
    """Its error lies near 1/3, the best from both pixels, in every column; 1/2 is the best from one."""
    error = mirrors.error_by_column(mirrors.trained_mirrors())
    assert error.max() < 0.42 and 1 / 3 - 0.02 < error.min()


def test_the_weights_shown_are_those_of_the_attention():
    net, (_, noisy, cleaned, weights) = mirrors.trained_mirrors(), pixels.seen()
    with torch.no_grad():
        assert torch.allclose(net(noisy[:, None])[:, 0], cleaned)
        h = net.enter(noisy[:, None]) + net.positions
        h = h + net.middle(nn.functional.silu(h))
        q, k, v = (
            net.attention.split(p) for p in net.attention.qkv(net.attention.norm(h).flatten(2)).chunk(3, 1)
        )
    assert torch.allclose(weights, attention(q, k, v)[1], atol=1e-5)


def test_most_pixels_look_at_their_mirror_pixel():
    weights = pixels.seen()[3].mean(dim=(0, 1))
    number = torch.arange(mirrors.HEIGHT * mirrors.WIDTH)
    mirror = number + mirrors.WIDTH - 1 - 2 * (number % mirrors.WIDTH)
    assert weights[number, mirror].mean() > 0.2


def test_the_text_says_the_weights_of_the_chosen_pixel():
    explorer = pixel_attention_explorer()
    for name, value in (("row", 3), ("column", 11), ("picture", 5), ("heads", "head 2")):
        explorer.controls[name].value = value
    weight = pixels.seen()[3][4, 1, 2 * 12 + 10].view(4, 12)
    found = re.search(
        r"head 2: weight ([\d.]+) on itself, ([\d.]+) on its mirror pixel in column 2;", explorer.line
    )
    assert [float(number) for number in found.groups()] == pytest.approx(
        weight[2, [10, 1]].tolist(), abs=0.006
    )
    row, column = map(int, re.search(r"at row (\d+), column (\d+)\.", explorer.line).groups())
    assert weight[row - 1, column - 1] == weight.max()


def test_a_click_in_any_of_the_images_chooses_the_pixel():
    explorer = pixel_attention_explorer()
    for picture, (row, column) in enumerate([(0, 0), (3, 11), (2, 5), (1, 7)]):
        explorer.maps.select(row, column, picture)
        assert explorer.line.startswith(f"Row {row + 1}, column {column + 1}, ")
        assert all(explorer.maps.framed(i)[1:] == (row, column) for i in range(4))


def test_the_images_and_the_weights_are_shown():
    explorer, parts = pixel_attention_explorer(), pixels.seen()
    shown = [torch.tensor(one.weights) for one in explorer.maps.heatmaps]
    for one, part in zip(shown, parts[:3], strict=False):
        assert torch.equal(one, part[0])
    assert torch.allclose(shown[3], parts[3][0].mean(0)[12 + 1].view(4, 12))


def test_the_stored_network_finds_noise():
    model, steps = pixel_runs.trained()
    clean = to_floats(load_images("digits").test.pixels)
    t = torch.arange(len(clean)) % steps.steps + 1
    assert noise_loss(model, steps, clean, t).mean() < 0.12


def test_there_and_back_fit_together():
    (noised, estimates), (drawn, expected) = diffusion.there(), diffusion.back()
    assert noised.shape == estimates.shape == drawn.shape == expected.shape == (101, diffusion.DIGITS, 8, 8)
    assert torch.equal(noised[0], estimates[0]) and torch.equal(drawn[0], expected[0])
    assert torch.allclose(expected[1], drawn[0], atol=1e-4)  # in the last step no noise is added
    off = (estimates - noised[0]).abs().mean(dim=(1, 2, 3))
    assert off[5] < off[40] < off[100]
    assert drawn[100].std() == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize(
    ("t", "said"),
    [
        (0, "No noise has been added"),
        (5, "recovers the digit"),
        (70, "the mean of all digits"),
        (100, "black or white"),
    ],
)
def test_the_text_says_how_much_is_left(t, said):
    explorer = diffusion_explorer()
    explorer.controls["t"].value = t
    assert said in explorer.line
    assert f"{pixel_runs.trained()[1].alpha_bar[t]:.1%} of the variance is signal" in explorer.line


def test_where_nothing_is_visible_the_text_gives_the_error_of_the_mean_digit():
    noised, estimates = diffusion.there()
    guesses = diffusion.mean_digit(), estimates[80, 0]
    of_mean, of_network = ((guess - noised[0, 0]).abs().mean() for guess in guesses)
    explorer = diffusion_explorer()
    explorer.controls["t"].value = 80
    assert f"the mean of all digits would be off by {of_mean:.2f}" in explorer.line
    assert of_network > of_mean + 0.1  # this network's estimate is not that mean, so the text must not say so


def test_the_stored_runs_are_whole():
    runs = pixel_runs.stored()
    assert {run.recipe.attention for run in runs} == {True, False}
    for run in runs:
        assert len(run.steps) == len(run.losses) == 10 and len(run.by_noise) == 5
        assert run.losses[-1] < run.losses[0] and run.by_noise == sorted(run.by_noise, reverse=True)
        assert run.pictures.shape == (32, 1, 8, 8)
        assert pixel_runs.packed(run.pictures) == run.drawn


def test_the_stored_models_are_small():
    files = [pixel_runs.MODELS / f"{name}.safetensors" for name in ("digits", "mirrors")]
    assert sum(file.stat().st_size for file in files) < 400_000
