"""What an alt text says of data holds for the data given: of a run that succeeds, and of one that fails."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest
import torch
from helpers.drawn_text import Draw, drawing

from course_lib.chapters import ch00_why_attention as ch00
from course_lib.chapters import ch01_softmax as ch01
from course_lib.chapters import ch06_translation as ch06
from course_lib.chapters import ch07_language_models as ch07
from course_lib.chapters import ch08_images as ch08
from course_lib.chapters import ch09_classification as ch09
from course_lib.chapters import ch10_pixels as ch10
from course_lib.chapters.ch07_language_models.scaling_figures import Measured
from course_lib.viz.trends import courses, trend

NAN = math.nan
LEVELS = {"bag of words": 0.56}
KEYS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
NAMES = ("red", "green", "blue")
STEPS = torch.arange(101.0)
ORDERS = ("most attended", "least attended")
LENGTHS = (5, 10, 20, 40)
ROOT = [n**-0.5 for n in (10, 100, 1000)]
SWEEP = [(n, d, n**-0.5 + d**-0.5) for n in (10, 100) for d in (10, 1000)]
BACK = torch.eye(8).roll(-3, dims=1)
IMAGES = torch.zeros(2, 1, 4, 4, dtype=torch.uint8)
TEN = 80 * torch.eye(10) + 2


def training(losses: Sequence[float], *accuracies: float) -> None:
    ch08.plot_training(losses, [{"step": 20 * i, "accuracy": a} for i, a in enumerate(accuracies, 1)])


def checkpoints(loss: Sequence[float], bleu: Sequence[float]) -> None:
    ch06.plot_checkpoints(range(100, 501, 100), loss, {"BLEU": [float(b) for b in bleu]})


def losses_at(training: Sequence[float], validation: Sequence[float]) -> None:
    ch08.plot_checkpoint_losses((30, 60, 90), training, validation, 60)


def occlusion(most: float, least: float) -> None:
    runs = {name: [[0.9, end]] for name, end in zip(ORDERS, (most, least), strict=True)}
    ch08.plot_occlusion({"painted": runs}, 0.98)


def decoding(with_cache: Sequence[float], without: Sequence[float]) -> None:
    costs = {"with cache": [float(x) for x in with_cache], "without": [float(x) for x in without]}
    ch06.plot_decoding_cost(LENGTHS, costs, costs)


def path(*points: tuple[float, float]) -> None:
    ch00.plot_query_path(KEYS, torch.tensor(points), NAMES)


def digit_runs(*ends: float) -> None:
    ch10.plot_digit_runs({"with": [((150, 300), (0.15, end)) for end in ends]})


def column_errors(everywhere: float, edge: float, middle: float) -> None:
    local = torch.tensor([edge] * 3 + [middle] * 6 + [edge] * 3)
    errors = {"attention to all pixels": [torch.full((12,), everywhere)], "own pixel only": [local]}
    ch10.plot_column_errors(errors)


def pixel_cost(explicit: int, seconds: float) -> None:
    def cost(power: int) -> dict[int, tuple[float, float]]:
        return {side: (float(side**power), side**seconds) for side in (8, 64)}

    ch10.plot_pixel_cost({"explicit": cost(explicit), "SDPA": cost(2)})


def temperatures(logits: Sequence[float], last: float) -> None:
    t = torch.logspace(-1.5, last, 9)
    weights = (torch.tensor(logits) / t[:, None]).softmax(-1)
    ch01.plot_temperature(t, weights, torch.special.entr(weights).sum(-1))


def sweep(measured: Measured) -> None:
    ch07.plot_sweep(measured, lambda n, d: n**-0.5 + d**-0.5)


def budgets(law: Callable[[float, float], float]) -> None:
    ch07.plot_budgets(law, [1e11, 1e13], [10 ** (3 + i / 4) for i in range(16)])


def reach(**ratios: torch.Tensor) -> None:
    ch00.plot_reach(ratios)


def letters(task: str, answer: str, weights: torch.Tensor) -> None:
    ch00.plot_letter_maps("abcd", {task: (answer, weights)})


def both_axes(over_keys: torch.Tensor) -> None:
    ch01.plot_both_axes(over_keys, torch.eye(3), ["a", "b", "c"])


def ranks(power: float) -> None:
    ch06.plot_ranks({r: round(1e6 * r**-power) for r in (1, 10, 1000, 3000)})


def lengths(by_merges: Mapping[int, float]) -> None:
    ch06.plot_lengths({merges: float(n) for merges, n in by_merges.items()}, 6, 29)


def validation(*curves: Sequence[float]) -> None:
    ch09.plot_validation(dict(zip("ab", curves, strict=False)), 100, LEVELS)


def percent(table: torch.Tensor) -> None:
    ch08.plot_confusion_percent(table, "abcdefghij"[: len(table)])


# By what is drawn: how, what its alt text says, and what it must not say.
CASES: dict[str, tuple[Callable[[], object], str, str]] = {
    "a run learns": (lambda: training([2.3, 1.0] + [0.1] * 20, 0.5, 0.95),
                     "falls from 2.3 to below 0.3.* rises to more than 8 in 10", "stays"),
    "a run diverges": (lambda: training([2.3, 2.3, 2.4], 0.15, 0.1),
                       "loss .* rises from 2.3 to 2.4.* falls from 0.15 to 0.10", "below|8 in 10"),
    "a run stops early": (lambda: training([2.3, 1.5, 0.9], 0.3, 0.6),
                          "from 2.3 to 0.9.* rises from 0.30 to 0.60", "below|8 in 10"),
    "a run breaks": (lambda: training([2.3, NAN, NAN], 0.1, 0.1),
                     "finite at 1 of 3 points.* stays at 0.10", "falls|rises"),
    "a run is not evaluated": (lambda: training([0.1] * 3), "stays at 0.1.* 0 of 0 points", "falls|rises"),
    "confusion on the diagonal": (lambda: ch08.plot_confusion(9 * torch.eye(3).long(), "abc"),
                                  "Nearly all images lie on the diagonal", " of 27"),
    "confusion off the diagonal": (
        lambda: ch08.plot_confusion(torch.tensor([[1, 8, 0], [9, 0, 0], [0, 9, 0]]), "abc"),
        "1 of 27 images lie on the diagonal", "Nearly"),
    "no image": (lambda: ch08.plot_confusion(torch.zeros(3, 3).long(), "abc"), "0 of 0", "Nearly"),
    "errors": (lambda: ch08.plot_errors(IMAGES, ["a", "b"]), "lowest confidence", "Empty"),
    "no errors": (lambda: ch08.plot_errors(IMAGES[:0], []), "no test image is miscl", "confidence"),
    "percent": (lambda: percent(TEN), "; dark on the diagonal. .* 2 percent", " of them"),
    "percent off the diagonal": (lambda: percent(TEN.roll(1, 1)), "diagonal for 0 of them. .* 82 percent of "
                                 "the class a are predicted as b", "dark on the diagonal\\."),
    "percent of a perfect model": (lambda: percent(100 * torch.eye(2)),
                                   "0 percent of the class a are predicted as b", " of them"),
    "percent of no images": (lambda: percent(torch.tensor([[NAN, NAN], [10.0, 90.0]])),
                             "for 1 of them.* 10 percent of the class b are predicted as a", "nan"),
    "overfitting": (lambda: losses_at((1.8, 0.3, 0.01), (2.1, 1.0, 1.4)),
                    "falls toward 0. .* stays far above", "from"),
    "no training": (lambda: losses_at((2.3, 2.3, 2.4), (2.3, 2.3, 2.3)),
                    "On the training images it rises from 2.3 to 2.4. .* stays at 2.3", "toward|far"),
    "no overfitting": (lambda: losses_at((2.0, 0.3, 0.01), (2.0, 0.3, 0.1)),
                       "On the validation images it falls from 2.0 to 0.1", "far"),
    "checkpoints break": (lambda: losses_at((2.0, 0.3, 0.01), (2.0, NAN, 1.0)), "finite at 2 of 3", "far"),
    "more images": (lambda: ch08.plot_by_images({50: [0.4], 200: [0.7]}),
                    "The line through the means rises. Above it, a dashed line at 1", "from"),
    "more images do not help": (lambda: ch08.plot_by_images({50: [1.0], 200: [0.8, 0.6]}),
                                "1 to 2 points .* falls from 1.00 to 0.70. A dashed line", "rises|Above"),
    "occlusion": (lambda: occlusion(0.4, 0.95), "most attended .* falls steeply, .* stays high", "0.95"),
    "attention on nothing": (lambda: occlusion(0.95, 0.4), "most attended stays between 0.90 and 0.98, .* "
                             "least attended falls from 0.98 to 0.40", "steep"),
    "similar to itself": (lambda: ch08.plot_similarities({
        "learned": torch.eye(4).view(2, 2, 2, 2)}), "Each position is most similar to itself", " of 4"),
    "similar to others": (lambda: ch08.plot_similarities({
        "learned": torch.eye(4)[[0, 2, 1, 3]].view(2, 2, 2, 2)}), "2 of 4 positions are each most", "Each p"),
    "heads like even ones": (lambda: ch08.plot_distances(torch.full((3, 4), 3.9), 4.0),
                             "near a dashed line", "between"),
    "heads that look nearby": (lambda: ch08.plot_distances(torch.tensor([[0.5, 3, 3, 3.9]]), 4.0),
                               "between 0.5 and 3.9 pixels, with a dashed line at 4.0", "near"),
    "validation": (lambda: validation([0.6, 0.9], [0.5, 0.8]), "The curves rise above the line", "from"),
    "one curve below the line": (lambda: validation([0.6, 0.9], [0.55, 0.5]),
                                 "a rises from 0.60 to 0.90; b falls from 0.55 to 0.50; bag of words .* 0.56",
                                 "above the line"),
    "decoding": (lambda: decoding((1, 2, 4, 8), (1, 3, 12, 50)),
                 "With the cache it rises nearly straight; without, it bends upward", "from"),
    "a cache that does not help": (lambda: decoding((1, 3, 12, 50), (1, 2, 4, 8)),
                                   "with cache rises from 1 to 50; Million .* without rises from 1 to 8",
                                   "straight|several"),
    "a constant cost": (lambda: decoding((1, 1, 1, 1), (1, 1, 1, 1)), "stays at 1", "straight|several"),
    "a head that looks back": (lambda: ch07.plot_head_maps({"2.1": BACK}), "mostly 3 pos", "at most"),
    "a head that looks everywhere": (
        lambda: ch07.plot_head_maps({"2.1": torch.full((8, 8), 1 / 8)}), "at most 0.12", "mostly"),
    "pixels": (lambda: pixel_cost(4, 2.0), "explicit formula is the steeper.* both lines are steep", "-f"),
    "a memory that grows alike": (lambda: pixel_cost(2, 2.0), "explicit grows 64-fold, SDPA .* 64-", "steep"),
    "constant times": (lambda: pixel_cost(4, 0.0), "Time: explicit grows 1-fold", "steep"),
    "digits": (lambda: digit_runs(0.1, 0.11), "2 seeds .* all curves fall together", "from"),
    "one digit run fails": (lambda: digit_runs(0.1, 0.9), "seed 0 falls from 0.15 to 0.10; .* seed 1 rises "
                            "from 0.15 to 0.90", "together"),
    "one digit run breaks": (lambda: digit_runs(0.1, NAN), "seed 1 is finite at 1 of 2 points", "together"),
    "columns": (lambda: column_errors(0.34, 0.5, 0.34), "near 1/3 in every .* only toward", "from"),
    "columns alike": (lambda: column_errors(0.5, 0.5, 0.5), "all pixels from 0.50 to 0.50; own", "in every"),
    "columns break": (lambda: column_errors(0.34, NAN, 0.34), "own pixel only from nan", "in every"),
    "ranks": (lambda: ranks(0.8), "above it for the first thousands of ranks, and fall to 1,6", "are"),
    "steep ranks": (lambda: ranks(1.5), "are above it at 0 ranks, and fall to 6 at rank 3,000", "thousands"),
    "merges": (lambda: lengths({0: 30, 100: 20, 300: 10}), "30 without any, 10 after 300", "30 after"),
    "no count without merges": (lambda: lengths({100: 20, 300: 10}), "20 after 100, 10 after 300", "without"),
    "gradients": (
        lambda: reach(GRU=0.6**STEPS, attention=torch.cat([torch.ones(1), torch.full((100,), 0.15)])),
        "The GRU falls along a straight line, below 1e-9 at 50 steps. Attention is flat after the first",
        "slowly"),
    "a GRU that keeps": (lambda: reach(GRU=0.96**STEPS), "The GRU falls slowly", "below|ttention|straight"),
    "an attention that fades": (lambda: reach(attention=0.5**STEPS.clamp(max=9)),
                                "Attention goes from 1e.00 to 2e-03 at 100 steps", "flat|GRU"),
    "a gradient that breaks": (lambda: reach(GRU=NAN * STEPS), "to nan at 100 steps", "falls|flat"),
    "a query that learns": (lambda: path((0.8, 0.05), (0.1, 0.8), (0.01, 1.3)),
                            "near the red key and moves step by step up and past the green", "nearest"),
    "a query that turns": (lambda: path((0.1, 1.2), (-0.4, 0.4), (-0.8, 0.1)),
                           "near the green key and ends nearest to the blue", "red key|step by step"),
    "a query that breaks": (lambda: path((0.8, 0.0), (NAN, NAN)), "not finite", "red key|step by step"),
    "letters in the mirror": (lambda: letters("reverse", "dcba", torch.eye(4).flip(0)),
                              "Reverse: nearly all of the weight is on the mirror diagonal", "left of"),
    "letters shifted": (lambda: letters("shift", "dabc", 0.6 * torch.eye(4).roll(1, 0) + 0.1),
                        "Shift: most of the weight is on the diagonal one place left", "mirror|nearly"),
    "letters copied faintly": (lambda: letters("copy", "abcd", torch.full((4, 4), 0.2) + 0.2 * torch.eye(4)),
                               "Copy: the largest weight is on the main diagonal", "mirror|nearly|most"),
    "letters without a pattern": (lambda: letters("sort", "abcd", torch.eye(4)[[0, 0, 1, 2]]),
                                  "Sort: the largest weights lie on no diagonal", "mirror|nearly"),
    "a power law": (lambda: ch07.plot_power_law((10, 100, 1000), ROOT, 1, 0.5),
                    "3 points fall from 0.3 to 0.0, near a straight line", "up to"),
    "no power law": (lambda: ch07.plot_power_law((10, 100, 1000), [1.0, 2.0, 3.0], 1, 0.01),
                     "points rise from 1.0 to 3.0, up to 69% from a straight line", "fall|near"),
    "a sweep": (lambda: sweep(SWEEP), "The loss falls with more tokens, .* pass near the points", " of them"),
    "a sweep that fails": (lambda: sweep([*SWEEP[:3], (100, 1000, 2.0)]),
                           "falls with more tokens for 1 of them, .* up to 93% from the points", "near"),
    "budgets": (lambda: budgets(lambda n, d: n**-0.4 + d**-0.4), "Each falls and then rises; .*: .*e.05 for",
                "Lowest points"),
    "size never helps": (lambda: budgets(lambda n, d: 1 + n * 1e-9), ": 1e.03 for 1e.11 FLOPs; 1e.03",
                         "rises|more compute"),
    "checkpoints": (lambda: checkpoints((4.4, 2.6, 1.8, 1.4, 1.2), (0, 9, 24, 31, 36)),
                    "falls fast, then slowly. .* start near 0, and rise most after", "from 4|BLEU rises"),
    "checkpoints that get worse": (lambda: checkpoints((2.0, 2.5, 3.0, 3.5, 4.0), (30, 20, 10, 5, 0)),
                                   "it rises from 2.0 to 4.0. .* BLEU falls from 30.0 to 0.0", "slow|near 0"),
    "BLEU that rises at once": (lambda: checkpoints((4.4, 2.6, 1.8, 1.4, 1.2), (0, 35, 36, 36, 36)),
                                "BLEU rises from 0.0 to 36.0", "rise most after"),
    "temperatures": (lambda: temperatures((0, 1, 2), 1.5), "all 3 weights approach 1/3", "largest"),
    "equal logits": (lambda: temperatures((0, 0, 0), 1.5), "T = 32: largest weight 0.33, entropy 1.1", "one"),
    "no high temperature": (lambda: temperatures((0, 1, 2), -0.5), "T = 0.32: largest weight 0.9", "high T"),
    "rows that sum to 1": (lambda: both_axes(torch.full((3, 3), 1 / 3)), "every row sums to 1.", "Left.*0.3"),
    "rows that do not": (lambda: both_axes(torch.eye(3) / 2), "Left, .* the rows sum to 0.5, 0.5", "every"),
    "random walks": (lambda: ch01.plot_random_walks(torch.tensor([[1.0, -2, 4], [-1, 2, -1]])),
                     "random walks that fan out from 0. About 5 in 10", "walks\\."),
    "walks that return": (lambda: ch01.plot_random_walks(torch.tensor([[3.0, 1, 0], [-3, -1, 0]])),
                          "random walks. About 10 in 10", "fan out"),
}  # fmt: skip
DRAWN = {name: (draw, said) for name, (draw, said, _) in CASES.items()}


@pytest.fixture
def draw() -> Iterator[Draw]:
    with drawing(DRAWN) as by_name:
        yield by_name


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")  # of axes for NaN alone
@pytest.mark.parametrize("name", CASES)
def test_the_alt_text_says_what_the_data_show_and_nothing_else(name: str, draw: Draw) -> None:
    _, said, unsaid = CASES[name]
    alt = " ".join(draw(name)[1].split())
    assert re.search(said, alt), alt
    assert not re.search(unsaid, alt), alt


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([2.3, 1.0, 0.1], "falls from 2.3 to 0.1"),
        ([1, 2, 3], "rises from 1.0 to 3.0"),
        ([2.3, 2.3, 2.4], "rises from 2.3 to 2.4"),
        ([2.0, 0.1, 5.0, 2.2], "stays between 0.1 and 5.0, and ends at 2.2"),
        ([2.31, 2.33, 2.3], "stays at 2.3"),
        ([2.3], "stays at 2.3"),
        ([2.3, math.inf, NAN], "is finite at 1 of 3 points"),
        ([], "is finite at 0 of 0 points"),
    ],
)
def test_the_trend_of_a_curve(values: Sequence[float], said: str) -> None:
    assert trend(values) == said
    assert courses({"loss": values}) == f"loss {said}."


def test_the_trend_of_several_points() -> None:
    assert trend([2.0, 1.0], digits=0, plural=True) == "fall from 2 to 1"
