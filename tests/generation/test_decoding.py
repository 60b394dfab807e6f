"""Writing: sampling draws what it should, and compiled decoding writes what plain decoding writes."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from helpers.random_weights import randomized
from helpers.small_training import parts

from course_lib.datasets.batching import pad
from course_lib.generation.beam import beam_search
from course_lib.generation.constraints import suppress
from course_lib.generation.decoding import greedy_decode, sample
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.text.tokenizers import BOS, EOS, PAD

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


@pytest.mark.slow
def test_compiled_decoding_writes_the_same(device):
    """In its own process: the checks of shapes in these tests cannot be compiled."""
    if device.startswith("second"):
        pytest.skip("this system knows no second device outside of the test's own process")
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


WAYS = (greedy_decode, sample, beam_search)


def small_gpt(device="cpu"):
    sizes = {"vocab": 30, "d_model": 16, "heads": 2, "layers": 2, "max_tokens": 24}
    torch.manual_seed(0)
    return randomized(GPT(GPTConfig(**sizes)), device, scale=0.4)


@pytest.mark.parametrize("decode", WAYS)
def test_a_generator_is_for_one_text(decode):
    """A second call would continue the first text; after a reset, it writes what a new generator writes."""
    source = parts()[2].batch_of(range(2))[0]
    translator, start = parts(dropout=0.0)[1].model.eval(), torch.full((2, 1), BOS)
    for generator in (small_gpt().generator(), translator.generator(source)):
        decode(generator, start, EOS, 4)
        with pytest.raises(ValueError, match=f"has read {generator.length} tokens"):
            decode(generator, start, EOS, 4)
    used, new = small_gpt().generator(), small_gpt().generator()
    greedy_decode(used, start, None, 4)
    used.reset()
    assert greedy_decode(used, start, None, 4) == greedy_decode(new, start, None, 4)


@pytest.mark.parametrize("decode", WAYS)
def test_padded_prompts_are_refused(decode, device):
    model, right = small_gpt(device), pad([[5, 6, 7, 8, 9], [5, 6, 7]]).to(device)
    for padded in (right, right.flip(1)):
        with pytest.raises(ValueError, match=f"PAD .id {PAD}"):
            decode(model.generator(), padded, EOS, 4)
    generator = model.generator()
    generator.padding = None  # as in a vocabulary without PAD
    assert len(decode(generator, right, EOS, 4)) == 2
    assert len(decode(model.generator(), right[1:], EOS, 4)) == 1  # one row may end in anything


def test_prompts_of_one_length_are_continued_as_if_alone(device):
    model, start = small_gpt(device), torch.tensor([[5, 6, 7], [8, 9, 10]], device=device)
    alone = [greedy_decode(model.generator(), row[None], None, 6)[0] for row in start]
    assert greedy_decode(model.generator(), start, None, 6) == alone


@pytest.mark.parametrize("kind", [list, tuple, set, torch.tensor])
def test_several_tokens_may_end_a_text(kind):
    """Each text stops at whichever comes first."""
    model, start = small_gpt(), torch.tensor([[i, j] for i in range(5, 15) for j in (3, 8)])
    whole = greedy_decode(model.generator(), start, None, 12)
    ends = [whole[0][3], whole[5][6]]
    cut = [text[: min([n for n, i in enumerate(text) if i in ends], default=12)] for text in whole]
    assert len({len(text) for text in cut}) > 2
    assert greedy_decode(model.generator(), start, kind(ends), 12) == cut
    found = beam_search(model.generator(), start, kind(ends), 12, width=1)
    assert [h[0].ids for h in found] == cut
    assert greedy_decode(model.generator(), start, [], 12) == whole


def test_refusals_of_what_cannot_be_decoded():
    model, start = small_gpt(), torch.tensor([[5, 6]])
    source = parts()[2].batch_of(range(3))[0]
    translator = parts(dropout=0.0)[1].model.eval()
    for decode in WAYS:
        with pytest.raises(ValueError, match="end=-1"):
            decode(model.generator(), start, -1, 4)
        with pytest.raises(ValueError, match=r"\(1, 0\)"):
            decode(model.generator(), start[:, :0], EOS, 4)
        with pytest.raises(ValueError, match="1 rows.* 3 sources"):
            decode(translator.generator(source), torch.full((1, 1), BOS), EOS, 4)
        assert decode(model.generator(), start[:0], EOS, 4) == []
        assert decode(model.generator(), start[:0], EOS, 4, constraints=[suppress(3)]) == []


def test_one_word_vocabularies():
    model, start = GPT(GPTConfig(vocab=1, d_model=8, heads=1, max_tokens=8)).eval(), torch.zeros(2, 1).long()
    assert greedy_decode(model.generator(), start, None, 3) == [[0, 0, 0]] * 2
    assert sample(model.generator(), start, 0, 3, top_k=5, top_p=0.5) == [[], []]
    assert [[h.ids for h in row] for row in beam_search(model.generator(), start, 0, 3)] == [[[]]] * 2
