"""Eleven convolutions in place of attention: what is trained, and what is stored."""

from course_lib.chapters.ch10_pixels import symmetry_denoiser as runs


def test_two_convolutions_reach_two_pixels_and_more_of_them_or_attention_all() -> None:
    near = runs.reach(runs.MirrorNet(attention=False), row=1, column=1)
    assert near[:, :4].all() and not near[:, 4:].any()
    deep = runs.MirrorNet(attention=False, more_convolutions=runs.CONVOLUTIONS)
    assert runs.reach(deep, 1, 1).all() and runs.reach(runs.trained_mirrors(), 1, 1).all()


def test_a_run_has_an_error_for_each_column() -> None:
    run = runs.convolutions_run(seed=0, lr=1e-3, steps=2)
    assert len(run["errors"]) == runs.WIDTH and all(error > 0.3 for error in run["errors"])
