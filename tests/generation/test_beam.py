"""Beam search: exact where it is wide enough, greedy where it is one wide, seldom worse for being wider."""

import itertools
import math

import pytest
import torch
from helpers.small_training import parts

from course_lib.datasets.batching import pad
from course_lib.generation.beam import BeamSearch, beam_search
from course_lib.generation.decoding import greedy_decode
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.pretrained.gpt2 import to_hugging_face
from course_lib.tasks.translation import translate
from course_lib.text.tokenizers import BOS, EOS

VOCAB, END, LONGEST = 5, 2, 4


class Table:
    """A generator whose logits depend, at random, on everything that was read."""

    def __init__(self, sentences: int, device="cpu"):
        self.read_so_far = [[i] for i in range(sentences)]
        self.device = device

    @staticmethod
    def logits(ids: list[int]) -> torch.Tensor:
        seed = sum((i + 1) * 31**place for place, i in enumerate(ids)) % 2**31
        return 2 * torch.randn(VOCAB, generator=torch.Generator().manual_seed(seed))

    def read(self, ids):
        for row, new in zip(self.read_so_far, ids.tolist(), strict=True):
            row += new
        return torch.stack([self.logits(row) for row in self.read_so_far]).to(self.device)

    def select(self, rows):
        self.read_so_far = [list(self.read_so_far[row]) for row in rows.tolist()]


def every_text(sentence: int, length_power: float) -> list[tuple[float, list[int]]]:
    """All texts of at most LONGEST tokens with their scores, best first, by trying them all."""
    texts = []
    for length in range(LONGEST + 1):
        for ids in itertools.product([i for i in range(VOCAB) if i != END], repeat=length):
            written = [*ids, END] if length < LONGEST else list(ids)
            if not written:
                continue
            read, total = [sentence, 0], 0.0
            for token in written:
                total += Table.logits(read).log_softmax(-1)[token].item()
                read.append(token)
            texts.append((total / len(written) ** length_power, list(ids)))
    return sorted(texts, key=lambda text: -text[0])


@pytest.mark.parametrize("length_power", [0.0, 0.6, 1.0])
def test_wide_enough_it_finds_what_trying_everything_finds(length_power, device):
    found = beam_search(
        Table(3, device),
        torch.zeros(3, 1, dtype=torch.long, device=device),
        END,
        LONGEST,
        width=VOCAB**LONGEST,
        length_power=length_power,
        exact=True,
    )
    for sentence, hypotheses in enumerate(found):
        expected = every_text(sentence, length_power)
        assert [h.ids for h in hypotheses] == [ids for _, ids in expected]
        assert [h.score for h in hypotheses] == pytest.approx([score for score, _ in expected], abs=1e-4)


@pytest.fixture(scope="module")
def model():
    tokenizer, objective, batches = parts(dropout=0.0)
    source, _ = batches.batch_of(range(7))
    return objective.model.eval(), source, tokenizer


def test_four_hypotheses_are_kept_unless_another_width_is_asked_for():
    start = torch.zeros(1, 1, dtype=torch.long)
    found = beam_search(Table(1), start, END, LONGEST)[0]
    assert found == beam_search(Table(1), start, END, LONGEST, width=4)[0] and len(found) == 4


def test_one_wide_it_is_greedy(model):
    model, source, _ = model
    start = torch.full((7, 1), BOS)
    hypotheses = beam_search(model.generator(source), start, EOS, 9, width=1)
    assert [h[0].ids for h in hypotheses] == greedy_decode(model.generator(source), start, EOS, 9)


def test_a_sentence_is_searched_as_if_it_were_alone(model):
    model, source, _ = model
    together = beam_search(model.generator(source), torch.full((7, 1), BOS), EOS, 9, width=3)
    for row, hypotheses in enumerate(together):
        (alone,) = beam_search(
            model.generator(source[row : row + 1]), torch.full((1, 1), BOS), EOS, 9, width=3
        )
        assert [h.ids for h in alone] == [h.ids for h in hypotheses]


def test_log_probabilities_are_those_of_one_pass_over_the_text(model):
    model, source, _ = model
    for row, hypotheses in enumerate(
        beam_search(model.generator(source), torch.full((7, 1), BOS), EOS, 9, width=3)
    ):
        assert len(hypotheses) == 3
        assert [h.score for h in hypotheses] == sorted((h.score for h in hypotheses), reverse=True)
        for h in hypotheses:
            written = h.ids + [EOS] * (len(h.ids) < 9)
            logits = model(source[row : row + 1], torch.tensor([[BOS, *written[:-1]]]))
            expected = logits.log_softmax(-1)[0, range(len(written)), written].sum().item()
            assert h.log_probability == pytest.approx(expected, abs=1e-3)
            assert h.score == pytest.approx(expected / len(written), abs=1e-3)


