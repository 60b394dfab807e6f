"""Writing: sampling draws what it should, and compiled decoding writes what plain decoding writes."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from helpers.small_training import parts

from course_lib.generation.decoding import greedy_decode, sample
from course_lib.text.tokenizers import BOS, EOS

VOCAB = 6


class OneDistribution:
    """A generator that offers the same logits whatever it has read."""

    def __init__(self, logits):
        self.logits, self.rows = logits, None

    def read(self, ids):
        return self.logits.expand(len(ids), VOCAB)

    def select(self, rows):
        self.rows = rows.tolist()


def test_sampling_follows_the_probabilities(device):
    """20,000 draws: shares within four standard deviations, a bound that one run in 3,000 would break."""
    p = torch.tensor([0.05, 0.1, 0.15, 0.2, 0.5, 0.0], device=device)
    start = torch.zeros(2000, 1, dtype=torch.long, device=device)
    rng = torch.Generator(device).manual_seed(0)
    written = torch.tensor(sample(OneDistribution(p.log()), start, None, 10, rng=rng))
    assert written.shape == (2000, 10)
    share = written.flatten().bincount(minlength=VOCAB) / 20_000
    assert ((share - p.cpu()).abs() <= 4 * (p * (1 - p) / 20_000).sqrt().cpu()).all()


def test_the_same_seed_writes_the_same():
    start, logits = torch.zeros(3, 1, dtype=torch.long), torch.linspace(0, 1, VOCAB)
    texts = [
        sample(OneDistribution(logits), start, None, 12, rng=torch.Generator().manual_seed(seed))
        for seed in (4, 4, 5)
    ]
    assert texts[0] == texts[1] != texts[2]


def test_the_coldest_sampling_is_greedy():
    _, objective, batches = parts(dropout=0.0)
    source, _ = batches.batch_of(range(7))
    model, start = objective.model.eval(), torch.full((7, 1), BOS)
    cold = sample(model.generator(source), start, EOS, 9, temperature=0.0)
    assert cold == greedy_decode(model.generator(source), start, EOS, 9)


def test_what_has_ended_leaves_the_batch_or_stays_unread(device):
    """Rows that end keep no later token, whether the batch shrinks or keeps its shape."""
    for fixed in (False, True):
        writing = OneDistribution(torch.tensor([0.0, 0, 0, 0, 3, 0], device=device))
        writing.static_batch = fixed
        start = torch.zeros(50, 1, dtype=torch.long, device=device)
        written = sample(writing, start, 4, 8, rng=torch.Generator(device).manual_seed(0))
        assert all(4 not in text for text in written) and {len(text) for text in written} >= {0, 1}
        assert (writing.rows is None) == fixed


def test_without_an_end_all_is_written():
    written = greedy_decode(
        OneDistribution(torch.eye(VOCAB)[EOS]), torch.zeros(2, 1, dtype=torch.long), None, 5
    )
    assert written == [[EOS] * 5] * 2
    with pytest.raises(ValueError, match="max_tokens=0"):
        sample(OneDistribution(torch.zeros(VOCAB)), torch.zeros(2, 1, dtype=torch.long), None, 0)


COMPILED = """
import functools, sys
import torch
from helpers.small_training import parts
from course_lib.generation.beam import beam_search
from course_lib.generation.decoding import greedy_decode
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.text.tokenizers import BOS, EOS

torch.set_num_threads(1)
torch.compile = functools.partial(torch.compile, backend="aot_eager")  # needs no C++ compiler
device = torch.device(sys.argv[1])
graphs = []
for positions in ("sinusoidal", "rotary"):
    _, objective, batches = parts(dropout=0.0, positions=positions)
    source = batches.batch_of(range(5))[0].to(device)
    model, start = objective.model.to(device).eval(), torch.full((5, 1), BOS, device=device)
    plain = greedy_decode(model.generator(source), start, EOS, 9)
    assert greedy_decode(model.generator(source, max_tokens=12, compiled=True), start, EOS, 9) == plain
    graphs.append(torch._dynamo.utils.counters["stats"]["unique_graphs"])
    end = plain[0][3]  # sentences end early: the batch keeps its shape, the texts do not
    ended = greedy_decode(model.generator(source, max_tokens=12, compiled=True), start, end, 9)
    assert ended == greedy_decode(model.generator(source), start, end, 9) and len(ended[0]) <= 3
    found = beam_search(model.generator(source, max_tokens=12, compiled=True), start, EOS, 4, width=2)
    expected = beam_search(model.generator(source), start, EOS, 4, width=2)
    assert [[h.ids for h in row] for row in found] == [[h.ids for h in row] for row in expected]
torch.manual_seed(0)
sizes = {"vocab": 11, "d_model": 12, "heads": 2, "layers": 2, "max_tokens": 9}
gpt = GPT(GPTConfig(**sizes, positions="rotary")).to(device).eval()
start = torch.tensor([[3, 1], [4, 7]], device=device)
compiled, eager = (greedy_decode(gpt.generator(compiled=c), start, None, 8) for c in (True, False))
assert compiled == eager
assert graphs[0] == 1, graphs  # one piece of compiled code for all lengths
"""


def test_compiled_decoding_writes_the_same(device):
    """In its own process: the checks of shapes in these tests cannot be compiled."""
    command = [sys.executable, "-c", COMPILED, str(device)]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_compiled_decoding_refuses_more_than_its_max_tokens():
    _, objective, batches = parts(dropout=0.0)
    source = batches.batch_of(range(2))[0]
    with pytest.raises(ValueError, match=r"3 \+ 1 tokens .*max_tokens=3"):
        greedy_decode(
            objective.model.eval().generator(source, max_tokens=3), torch.full((2, 1), BOS), None, 4
        )
