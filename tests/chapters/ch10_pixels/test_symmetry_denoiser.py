"""Eleven convolutions in place of attention: what is trained, and what is stored."""

from course_lib.chapters.ch10_pixels import symmetry_denoiser as runs


def test_the_convolutions_reach_across_the_image() -> None:
    assert 2 + runs.CONVOLUTIONS >= runs.WIDTH - 1


def test_a_run_has_an_error_for_each_column() -> None:
    run = runs.convolutions_run(seed=0, lr=1e-3, steps=2)
    assert len(run["errors"]) == runs.WIDTH and all(error > 0.3 for error in run["errors"])