def test_what_is_found_scores_at_least_what_greedy_finds():
    """Not a theorem for a narrow beam; true for these 200 sentences when it goes on to the end."""
    start = torch.zeros(200, 1, dtype=torch.long)
    narrow = beam_search(Table(200), start, END, LONGEST, width=1, exact=True)
    wide = beam_search(Table(200), start, END, LONGEST, width=3, exact=True)
    better = [w[0].score - n[0].score for w, n in zip(wide, narrow, strict=True)]
    assert sum(better) > 0 and sum(b < -1e-6 for b in better) < 10


def test_end_tokens_take_no_place_of_a_hypothesis():
    """Even where the end is the likeliest token everywhere, `width` different hypotheses stay open."""

    class Ending(Table):
        reads = ()

        def read(self, ids):
            logits = super().read(ids)
            self.reads = [*self.reads, [tuple(row) for row in self.read_so_far]]
            logits[:, END] = logits.amax(dim=-1) + 1
            return logits

    generator = Ending(2)
    beam_search(
        generator, torch.zeros(2, 1, dtype=torch.long), END, LONGEST, width=3, length_power=0.0, exact=True
    )
    beam_search(
        generator_b := Ending(2), torch.zeros(2, 1, dtype=torch.long), END, LONGEST, width=3, length_power=9.0
    )
    for read in (*generator.reads[1:], *generator_b.reads[1:]):
        assert len(read) % 3 == 0 and len(set(read)) == len(read)
    assert len(generator_b.reads) == LONGEST  # with so much in favour of long texts, all are written out


def test_a_search_stops_when_nothing_can_win():
    search = BeamSearch(width=1, end=END, max_tokens=9, length_power=1.0, exact=False)
    search.advance([(-1.0, 0, END), (-3.0, 0, 4)])
    assert search.done() and search.found[0].ids == []
    patient = BeamSearch(width=1, end=END, max_tokens=9, length_power=1.0, exact=True)
    patient.advance([(-1.0, 0, END), (-3.0, 0, 4)])
    assert not patient.done()  # at nine tokens, -3 would be a better mean than -1


@pytest.mark.parametrize("bad", ["width", "max_tokens"])
def test_refusal_names_the_number(bad):
    with pytest.raises(ValueError, match=f"^{bad}=0 is not a whole number of at least 1"):
        beam_search(Table(1), torch.zeros(1, 1, dtype=torch.long), END, **{"max_tokens": 5, bad: 0})


def test_translate_takes_a_width(model):
    model, _, tokenizer = model
    sentences = ["a dog runs", "the old house is red"]
    widest = translate(model, tokenizer, sentences, width=3)
    ids = [pad([[*tokenizer.encode(s), EOS]]) for s in sentences]
    most = model.config.max_tokens - 1
    alone = [
        beam_search(model.generator(i), torch.full((1, 1), BOS), EOS, min(most, 2 * i.shape[1] + 10), width=3)
        for i in ids
    ]
    assert widest == [tokenizer.decode(found[0][0].ids) for found in alone]


@pytest.mark.parametrize(
    ("width", "exact", "length_power"),
    [(1, False, 0.0), (2, False, 0.6), (2, True, -1.0), (4, False, 1.0), (4, True, 0.0), (4, True, 0.6)],
)
def test_hypotheses_are_those_of_transformers(width, exact, length_power, device):
    """Also where a text ends at once, and where an end token is not among the best `width` continuations."""
    start = torch.randint(3, 8, (8, 2), generator=torch.Generator().manual_seed(0)).to(device)
    settings = {"attention_mask": torch.ones_like(start), "do_sample": False, "max_new_tokens": 8}
    settings |= {"eos_token_id": END, "pad_token_id": END, "num_beams": width}
    if width > 1:
        settings |= {"length_penalty": length_power, "early_stopping": "never" if exact else False}
    lengths = set()
    for seed in range(4):
        torch.manual_seed(seed)
        model = GPT(GPTConfig(vocab=8, d_model=16, heads=2, layers=1, max_tokens=12)).to(device).eval()
        for p in model.parameters():
            p.data *= 8
        found = to_hugging_face(model).generate(start, **settings)[:, 2:].tolist()
        expected = [ids[: ids.index(END)] if END in ids else ids for ids in found]
        ours = beam_search(model.generator(), start, END, 8, width, length_power, exact)
        assert [hypotheses[0].ids for hypotheses in ours] == expected
        lengths |= set(map(len, expected))
    assert len(lengths) > 1


