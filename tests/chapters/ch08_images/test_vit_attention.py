"""What a ViT attends to and what it needs: the measurements, and the stored results of three seeds."""

import pytest
import torch

from course_lib.chapters.ch08_images import vit_attention
from course_lib.chapters.ch08_images.digits_vit import digits_model
from course_lib.tasks.image_classification import predict


@pytest.fixture(scope="module")
def probe() -> vit_attention.Probe:
    return vit_attention.Probe(digits_model())


def test_patches_are_ordered_by_score_and_the_candidates_come_first(probe: vit_attention.Probe) -> None:
    order = probe.ordered(probe.rollout, probe.inked)
    inked = probe.inked.gather(1, order)
    assert (inked.sum(dim=1) == probe.inked.sum(dim=1)).all()
    assert (inked[:, :-1] | ~inked[:, 1:]).all()  # no empty patch before one with ink


def test_no_patch_chosen_changes_nothing(probe: vit_attention.Probe) -> None:
    whole, none = probe.correct(predict(probe.model, probe.images)), torch.empty(355, 0, dtype=torch.long)
    assert probe.painted(none, 0) == probe.removed(none, 0) == probe.sizes()["8 pixels"] == whole


def test_the_stored_runs_say_what_the_chapter_says() -> None:
    stored = vit_attention.stored()
    assert [[run["seed"] for run in runs] for runs in stored.values()] == [[0, 1, 2]] * 2
    for run in stored["learned"]:
        painted, removed = run["painted"], run["removed"]
        most, random, least = (painted[name][1] for name in ("most attended", "random", "least attended"))
        assert most < random - 0.1 and random < least - 0.05
        assert removed["most attended"][3] < removed["most ink"][3] - 0.15
        assert removed["random"][3] < removed["least attended"][3] - 0.1
        assert 0.54 < run["equal ink"]["rollout"] < 0.62 and 0.48 < run["equal ink"]["layer 3"] < 0.57
        assert run["neighbors"][0] < 0
        sizes = run["sizes"]
        assert sizes["8 pixels"] - sizes["new positions, old patches"] < 0.025
        assert 0.28 < sizes["8 pixels"] - sizes["old positions, new patches"] < 0.36
        assert 0.08 < sizes["old positions, new patches"] - sizes["16 pixels"] < 0.17
        assert sizes["16 pixels"] < 0.6 and sizes["16 pixels, no positions"] < 0.2
    for run in stored["sinusoidal 2d"]:
        assert run["neighbors"][0] > 0.6
        assert abs(run["removed"]["most attended"][3] - run["removed"]["most ink"][3]) <= 0.065
