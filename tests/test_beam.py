"""Beam search: exact where it is wide enough, greedy where it is one wide, seldom worse for being wider."""

import itertools

import pytest
import torch
from small_training import parts

from course_lib.decoding import Search, beam, greedy
from course_lib.tokens import BOS, EOS, pad
from course_lib.translation import translate

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
    found = beam(
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
    tokens, objective, batches = parts(dropout=0.0)
    source, _ = batches.collate(range(7))
    return objective.model.eval(), source, tokens


def test_one_wide_it_is_greedy(model):
    model, source, _ = model
    start = torch.full((7, 1), BOS)
    hypotheses = beam(model.generator(source), start, EOS, 9, width=1)
    assert [h[0].ids for h in hypotheses] == greedy(model.generator(source), start, EOS, 9)


def test_a_sentence_is_searched_as_if_it_were_alone(model):
    model, source, _ = model
    together = beam(model.generator(source), torch.full((7, 1), BOS), EOS, 9, width=3)
    for row, hypotheses in enumerate(together):
        (alone,) = beam(model.generator(source[row : row + 1]), torch.full((1, 1), BOS), EOS, 9, width=3)
        assert [h.ids for h in alone] == [h.ids for h in hypotheses]


def test_log_probabilities_are_those_of_one_pass_over_the_text(model):
    model, source, _ = model
    for row, hypotheses in enumerate(beam(model.generator(source), torch.full((7, 1), BOS), EOS, 9, width=3)):
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
    narrow = beam(Table(200), start, END, LONGEST, width=1, exact=True)
    wide = beam(Table(200), start, END, LONGEST, width=3, exact=True)
    better = [w[0].score - n[0].score for w, n in zip(wide, narrow, strict=True)]
    assert sum(better) > 0 and sum(b < -1e-6 for b in better) < 10


def test_a_search_stops_when_nothing_can_win():
    search = Search(width=1, end=END, max_tokens=9, length_power=1.0, exact=False)
    search.advance([(-1.0, 0, END), (-3.0, 0, 4)])
    assert search.done() and search.found[0].ids == []
    patient = Search(width=1, end=END, max_tokens=9, length_power=1.0, exact=True)
    patient.advance([(-1.0, 0, END), (-3.0, 0, 4)])
    assert not patient.done()  # at nine tokens, -3 would be a better mean than -1


@pytest.mark.parametrize("bad", [{"width": 0}, {"max_tokens": 0}])
def test_refusal_names_both_numbers(bad):
    settings = {"max_tokens": 5, "width": 2} | bad
    with pytest.raises(
        ValueError, match=f"max_tokens={settings['max_tokens']} and width={settings['width']}"
    ):
        beam(Table(1), torch.zeros(1, 1, dtype=torch.long), END, **settings)


def test_translate_takes_a_width(model):
    model, _, tokens = model
    sentences = ["a dog runs", "the old house is red"]
    widest = translate(model, tokens, sentences, width=3)
    ids = [pad([[*tokens.encode(s), EOS]]) for s in sentences]
    most = model.config.max_tokens - 1
    alone = [
        beam(model.generator(i), torch.full((1, 1), BOS), EOS, min(most, 2 * i.shape[1] + 10), width=3)
        for i in ids
    ]
    assert widest == [tokens.decode(found[0][0].ids) for found in alone]
