"""The UNet and its diffusion: noise by steps and in one, the way back three ways, and what is refused."""

import math

import numpy as np
import pytest
import torch
from helpers.random_weights import randomized
from helpers.small_training import learn
from torch import nn

from course_lib.datasets import ImageSplit
from course_lib.layers.hooks import record_attention
from course_lib.layers.pixel_attention import PixelAttention
from course_lib.models.unet import ResidualBlock, UNet, UNetConfig
from course_lib.tasks.diffusion import (
    Diffusion,
    DiffusionLoss,
    linear_betas,
    noise_loss,
    reverse_process,
    sample,
)
from course_lib.tasks.image_classification import ImageBatches, to_floats

CONFIG = UNetConfig(channels=3, widths=(8, 12), steps=25, heads=3, groups=4)
SHAPE = (5, 3, 6, 10)


def random_pictures(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def loud_unet(config=CONFIG):
    """Weights so large that no part can hide, not even those that begin at zero."""
    torch.manual_seed(0)
    return randomized(UNet(config), scale=0.1)


class Foreseer(nn.Module):
    """Knows the clean picture, and so finds exactly the noise that is in another one."""

    def __init__(self, clean, diffusion):
        super().__init__()
        self.clean, self.diffusion = clean, diffusion

    def forward(self, x, t):
        picture, rest = self.diffusion.scales(t)
        return (x - picture * self.clean) / rest


# ---- forwards


def test_a_thousand_steps_are_those_of_the_paper():
    betas = linear_betas(1000)
    assert torch.allclose(betas[[0, -1]], torch.tensor([1e-4, 0.02], dtype=torch.float64))
    assert torch.allclose(betas.diff(), betas.diff().mean().expand(999))


@pytest.mark.parametrize("steps", [25, 100, 1000])
def test_in_the_end_hardly_anything_is_left(steps):
    kept = Diffusion(steps).alpha_bar
    assert len(kept) == steps + 1 and kept[0] == 1
    assert (kept.diff() < 0).all() and 0 < kept[-1] < 1e-4


def test_noise_in_one_is_noise_by_steps():
    """Exact for the factors: the picture's share is a product, and the variances of the noises add up."""
    diffusion, picture, variance = Diffusion(30), 1.0, 0.0
    for t, beta in enumerate(linear_betas(30).tolist(), start=1):
        picture, variance = picture * math.sqrt(1 - beta), variance * (1 - beta) + beta
        shares = diffusion.scales(torch.tensor([t]))
        assert math.isclose(shares[0].item(), picture, rel_tol=1e-5)
        assert math.isclose(shares[1].item(), math.sqrt(variance), rel_tol=1e-5)


def test_the_clean_picture_comes_back_from_its_noise(device):
    diffusion, t = Diffusion(25).to(device), torch.tensor([1, 7, 13, 20, 25], device=device)
    clean, noise = random_pictures(*SHAPE).to(device).tanh(), random_pictures(*SHAPE, seed=2).to(device)
    found = diffusion.estimate_clean(diffusion.add_noise(clean, t, noise), t, noise)
    assert torch.allclose(found, clean, atol=1e-3)
    assert torch.equal(diffusion.add_noise(clean, 0 * t, noise), clean)


# ---- the network


def test_the_network_is_told_the_step():
    model, x = loud_unet(), random_pictures(*SHAPE)
    one, other = (model(x, torch.full((5,), t)) for t in (3, 20))
    assert (one - other).abs().amax((1, 2, 3)).min() > 1e-3


def test_pictures_of_a_batch_do_not_mix():
    model, x, t = loud_unet(), random_pictures(*SHAPE), torch.arange(5)
    alone = torch.cat([model(x[i : i + 1], t[i : i + 1]) for i in range(5)])
    assert torch.allclose(model(x, t), alone, atol=1e-4)


def test_at_first_it_finds_no_noise():
    x = random_pictures(*SHAPE)
    found = UNet(CONFIG)(x, torch.arange(5))
    assert torch.allclose(found, found.mean((0, 2, 3), keepdim=True).expand(SHAPE), atol=1e-6)


def test_a_new_residual_block_adds_nothing_but_a_bias():
    block, x = ResidualBlock(8, 8, 16, 4), random_pictures(2, 8, 3, 5)
    added = block(x, random_pictures(2, 16)) - x
    assert torch.allclose(added, block.second.bias[:, None, None].expand_as(x), atol=1e-6)


def test_attention_is_at_the_coarsest_level_alone():
    model = loud_unet(UNetConfig(widths=(8, 12, 16), heads=2, groups=4))
    with record_attention(model) as maps:
        model(random_pictures(2, 1, 12, 20), torch.tensor([1, 2]))
    ((name, (weights,)),) = maps.items()
    assert isinstance(model.get_submodule(name), PixelAttention)
    assert weights.shape == (2, 2, 3 * 5, 3 * 5)


def test_details_pass_by_the_coarse_level():
    """Where the lower level says nothing, the picture still reaches the other side."""

    class Silent(nn.Module):
        def forward(self, x, time):
            return torch.zeros_like(x)

    model, t = loud_unet(), torch.tensor([3, 3])
    x = random_pictures(2, 3, 6, 10)
    model.levels.inner = Silent()
    assert (model(x, t)[0] - model(x, t)[1]).abs().mean() > 0.01


def test_parameter_count():
    def convolution(fan_in, fan_out, side=3):
        return fan_in * fan_out * side**2 + fan_out

    def block(before, after, d_time):
        shortcut = convolution(before, after, 1) if before != after else 0
        norms = 2 * before + 2 * after
        convolutions = convolution(before, after) + convolution(after, after)
        return norms + convolutions + d_time * after + after + shortcut

    fine, coarse, d_time = 8, 12, 32
    attention = 4 * coarse**2 + 4 * coarse + 2 * coarse
    levels = block(fine, fine, d_time) + block(2 * fine, fine, d_time) + 2 * block(coarse, coarse, d_time)
    ways = convolution(fine, coarse) + convolution(coarse, fine)
    ends = convolution(3, fine) + convolution(fine, 3) + 2 * fine
    time = fine * d_time + d_time + d_time**2 + d_time
    for has_attention in (False, True):
        model = UNet(UNetConfig(channels=3, widths=(8, 12), heads=3, groups=4, attention=has_attention))
        expected = levels + ways + ends + time + has_attention * attention
        assert sum(p.numel() for p in model.parameters()) == expected


# ---- training


def test_training_lowers_the_loss(device):
    bright = torch.arange(64)[:, None, None, None].expand(64, 1, 4, 4) % 2 == 0
    split = ImageSplit(255 * bright.to(torch.uint8), torch.zeros(64, dtype=torch.int64))
    torch.manual_seed(0)
    model, diffusion = UNet(UNetConfig(widths=(8, 16), steps=25)), Diffusion(25)
    batches = ImageBatches(split, batch=16)
    history = learn(DiffusionLoss(model, diffusion), batches, device=device, steps=40, lr=1e-2, warmup=5)
    assert history.losses[0] > 0.8 and np.mean(history.losses[-5:]) < 0.5
    t = torch.arange(64) % 25 + 1
    losses = noise_loss(model.cpu().eval(), diffusion.cpu(), to_floats(split.pixels), t)
    assert losses.shape == (64,) and losses.mean() < 0.5


def test_the_objective_counts_pixels_and_asks_about_noise():
    class Nothing(nn.Module):
        def forward(self, x, t):
            assert t.min() >= 1 and t.max() <= 25
            return torch.zeros_like(x)

    torch.manual_seed(0)
    total, count = DiffusionLoss(Nothing(), Diffusion(25))(random_pictures(400, 1, 4, 6))
    assert count == 400 * 24
    assert abs(total / count - 1) < 0.05  # the variance of the noise


# ---- the way back


def by_the_paper(model, x, noises):
    """Algorithm 2 of Ho et al. with the estimate cut, in numpy: the mean from picture and noised picture."""
    betas = np.linspace(0.1 / 25, 20 / 25, 25)
    alphas, kept = 1 - betas, np.cumprod(1 - betas)
    for t in reversed(range(25)):
        found = model(torch.from_numpy(x).float(), torch.full((len(x),), t + 1)).detach().double().numpy()
        clean = np.clip((x - np.sqrt(1 - kept[t]) * found) / np.sqrt(kept[t]), -1, 1)
        before = kept[t - 1] if t else 1.0
        mean = np.sqrt(before) * betas[t] / (1 - kept[t]) * clean
        mean += np.sqrt(alphas[t]) * (1 - before) / (1 - kept[t]) * x
        x = mean + np.sqrt(betas[t] * (1 - before) / (1 - kept[t])) * noises[24 - t]
    return x


def test_the_way_back_is_that_of_the_paper():
    model, diffusion, start = loud_unet(), Diffusion(25), random_pictures(2, 3, 4, 6)
    rng = torch.Generator().manual_seed(5)
    *_, (last, ours, _) = reverse_process(model, diffusion, start, rng)
    rng = torch.Generator().manual_seed(5)
    noises = [torch.randn(start.shape, generator=rng).double().numpy() for _ in range(25)]
    assert last == 0
    assert np.allclose(ours.numpy(), by_the_paper(model, start.double().numpy(), noises), atol=2e-3)


@pytest.mark.parametrize("num_steps", [25, 6, 1])
def test_without_fresh_noise_it_is_ddim(num_steps):
    """Song et al., equation (13), jump by jump: picture and noise are found, and mixed anew."""
    model, diffusion, start = loud_unet(), Diffusion(25), random_pictures(2, 3, 4, 6)
    kept = np.concatenate([[1.0], np.cumprod(1 - np.linspace(0.1 / 25, 20 / 25, 25))])
    stops, x = np.linspace(25, 0, num_steps + 1).round().astype(int), start
    for t, s in zip(stops, stops[1:], strict=False):
        found = model(x, torch.full((2,), int(t))).detach()
        clean = ((x - math.sqrt(1 - kept[t]) * found) / math.sqrt(kept[t])).clamp(-1, 1)
        found = (x - math.sqrt(kept[t]) * clean) / math.sqrt(1 - kept[t])
        x = math.sqrt(kept[s]) * clean + math.sqrt(1 - kept[s]) * found
    *_, (_, ours, _) = reverse_process(model, diffusion, start, num_steps=num_steps, eta=0.0)
    assert torch.allclose(ours, x.float(), atol=2e-3)


@pytest.mark.parametrize(("num_steps", "eta"), [(None, 1.0), (7, 1.0), (7, 0.5), (3, 0.0)])
def test_who_knows_the_picture_comes_back_to_it(num_steps, eta, device):
    diffusion = Diffusion(25).to(device)
    clean = random_pictures(*SHAPE).to(device).tanh()
    found = sample(Foreseer(clean, diffusion), diffusion, SHAPE, num_steps=num_steps, eta=eta)
    assert torch.allclose(found, clean, atol=1e-3)


def test_on_the_way_there_is_as_much_noise_as_there_should_be():
    """At every stop, whatever the num_steps and however eta: what the closed form says."""
    diffusion, shape = Diffusion(25), (4000, 1, 1, 2)
    clean = torch.full(shape, 0.5)
    start = random_pictures(*shape)
    for eta in (0.0, 0.6, 1.0):
        rng = torch.Generator().manual_seed(2)
        for s, x, _ in reverse_process(Foreseer(clean, diffusion), diffusion, start, rng, 5, eta):
            picture, rest = (share.item() for share in diffusion.scales(torch.tensor([s])))
            assert abs(x.mean() - 0.5 * picture) < 0.05 and abs(x.std() - rest) < 0.03


def test_the_same_seed_draws_the_same_pictures():
    model, diffusion = loud_unet().train(), Diffusion(25)
    one, again, other = (sample(model, diffusion, (2, 3, 4, 6), seed, num_steps=4) for seed in (1, 1, 2))
    assert torch.equal(one, again) and not torch.equal(one, other)
    assert model.training


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_the_table_stays_exact_in_every_precision(dtype):
    """In bf16, 1 - ᾱ after one step of 1000 would be 0."""
    diffusion, model = Diffusion(1000).to(dtype), UNet(UNetConfig(steps=1000)).to(dtype)
    assert diffusion.alpha_bar.equal(Diffusion(1000).alpha_bar)
    images = sample(model, diffusion, (2, 1, 8, 8), num_steps=3)
    assert images.dtype == dtype and images.isfinite().all()
    clean = random_pictures(2, 1, 8, 8).to(dtype)
    assert diffusion.add_noise(clean, torch.tensor([1, 1000]), clean).dtype == dtype
    assert noise_loss(model, diffusion, clean, torch.tensor([1, 1000])).isfinite().all()
    loss, pixels = DiffusionLoss(model, diffusion)(clean)
    assert pixels == clean.numel() and loss.isfinite() and loss.dtype == torch.float32


def test_no_picture_at_all():
    loss, pixels = DiffusionLoss(UNet(CONFIG), Diffusion(25))(torch.zeros(0, 3, 4, 4))
    assert (loss, pixels) == (0, 0)


# ---- bad input


def test_refusals():
    model, diffusion, x = UNet(CONFIG), Diffusion(25), random_pictures(2, 3, 4, 6)
    t = torch.tensor([1, 2])
    with pytest.raises(ValueError, match="steps=20: .*21"):
        linear_betas(20)
    assert linear_betas(21)[-1] < 1
    for eta in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match=f"eta={eta}"):
            sample(model, diffusion, SHAPE, eta=eta)
    with pytest.raises(ValueError, match="-1 to 26, but steps=25"):
        diffusion.add_noise(x, torch.tensor([-1, 26]), x)
    with pytest.raises(ValueError, match="num_steps=26 .*steps=25"):
        next(reverse_process(model, diffusion, x, num_steps=26))
    with pytest.raises(ValueError, match="2 channels.*channels=3"):
        model(x[:, :2], t)
    with pytest.raises(ValueError, match="2 does not divide height=3 and width=6"):
        model(x[:, :, :3], t)
    with pytest.raises(ValueError, match="groups=4 does not divide width=10"):
        UNet(UNetConfig(widths=(8, 10), groups=4))
    with pytest.raises(ValueError, match="heads=5 does not divide width=12, the last"):
        UNet(UNetConfig(widths=(8, 12), groups=4, heads=5))
