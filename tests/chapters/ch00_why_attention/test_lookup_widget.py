"""The look-up explorer: what it shows is what attention gives, from the mean to the best match alone."""

import html
import math

import pytest
import torch
from matplotlib.figure import Figure

from course_lib.chapters.ch00_why_attention import lookup_explorer
from course_lib.chapters.ch00_why_attention import lookup_widget as lookup

EVERYWHERE = torch.arange(360.0)


def text_of(explorer) -> str:
    return html.unescape(explorer.text.value)


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


def test_a_query_along_a_key_finds_its_value() -> None:
    averages, weights = lookup.look_up(lookup.PLACES, sharpness=1000.0, hard=False)
    assert torch.allclose(averages, lookup.VALUES)
    assert torch.allclose(weights, torch.eye(len(lookup.NAMES)))
    assert torch.equal(lookup.look_up(lookup.PLACES, 1.0, hard=True)[0], lookup.VALUES)


def test_the_limits_are_the_mean_and_the_best_match() -> None:
    soft, _ = lookup.look_up(EVERYWHERE, sharpness=1e-4, hard=False)
    assert torch.allclose(soft, lookup.VALUES.mean().expand(360), atol=1e-3)
    sharp, _ = lookup.look_up(EVERYWHERE, sharpness=1e4, hard=False)
    best, weights = lookup.look_up(EVERYWHERE, sharpness=1.0, hard=True)
    halfway = (sharp - best).abs() > 1e-3  # exactly between two keys they share the weight
    assert halfway.sum() <= len(lookup.NAMES)
    assert torch.equal(weights.sum(dim=-1), torch.ones(360))


def test_the_hard_look_up_does_not_depend_on_the_sharpness() -> None:
    for sharpness in (1e-30, 1e3):
        assert torch.equal(
            lookup.look_up(EVERYWHERE, sharpness, hard=True)[0], lookup.look_up(EVERYWHERE, 1.0, hard=True)[0]
        )


def test_the_text_says_what_was_computed() -> None:
    explorer = lookup_explorer()
    explorer.controls["angle"].value = 100
    explorer.controls["sharpness"].value = 10.0
    averages, weights = lookup.look_up(EVERYWHERE, 10.0, hard=False)
    assert f"Query at 100°, sharpness 10.0: {averages[100]:.2f} is returned" in text_of(explorer)
    assert f"with weight {weights[100, 1]:.2f} on key b, whose value is 8." in text_of(explorer)
    assert f"the answer changes by {averages[101] - averages[100]:+.2g}." in text_of(explorer)


def test_the_hard_text_says_where_it_jumps() -> None:
    explorer = lookup_explorer()
    explorer.controls["hard"].value = True
    best, _ = lookup.look_up(EVERYWHERE, 1.0, hard=True)
    jumps = [angle for angle in range(360) if best[(angle + 1) % 360] != best[angle]]
    assert len(jumps) == len(lookup.NAMES)
    for angle in (jumps[0], jumps[0] + 2):
        explorer.controls["angle"].value = angle
        said = "jumps by +6" if angle in jumps else "nothing changes: there is no gradient"
        assert said in text_of(explorer)


def test_the_query_may_turn_all_the_way() -> None:
    """The last degree before the full turn looks on to the first."""
    explorer = lookup_explorer()
    explorer.controls["angle"].value = explorer.controls["angle"].max
    averages, _ = lookup.look_up(EVERYWHERE, explorer.controls["sharpness"].value, hard=False)
    assert f"by {averages[0] - averages[359]:+.2g}." in text_of(explorer)


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
    ("largest", "change", "said"),
    [
        (0.999, 0.0, "Almost hard lookup"),
        (0.22, 0.0, "barely distinguishes"),
        (0.6, -1.0, "switches within"),
        (0.6, 0.05, "share the weight"),
    ],
)
def test_the_verdict_says_what_is_seen(largest: float, change: float, said: str) -> None:
    assert said in lookup._verdict(largest, change)
