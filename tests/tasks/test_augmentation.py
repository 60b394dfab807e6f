"""Augmentations: what they do to pixels and to labels, by hand, each image by its own chance."""

import pytest
import torch

from course_lib.tasks.augmentation import (
    AUGMENTATIONS,
    GRAY,
    Chain,
    CutMix,
    Cutout,
    Mixup,
    RandAugment,
    RandomCrop,
    RandomFlip,
    augmentation,
    reflect,
    sample_beta,
)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def batch_of(images=40, channels=3, height=6, width=5, device="cpu"):
    """Every pixel of the batch is another number, as far as 256 go."""
    count = images * channels * height * width
    pixels = (torch.arange(count) * 7 % 256).to(torch.uint8).view(images, channels, height, width)
    return pixels.to(device), (torch.arange(images) % 4).to(device)


def plain(images=30, side=8, device="cpu"):
    """Images of one colour each, 0, 8, 16, …"""
    pixels = (8 * torch.arange(images)).to(torch.uint8)[:, None, None, None]
    return pixels.expand(images, 3, side, side).contiguous().to(device), torch.arange(images, device=device)


def test_places_outside_are_reflected():
    assert reflect(torch.tensor([[-3, -1, 0, 2, 4, 5, 7]]), 5).tolist() == [[3, 1, 0, 2, 4, 3, 1]]


def test_crops_are_windows_of_the_reflected_images(device):
    pixels, labels = batch_of(device=device)
    moved, same = RandomCrop(2)(pixels, labels)
    assert torch.equal(same, labels) and moved.dtype == torch.uint8
    wide = torch.nn.functional.pad(pixels.float(), (2, 2, 2, 2), mode="reflect").to(torch.uint8)
    seen = set()
    for before, after in zip(wide, moved, strict=True):
        windows = before.unfold(1, 6, 1).unfold(2, 5, 1).permute(1, 2, 0, 3, 4).flatten(0, 1)
        places = [place for place, window in enumerate(windows) if torch.equal(window, after)]
        assert places
        seen.update(places)
    assert len(seen) > 15  # of 25 places; each image has its own


def test_half_of_the_images_are_flipped(device):
    pixels, labels = batch_of(200, device=device)
    flipped, _ = RandomFlip()(pixels, labels)
    turned = [torch.equal(a, b.flip(-1)) for a, b in zip(flipped, pixels, strict=True)]
    kept = [torch.equal(a, b) for a, b in zip(flipped, pixels, strict=True)]
    assert 70 < sum(turned) < 130 and sum(turned) + sum(kept) == 200


def test_cutout_grays_one_square_around_a_random_pixel(device):
    pixels, labels = torch.full((200, 3, 12, 9), 7, dtype=torch.uint8, device=device), torch.arange(200)
    cut, same = Cutout(4)(pixels, labels.to(device))
    assert same.tolist() == labels.tolist() and set(cut.unique().tolist()) == {7, GRAY}
    corners, whole = set(), 0
    for image in cut:
        gray = image == GRAY
        assert torch.equal(gray[0], gray[1]) and torch.equal(gray[0], gray[2])
        (top, left), (bottom, right) = gray[0].nonzero().amin(0), gray[0].nonzero().amax(0)
        height, width = (bottom - top + 1).item(), (right - left + 1).item()
        assert gray[0].sum() == height * width and height <= 4 and width <= 4
        assert height == 4 or top == 0 or bottom == 11  # smaller only at an edge
        assert width == 4 or left == 0 or right == 8
        whole += height * width == 16
        corners.add((top.item(), left.item()))
    assert 50 < whole < 130  # 9 × 6 of 12 × 9 centers, the outer ones only by half a pixel
    assert len(corners) > 30  # each image its own


def test_cutout_is_a_quarter_of_the_height_wide():
    pixels = torch.zeros(100, 1, 32, 32, dtype=torch.uint8)
    cut, _ = Cutout()(pixels, torch.zeros(100, dtype=torch.long))
    assert (cut > 0).flatten(1).sum(1).max() == 64


