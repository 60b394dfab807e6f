"""The look-up explorer: what it shows is what attention gives, from the mean to the best match alone."""

import math

import pytest
import torch
from matplotlib.figure import Figure

from course_lib.chapters.ch00_why_attention import lookup_explorer
from course_lib.chapters.ch00_why_attention import lookup_widget as lookup

EVERYWHERE = torch.arange(360.0)


def test_the_answers_are_weighted_sums_of_the_values() -> None:
    """Against the formula written out: scores are length times cosine, divided by √2."""
    angles = torch.tensor([0.0, 17.0, 250.0])
    averages, weights = lookup.look_up(angles, sharpness=3.0, hard=False)
    for angle, average, row in zip(angles.tolist(), averages.tolist(), weights.tolist(), strict=True):
        scores = [
            3 * math.cos(math.radians(angle - place)) / math.sqrt(2) for place in lookup.PLACES.tolist()
        ]
        exps = [math.exp(score) for score in scores]
        shares = [exp / sum(exps) for exp in exps]
        assert row == pytest.approx(shares, abs=1e-5)
        total = sum(s * value for s, value in zip(shares, lookup.VALUES.tolist(), strict=True))
        assert average == pytest.approx(total, abs=1e-4)


def test_the_limits_are_the_mean_and_the_best_match() -> None:
    soft, _ = lookup.look_up(EVERYWHERE, sharpness=1e-4, hard=False)
    assert torch.allclose(soft, lookup.VALUES.mean().expand(360), atol=1e-3)
    sharp, _ = lookup.look_up(EVERYWHERE, sharpness=1e4, hard=False)
    best, weights = lookup.look_up(EVERYWHERE, sharpness=1.0, hard=True)
    halfway = (sharp - best).abs() > 1e-3  # exactly between two keys they share the weight
    assert halfway.sum() <= len(lookup.NAMES)
    assert torch.equal(weights.sum(dim=-1), torch.ones(360))
    assert torch.equal(lookup.look_up(lookup.PLACES, 1.0, hard=True)[0], lookup.VALUES)
    assert torch.equal(lookup.look_up(EVERYWHERE, 1e-30, hard=True)[0], best)  # whatever the sharpness


def test_the_text_says_what_was_computed() -> None:
    explorer = lookup_explorer()
    explorer.controls["angle"].value = 100
    explorer.controls["sharpness"].value = 10.0
    averages, weights = lookup.look_up(EVERYWHERE, 10.0, hard=False)
    assert f"Query at 100°, sharpness 10.0: {averages[100]:.2f} is returned" in explorer.line
    assert f"with weight {weights[100, 1]:.2f} on key b, whose value is 8." in explorer.line
    assert f"the answer changes by {averages[101] - averages[100]:+.2g}." in explorer.line


def test_the_hard_text_says_where_it_jumps() -> None:
    explorer = lookup_explorer()
    explorer.controls["hard"].value = True
    best, _ = lookup.look_up(EVERYWHERE, 1.0, hard=True)
    jumps = [angle for angle in range(360) if best[(angle + 1) % 360] != best[angle]]
    assert len(jumps) == len(lookup.NAMES)
    for angle in (jumps[0], jumps[0] + 2):
        explorer.controls["angle"].value = angle
        said = "jumps by +6" if angle in jumps else "nothing changes: there is no gradient"
        assert said in explorer.line


def test_the_query_may_turn_all_the_way() -> None:
    """The last degree before the full turn looks on to the first."""
    explorer = lookup_explorer()
    explorer.controls["angle"].value = explorer.controls["angle"].max
    averages, _ = lookup.look_up(EVERYWHERE, explorer.controls["sharpness"].value, hard=False)
    assert f"by {averages[0] - averages[359]:+.2g}." in explorer.line


def test_the_thickest_line_leads_to_the_key_with_most_weight() -> None:
    figure = Figure(layout="none")
    update = lookup.lookup_picture(figure)
    update(angle=151, sharpness=1000.0, hard=False)
    lines = [line for line in figure.axes[0].lines if line.get_animated() and len(line.get_xdata()) == 2]
    widths = [line.get_linewidth() for line in lines[: len(lookup.NAMES)]]
    assert widths.index(max(widths)) == lookup.NAMES.index("c")
    assert max(widths) == pytest.approx(lookup.THICKEST)
    words = [text.get_text() for text in figure.axes[0].texts]
    assert words == ["a: 0.00", "b: 0.00", "c: 1.00", "d: 0.00", "e: 0.00"]


@pytest.mark.parametrize(
    ("angle", "sharpness", "said"),
    [
        (85, 1000.0, "Almost hard lookup"),
        (85, 0.1, "barely distinguishes"),
        (52, 60.0, "switches within"),
        (60, 4.0, "share the weight"),
    ],
)
def test_the_verdict_says_what_is_seen(angle: int, sharpness: float, said: str) -> None:
    assert said in lookup.lookup_picture(Figure())(angle, sharpness, hard=False)
