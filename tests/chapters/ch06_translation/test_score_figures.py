"""The figures of chapter 6c: legible, the right matches and heights, and alt text."""

from collections.abc import Callable

import pytest
import torch
from helpers.drawn_text import Draw, figure_tests

from course_lib.chapters.ch06_translation import score_figures
from course_lib.chapters.ch06_translation.score_figures import match_ngrams
from course_lib.text.bleu import matches

CANDIDATE, REFERENCE = "the girl reads the letter today".split(), "today the girl reads the letter".split()
REPEATED = "the the the the the the".split()
DIFFERENCES = {"beam": torch.linspace(-1, 3, 200), "seed": torch.linspace(-2, 2, 200)}
ERRORS = {"step 300": {"another word": 9, "words missing": 3}, "step 600": {"another word": 4}}
SEEDS = {"200": (30.0, 32.0, 34.0), "1,000": (31.0, 35.0, 33.0)}
FIGURES: dict[str, tuple[Callable[[], None], str]] = {  # how each is drawn, and what its alt text says
    "bigrams": (
        lambda: score_figures.diagram_matches(CANDIDATE, REFERENCE, 2),
        r"The 2-grams .* \(5\) above .* Lines join 4 of the candidate's to equal ones above\.",
    ),
    "clipping": (
        lambda: score_figures.diagram_matches(REPEATED, REFERENCE, 1),
        "Lines join 2 .*; 4 more are clipped",
    ),
    "brevity": (score_figures.plot_brevity, "0.37 at one half"),
    "checkpoints": (
        lambda: score_figures.plot_checkpoints(
            (100, 200, 300), (4.0, 2.0, 1.0), {"BLEU": (0.0, 5.0, 30.0), "chrF": (9.0, 20.0, 50.0)}
        ),
        "from step 100 to 300.*BLEU and chrF",
    ),
    "errors": (lambda: score_figures.plot_error_kinds(ERRORS, 50), "of 50 sentences .* step 300, step 600"),
    "seeds": (
        lambda: score_figures.plot_seed_scores(SEEDS),
        "3 runs .* 200 from 30 to 34; .* 1 of the 3 pairs",
    ),
    "differences": (
        lambda: score_figures.plot_differences(DIFFERENCES, alt="Two histograms."),
        "Two histograms",
    ),
}


draw, test_each_figure = figure_tests(FIGURES)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("candidate", [CANDIDATE, REPEATED, REFERENCE, REFERENCE[:2]])
def test_the_matches_drawn_are_those_that_count(candidate: list[str], n: int) -> None:
    found = match_ngrams(candidate, REFERENCE, n)
    partners = [partner for partner in found if isinstance(partner, int)]
    assert len(partners) == len(set(partners)) == matches(candidate, REFERENCE, n)
    assert all(
        candidate[i : i + n] == REFERENCE[p : p + n] for i, p in enumerate(found) if isinstance(p, int)
    )


def test_the_third_copy_of_a_word_is_clipped_and_a_foreign_word_unmatched() -> None:
    assert match_ngrams(["the", "the", "the", "dog"], REFERENCE, 1) == [1, 4, "clipped", "unmatched"]


def test_the_bars_are_the_counts_and_a_missing_kind_is_zero(draw: Draw) -> None:
    figure, _ = draw("errors")
    assert [bar.get_width() for bar in figure.axes[0].patches] == [9, 3, 4, 0]


def test_each_histogram_has_all_rounds_and_shades_their_middle(draw: Draw) -> None:
    figure, _ = draw("differences")
    for axes, (name, values) in zip(figure.axes, DIFFERENCES.items(), strict=True):
        *bars, shade = axes.patches
        assert axes.get_title() == name and sum(bar.get_height() for bar in bars) == len(values)
        inside = (values >= shade.get_x()) & (values <= shade.get_x() + shade.get_width())
        assert inside.float().mean() == pytest.approx(0.95, abs=0.01)


def test_each_run_has_a_dot_per_test_set_and_a_line_between_them(draw: Draw) -> None:
    lines = [line.get_xdata() for line in draw("seeds")[0].axes[0].lines]
    assert [tuple(line) for line in lines] == [*zip(*SEEDS.values(), strict=True), *SEEDS.values()]
    with pytest.raises(ValueError, match="shorter"):
        score_figures.plot_seed_scores({"200": (1.0, 2.0), "1,000": (1.0,)})