def test_one_wide_it_stops_where_greedy_decoding_stops():
    """An end token in second place finishes nothing, whatever the length normalization."""
    start = torch.zeros(300, 1, dtype=torch.long)
    greedy = greedy_decode(Table(300), start, END, LONGEST)
    for length_power in (0.0, 0.5, 1.0, 2.0):
        found = beam_search(Table(300), start, END, LONGEST, width=1, length_power=length_power)
        assert [[h.ids for h in row] for row in found] == [[ids] for ids in greedy]


def test_where_short_texts_score_better_an_exact_search_does_not_stop_early():
    """With a negative power, what is unfinished can do best by ending at once, not at its maximum length."""
    search = BeamSearch(width=1, end=END, max_tokens=9, length_power=-1.0, exact=True)
    search.advance([(-4.0, 0, END), (-1.5, 0, 4)])  # -4; at two tokens -3 could be reached
    assert not search.done()
    search.advance([(-1.75, 0, END)])
    assert (search.found[0].ids, search.found[0].score) == ([4], -3.5)


class LastToken:
    """A generator whose logits depend on the last token alone."""

    def __init__(self, seed):
        self.table = 2 * torch.randn(VOCAB, VOCAB, generator=torch.Generator().manual_seed(seed))

    def read(self, ids):
        return self.table[ids[:, -1]]

    def select(self, rows):
        pass


@pytest.mark.parametrize("length_power", [-2.0, -1.0, -0.5, 0.0, 1.0, 2.0])
def test_an_exact_search_finds_what_one_without_an_end_finds(length_power, monkeypatch):
    start = torch.ones(1, 1, dtype=torch.long)

    def found():
        searches = (beam_search(LastToken(seed), start, END, 8, 2, length_power, True) for seed in range(60))
        return [(h.ids, h.score) for [row] in searches for h in row[:2]]

    stopped = found()
    done = BeamSearch.done

    def patient(search):
        search.width, width = 10**9, search.width  # never enough hypotheses to stop
        try:
            return done(search)
        finally:
            search.width = width

    monkeypatch.setattr(BeamSearch, "done", patient)
    assert found() == stopped


@pytest.mark.parametrize("power", [math.nan, math.inf])
def test_no_length_power_beyond_numbers(power):
    with pytest.raises(ValueError, match=f"length_power={power}"):
        beam_search(Table(1), torch.zeros(1, 1, dtype=torch.long), END, 3, length_power=power)


def test_logits_that_are_not_numbers_give_no_hypothesis():
    generator = LastToken(0)
    generator.table[:] = math.nan
    with pytest.raises(ValueError, match="NaN"):
        beam_search(generator, torch.zeros(1, 1, dtype=torch.long), END, 3)


class ByStep:
    """Probabilities of the tokens END, 3 and 4 after each number of tokens, for each of two hypotheses."""

    def __init__(self, probabilities):
        self.steps = iter(probabilities)

    def read(self, ids):
        logits = torch.full((len(ids), 5), -math.inf)
        logits[:, END:] = torch.tensor(next(self.steps))[: len(ids)].log()
        return logits

    def select(self, rows):
        pass


EASY = [[[0, 0.9, 0.1]], [[1, 0, 0], [0, 0.9, 0.1]], [[0, 0.1, 0.9], [0.6, 0.2, 0.2]], [[1, 0, 0], [1, 0, 0]]]
HARD = [
    [[0, 0.7, 0.3]],
    [[0.25, 0.35, 0.4], [0, 0.1, 0.9]],
    [[0.6, 0.4, 0], [0.01, 0, 0.99]],
    [[0.1, 0.5, 0.4], [1, 0, 0]],
    *[[[1, 0, 0]] * 2] * 2,
]


@pytest.mark.parametrize("length_power", [0.0, 0.6, 1.0, 5.0])
def test_against_the_example_of_fairseq(length_power):
    """Its two sentences: of the second, it stops at two finished hypotheses, although another would win."""

    def found(probabilities, width=2):
        start = torch.full((1, 1), END)
        return [h.ids for h in beam_search(ByStep(probabilities), start, END, 20, width, length_power)[0]]

    assert found(EASY) == [[3], [4, 3, 4]][:: -1 if length_power == 5 else 1]
    assert [found(EASY, width=1), found(HARD, width=1)] == [[[3]], [[3, 4]]]
    theirs = {0.0: (0.168, 3), 0.6: (0.168, 3), 1.0: (0.112, 4), 5.0: (0.112, 4)}[length_power]
    ours = beam_search(ByStep(HARD), torch.full((1, 1), END), END, 20, 2, length_power)[0][0]
    assert ours.score >= math.log(theirs[0]) / theirs[1] ** length_power - 1e-6
    assert (ours.ids == [3, 4]) == (length_power == 0)