def test_mixup_mixes_pixels_and_labels_alike(device):
    pixels, labels = plain(device=device)
    mixed, rows = Mixup(classes=30)(pixels, labels)
    assert mixed.dtype == torch.uint8 and rows.shape == (30, 30)
    assert torch.allclose(rows.sum(-1), torch.ones(30, device=device))
    assert ((rows > 0).sum(-1) == 2).all()  # none is mixed with itself
    expected = rows @ pixels[:, 0, 0, 0].float()
    assert (mixed.float() - expected[:, None, None, None]).abs().max() <= 0.51
    shares = rows.gather(1, labels[:, None])[:, 0]
    assert shares.min() < 0.3 and shares.max() > 0.7 and len(shares.unique()) > 20  # each its own


@pytest.mark.parametrize("alpha", [0.8, 1.0, 4.0])
def test_shares_have_the_variance_of_their_beta_distribution(alpha):
    shares = sample_beta(20_000, alpha, torch.device("cpu"))
    assert shares.mean().item() == pytest.approx(0.5, abs=0.01)
    assert shares.var().item() == pytest.approx(1 / (8 * alpha + 4), rel=0.05)


def test_cutmix_shares_labels_as_pixels(device):
    pixels, labels = plain(side=16, device=device)
    mixed, rows = CutMix(classes=30)(pixels, labels)
    assert torch.allclose(rows.sum(-1), torch.ones(30, device=device))
    for i in range(30):
        own = mixed[i, 0] == pixels[i, 0]
        assert rows[i, i].item() == pytest.approx(own.float().mean().item(), abs=1e-5)
        other = (~own).nonzero()
        if len(other):  # a rectangle, all of one other image, in all colours
            (top, left), (bottom, right) = other.amin(0), other.amax(0)
            assert (bottom - top + 1) * (right - left + 1) == len(other)
            assert len(mixed[i][:, ~own].unique()) == 1
    shares = rows.diagonal()
    assert shares.min() < 0.4 and shares.max() > 0.8 and len(shares.unique()) > 15


def test_cutmix_keeps_what_its_beta_says_in_the_mean():
    """Rectangles that reach past an edge are cut, so that a little more than half is kept."""
    pixels, labels = plain(side=16)
    kept = torch.stack([CutMix(classes=30)(pixels, labels)[1].diagonal().mean() for _ in range(40)])
    assert 0.5 < kept.mean().item() < 0.75


def test_mixed_images_can_be_mixed_again():
    pixels, labels = plain()
    _, rows = Chain([Mixup(30), CutMix(30)])(pixels, labels)
    assert torch.allclose(rows.sum(-1), torch.ones(30)) and (rows > 0).sum(-1).max() > 2


def test_randaugment_changes_each_image_by_itself():
    pixel, label = torch.randint(256, (1, 3, 16, 16), dtype=torch.uint8), torch.tensor([2])
    pixels, labels = pixel.repeat(12, 1, 1, 1), label.repeat(12)
    changed, same = RandAugment()(pixels, labels)
    assert changed.dtype == torch.uint8 and changed.shape == pixels.shape and torch.equal(same, labels)
    assert len({image.numpy().tobytes() for image in changed}) > 6
    together, _ = RandAugment(together=12)(pixels, labels)
    assert len({image.numpy().tobytes() for image in together}) == 1


def test_randaugment_reads_grey_images():
    pixels = torch.randint(256, (3, 1, 16, 16), dtype=torch.uint8)
    assert RandAugment()(pixels, torch.zeros(3, dtype=torch.long))[0].shape == (3, 1, 16, 16)


@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_the_same_seed_makes_the_same_images_and_the_batch_stays_as_it_is(name):
    pixels, labels = torch.randint(256, (5, 3, 16, 16), dtype=torch.uint8), torch.arange(5)
    kept = pixels.clone()
    results = []
    for _ in range(2):
        torch.manual_seed(4)
        results.append(augmentation(name, 5)(pixels, labels))
    assert all(map(torch.equal, *results))
    assert torch.equal(pixels, kept) and torch.equal(labels, torch.arange(5))


def test_names():
    chain = augmentation("crop + flip+cutmix", 7)
    assert [type(step) for step in chain.steps] == [RandomCrop, RandomFlip, CutMix]
    assert chain.steps[2].classes == 7 and augmentation("", 7) is None
    with pytest.raises(
        ValueError, match="'rotate' is none of crop, flip, cutout, randaugment, mixup, cutmix"
    ):
        augmentation("crop+rotate", 7)


def test_a_padding_larger_than_the_image_is_refused():
    with pytest.raises(ValueError, match="padding=5 must be less than height=6 and width=5"):
        RandomCrop(5)(*batch_of())
