"""The figures of chapters 6 and 6b: legible words that do not overlap, the right numbers, and alt text."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
import torch
import torch.nn.functional as F
from helpers.drawn_text import Draw, figure_tests

from course_lib import viz
from course_lib.chapters.ch06_translation import decoding_figures as drawn
from course_lib.generation import beam_search

TEXTS = {("es", "frío", "EOS"): 0.2, ("hace", "frío", "EOS"): 0.36, ("es", "un", "frío", "EOS"): 0.15,
         ("hace", "un", "frío", "EOS"): 0.04, ("es", "fría", "EOS"): 0.15, ("frío", "EOS"): 0.1}  # fmt: skip
TRUNCATED = {"all": torch.tensor([0.5, 0.3, 0.2]), "top-k, k = 2": torch.tensor([0.625, 0.375, 0.0])}
LOSSES = {"with the shift": [8.0, 6.0] * 10 + [3.0] * 20, "without": [8.0, 2.0] * 10 + [0.5] * 20}
WEIGHTS = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]])
COST = {"with cache": [1.0, 2.0], "without": [1.0, 5.0]}
FIGURES: dict[str, tuple[Callable[[], None], str]] = {  # how each is drawn, and what its alt text says
    "cache": (drawn.diagram_cache, "10 in all.* 4 in all"),
    "tree": (
        lambda: drawn.plot_search_tree(TEXTS, ("es", "frío", "EOS"), ("hace", "frío", "EOS")),
        "6 texts.*es frío EOS, with probability 0.20.*hace frío EOS, with 0.36",
    ),
    "beam": (
        lambda: drawn.plot_beam(TEXTS, width=2),
        "Step 1 keeps .* es 0.50, hace 0.40; drops .* frío 0.10. "
        "Step 2 keeps .* hace frío 0.36, es frío 0.20; "
        "drops .* The result is hace frío EOS.",
    ),
    "cost": (lambda: drawn.plot_decoding_cost((5, 10), COST, COST), "counted and measured"),
    "losses": (lambda: drawn.plot_losses(LOSSES, mean_of=20, alt="Both fall."), "^Both fall.$"),
    "cross-attention": (
        lambda: drawn.plot_cross_attention(WEIGHTS, ["el", "gato"], ["the", "big", "cat"], alt="Two rows."),
        "^Two rows.$",
    ),
    "truncation": (lambda: viz.plot_truncation(("a", "b", "c"), TRUNCATED), "k = 2: 0.62, 0.38, 0.00"),
}


draw, test_each_figure = figure_tests(FIGURES)


def test_losses_are_averaged(draw: Draw) -> None:
    (axes,) = draw("losses")[0].axes
    assert [list(line.get_ydata()) for line in axes.lines] == [[7.0, 3.0], [5.0, 0.5]]
    assert [list(line.get_xdata()) for line in axes.lines] == [[20, 40]] * 2
    assert [text.get_text() for text in axes.get_legend().get_texts()] == list(LOSSES)


def test_cross_attention_has_a_row_for_each_predicted_token(draw: Draw) -> None:
    axes = draw("cross-attention")[0].axes[0]
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("predicts", "attends to")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["el", "gato"]


def test_the_smoothed_targets_drawn_are_those_of_cross_entropy() -> None:
    root = ElementTree.parse(Path(drawn.__file__).parent / "pictures" / "label_smoothing.svg").getroot()
    words = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    numbers = torch.tensor([float(word) for word in words if re.fullmatch(r"\d[\d.]*", word)])
    logits = torch.randn(5, 6, generator=torch.Generator().manual_seed(0))
    one_hot, smoothed = numbers.view(2, 5, 6)
    for targets, epsilon in ((one_hot, 0.0), (smoothed, 0.3)):
        expected = F.cross_entropy(logits, one_hot.argmax(dim=1), label_smoothing=epsilon)
        assert F.cross_entropy(logits, targets) == pytest.approx(expected.item())


def test_the_tokens_of_the_tree_have_their_conditional_probabilities(draw: Draw) -> None:
    words = [text.get_text() for text in draw("tree")[0].axes[0].texts]
    assert {"es 0.50", "hace 0.40", "frío 0.10", "frío 0.90", "un 0.30", "EOS 1.00", "= 0.36"} <= set(words)


@pytest.mark.parametrize("width", [1, 2, 3, 20])
def test_the_beam_drawn_is_the_library_s(width: int) -> None:
    words = ("BOS", "EOS", "es", "hace", "frío", "un", "fría")
    mass = drawn.prefix_probabilities(TEXTS)
    table = torch.full((7, 7), -torch.inf)  # the next token depends on the last one alone
    for prefix, p in mass.items():
        if prefix:
            last = words.index(prefix[-2]) if len(prefix) > 1 else 0
            table[last, words.index(prefix[-1])] = math.log(p / mass[prefix[:-1]])
    toy = SimpleNamespace(read=lambda ids: table[ids[:, -1]], select=lambda rows: None)
    found = beam_search(toy, torch.tensor([[0]]), 1, 5, width=width, length_power=0.0)[0]
    finished = {text for best, _ in drawn.beam_steps(TEXTS, width) for text in best if text in TEXTS}
    assert tuple(words[i] for i in found[0].ids) + ("EOS",) == max(finished, key=TEXTS.__getitem__)


def test_a_finished_hypothesis_takes_up_a_place_in_the_beam() -> None:
    texts = {("EOS",): 0.5, ("a", "EOS"): 0.3, ("a", "b", "EOS"): 0.1, ("c", "EOS"): 0.1}
    kept = [best for best, _ in drawn.beam_steps(texts, width=2)]
    assert kept == [[("EOS",), ("a",)], [("a", "EOS")]]


def test_a_beam_keeps_at_least_one_hypothesis() -> None:
    with pytest.raises(ValueError, match="width=0"):
        drawn.plot_beam(TEXTS, width=0)
