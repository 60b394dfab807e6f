"""The benchmark of the lectures' systems: all of one size, all asked for the same."""

from dataclasses import replace

import pytest
import torch

from course_lib.benchmarks import d2l_rival, lecture_systems, systems
from course_lib.benchmarks.lecture_systems import D2L, EINSUM, FIXED, LATER, OLD, TINY
from course_lib.benchmarks.timing import Plan
from course_lib.benchmarks.training import OURS, TORCH
from course_lib.lectures.dlstudio import EOS as THEIR_EOS
from course_lib.lectures.dlstudio import SOS as THEIR_SOS
from course_lib.text.tokenizers import BOS, EOS, PAD

SHORT = Plan(seconds=0.0, least=2, warm_up=1, tiny=True)
NAMES = [OURS, TORCH, EINSUM, D2L, OLD, LATER, FIXED]


@pytest.fixture(scope="module")
def found():
    return lecture_systems.all_systems(TINY, "cpu")


def one_of(found, name):
    if name not in found:
        pytest.skip(d2l_rival.absent())
    return found[name]


def test_sentences_are_full():
    source, target = lecture_systems.full_batch(3, TINY, 0, "cpu")
    for ids in (source, target):
        assert ids.shape == (3, TINY.max_tokens) and not (ids == PAD).any()
        assert (ids[:, 0] == BOS).all() and (ids[:, -1] == EOS).all()
        assert ids[:, 1:-1].min() > EOS and ids.max() < TINY.vocab
    assert (BOS - 1, EOS - 1) == (THEIR_SOS, THEIR_EOS)
    assert not torch.equal(source, target)


@pytest.mark.parametrize("name", NAMES)
def test_every_system_predicts_and_writes_as_many_words(found, name):
    one = one_of(found, name)
    source, target = lecture_systems.full_batch(3, TINY, 0, "cpu")
    loss, count = one.objective(source, target)
    assert count == 3 * (TINY.max_tokens - 1) and loss.requires_grad
    written = systems.write_in_evaluation(one)(source)
    assert [len(sentence) for sentence in written] == [TINY.max_tokens - 1] * 3
    assert not one.model.training


@pytest.mark.parametrize("name", NAMES)
def test_every_system_has_the_same_sizes(found, name):
    shapes = [tuple(p.shape) for p in one_of(found, name).model.parameters()]
    assert (TINY.vocab, TINY.d_model) in shapes
    assert any(TINY.d_ff in shape or TINY.d_ff * TINY.max_tokens in shape for shape in shapes)
    norms = sum(shape == (TINY.d_model,) for shape in shapes)
    assert norms >= 2 * 2 * TINY.layers + 2 * 3 * TINY.layers  # gain and bias of each block's norms


def test_word_vectors_are_trained_except_in_the_lecture_s_dlstudio(found):
    for name in (OLD, LATER, FIXED):
        tables = [found[name].model.embed_source, found[name].model.embed_target]
        trained = [p.requires_grad for table in tables for p in table.parameters()]
        assert trained == [name == FIXED] * 2


def test_full_size_is_that_of_the_lecture():
    with torch.device("meta"):
        model = lecture_systems.dlstudio_system(lecture_systems.SIZES, lecture_systems.VERSIONS[OLD]).model
    counts = [sum(p.numel() for p in part.parameters()) for part in (model.encoder, model.decoder)]
    assert counts == [124_583_936, 149_886_015]
    assert model.config.d_ff == lecture_systems.SIZES.d_ff


def test_what_writes_by_recomputing_writes_what_it_predicts(found):
    """The same as one pass over all that was written, for the systems that mask the future in evaluation."""
    source, _ = lecture_systems.full_batch(3, TINY, 0, "cpu")
    for name in (OURS, TORCH, EINSUM):
        one = found[name]
        written = torch.tensor([list(map(int, row)) for row in systems.write_in_evaluation(one)(source)])
        start = torch.full((3, 1), BOS)
        with torch.no_grad():
            again = one.model(source, torch.cat([start, written[:, :-1]], dim=1)).argmax(-1)
        assert torch.equal(again, written), name


def test_the_aim_names_dlstudio_and_without_d2l_the_rest_is_measured(monkeypatch):
    monkeypatch.setattr(d2l_rival, "absent", lambda: "d2l not installed")
    first, *others = systems.systems(SHORT)
    assert first.aim == 25 and first.against == (OLD,) and first.first == systems.OURS_BF16
    assert "d2l is left out: d2l not installed" in first.notes
    assert {*NAMES, systems.OURS_BF16} - {D2L} == set(first.seconds)
    assert [other.first for other in others] == [OURS] * 2
    assert [set(other.seconds) for other in others] == [set(NAMES) - {D2L}] * 2


def test_positions_are_counted_alike(found):
    comparison = systems.training(found, replace(TINY, batch=3), SHORT)
    amounts = {tuple(amounts) for amounts in comparison.amounts.values()}
    assert amounts == {(18.0, 18.0)} or amounts == {(18, 18)}
