"""Constraints: as in `transformers` and as their papers say, in greedy decoding, sampling and beam search."""

import math

import pytest
import torch
from helpers.random_weights import randomized

from course_lib.generation import (
    beam_search,
    force_prefix,
    greedy_decode,
    min_length,
    no_repeat_ngram,
    repetition_penalty,
    sample,
    suppress,
)
from course_lib.generation.constraints import token_ids
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.pretrained.gpt2 import to_hugging_face
from course_lib.utils.ranges import check_whole

VOCAB, END = 11, 2


@pytest.fixture
def scores(device):
    return 3 * torch.randn(6, VOCAB, generator=torch.Generator().manual_seed(1)).to(device)


@pytest.fixture
def ids(device):
    return torch.randint(VOCAB, (6, 40), generator=torch.Generator().manual_seed(2)).to(device)


@pytest.fixture
def model(device):
    sizes = {"d_model": 16, "heads": 2, "layers": 2, "max_tokens": 30}
    torch.manual_seed(0)
    return randomized(GPT(GPTConfig(vocab=VOCAB, **sizes)), device, scale=0.4)


@pytest.fixture
def start(device):
    return torch.tensor([[3, 4], [5, 6], [7, 7], [9, 1]], device=device)


def theirs(name, *arguments):
    from transformers.generation import logits_process

    return getattr(logits_process, name)(*arguments)


@pytest.mark.parametrize("penalty", [0.5, 1.0, 1.3])
def test_repetition_penalty(penalty, ids, scores):
    ours = repetition_penalty(penalty)(ids[:, :7], 3, scores)
    assert ours.equal(theirs("RepetitionPenaltyLogitsProcessor", penalty)(ids[:, :7], scores))
    for row in range(6):
        for token, score in enumerate(scores[row].tolist()):
            seen = token in ids[row, :7].tolist()
            expected = score if not seen else score / penalty if score > 0 else score * penalty
            assert ours[row, token].item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("tokens", [0, 1, 2, 3, 40])
def test_no_ngram_is_completed_twice(n, tokens, ids, scores):
    text = ids[:, :tokens]
    banned = no_repeat_ngram(n)(text, 0, scores) == -math.inf
    for row, read in enumerate(text.tolist()):
        seen = {tuple(read[i : i + n]) for i in range(tokens - n + 1)}
        last = read[len(read) - n + 1 :]
        expected = [tokens >= n - 1 and (*last, token) in seen for token in range(VOCAB)]
        assert banned[row].tolist() == expected
    if tokens:
        assert banned.equal(theirs("NoRepeatNGramLogitsProcessor", n)(text, scores) == -math.inf)


def test_minimum_length_suppression_and_prefix(ids, scores):
    for new in range(4):
        ours = min_length(2, [END, 5])(ids, new, scores)
        ends = torch.tensor([END, 5], device=ids.device)
        reference = theirs("MinNewTokensLengthLogitsProcessor", 40 - new, 2, ends)
        assert ours.equal(reference(ids, scores.clone()))
        forced = force_prefix([4, 7])(ids, new, scores)
        assert (forced > -math.inf).sum(dim=1).tolist() == ([1] * 6 if new < 2 else [VOCAB] * 6)
        assert new >= 2 or forced[:, [4, 7][new]].equal(scores[:, [4, 7][new]])
    assert suppress({0, 9})(ids, 0, scores).equal(
        theirs("SuppressTokensLogitsProcessor", [0, 9])(ids, scores)
    )
    assert suppress(None)(ids, 0, scores).equal(scores)


CASES = [
    ({"no_repeat_ngram_size": 2}, [no_repeat_ngram(2)]),
    ({"repetition_penalty": 1.4}, [repetition_penalty(1.4)]),
    ({"min_new_tokens": 5}, [min_length(5, END)]),
    ({"suppress_tokens": [3, 8]}, [suppress([3, 8])]),
    (
        {"repetition_penalty": 0.8, "no_repeat_ngram_size": 3, "min_new_tokens": 4},
        [repetition_penalty(0.8), no_repeat_ngram(3), min_length(4, END)],
    ),
]


@pytest.mark.parametrize(("settings", "constraints"), CASES, ids=lambda case: str(case)[:40])
def test_texts_are_those_of_transformers(settings, constraints, model, start):
    settings |= {"attention_mask": torch.ones_like(start), "do_sample": False, "max_new_tokens": 9}
    settings |= {"eos_token_id": END, "pad_token_id": END}  # the end pads: all after the first is cut
    reference = to_hugging_face(model)

    def texts(**beams):
        found = reference.generate(start, **settings, **beams)[:, 2:].tolist()
        return [text[: text.index(END)] if END in text else text for text in found]

    assert greedy_decode(model.generator(), start, END, 9, constraints) == texts()
    for power in (0.0, 1.0):
        found = beam_search(model.generator(), start, END, 9, 3, power, constraints=constraints)
        assert [h[0].ids for h in found] == texts(num_beams=3, length_penalty=power)


def test_every_way_of_decoding_obeys(model, start):
    """The constraints may come from an iterator, which ends after one use."""
    constraints = [force_prefix([5, 8]), no_repeat_ngram(1), min_length(6, END), suppress([0])]
    start = start[[0, 2, 3]]  # prompts without a 5 or an 8
    for way in (greedy_decode, sample, beam_search):
        found = way(model.generator(), start, END, 7, constraints=iter(constraints))
        texts = [row[0].ids for row in found] if way is beam_search else found
        for prompt, text in zip(start.tolist(), texts, strict=True):
            assert text[:2] == [5, 8] and len(text) >= 6 and 0 not in text
            assert len({*prompt, *text}) == len({*prompt}) + len(text)


def test_a_forced_prefix_counts_with_the_model_s_probability(model, start):
    """The same continuation as after a longer prompt; the log-probability is that of the whole text."""
    longer = torch.cat([start, start.new_tensor([[5, 8]]).expand(4, -1)], dim=1)
    forced = greedy_decode(model.generator(), start, END, 9, [force_prefix([5, 8])])
    assert forced == [[5, 8, *text] for text in greedy_decode(model.generator(), longer, END, 7)]
    for row, hypotheses in enumerate(
        beam_search(model.generator(), start, None, 6, 2, constraints=[force_prefix([5, 8])])
    ):
        for found in hypotheses:
            whole = torch.tensor([[*start[row].tolist(), *found.ids]], device=start.device)
            log_probs = model(whole)[0, 1:-1].log_softmax(-1)
            total = log_probs[range(6), found.ids].sum().item()
            assert found.log_probability == pytest.approx(total, abs=1e-4)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: repetition_penalty(0.0), "penalty=0"),
        (lambda: repetition_penalty(-1.0), "penalty=-1"),
        (lambda: repetition_penalty(math.nan), "penalty=nan"),
        (lambda: repetition_penalty(math.inf), "penalty=inf"),
        (lambda: no_repeat_ngram(0), "n=0"),
        (lambda: check_whole(1, n=1.5), "n=1.5"),
        (lambda: check_whole(1, n=True), "n=True"),
        (lambda: min_length(-1, END), "tokens=-1"),
        (lambda: suppress([-1]), r"tokens=\[-1\]"),
        (lambda: token_ids("end", "12"), "end='12'"),
        (lambda: token_ids("end", ""), "end=''"),
        (lambda: token_ids("end", [1, "2"]), r"end=\[1, '2'\]"),
        (lambda: token_ids("end", 2.0), "end=2.0"),
        (lambda: token_ids("end", True), "end=True"),
        (lambda: token_ids("end", [[2]]), r"end=\[\[2\]\]"),
    ],
)
def test_refusal_names_the_setting(made, message):
    with pytest.raises(ValueError, match=message):
        made()


@pytest.mark.parametrize("constraint", [suppress(range(VOCAB)), force_prefix([99])], ids=["all", "unknown"])
def test_where_nothing_is_left_nothing_is_written(constraint, model, start):
    for decode in (greedy_decode, sample, beam_search):
        with pytest.raises(ValueError, match="leave no token"):
            decode(model.generator(), start, END, 4, constraints=[constraint])


def test_what_has_ended_needs_no_token():
    """A finished row stays in the batch of compiled code; that its constraints leave nothing is no error."""

    class Table:
        static_batch = True

        def read(self, ids):
            return torch.eye(VOCAB)[[END, 4]]

        def select(self, rows):
            raise AssertionError("the batch keeps its rows")

    def only_once(ids, new, scores):
        return scores.masked_fill((ids == END).any(dim=1, keepdim=True), -math.inf)

    assert greedy_decode(Table(), torch.tensor([[1], [1]]), END, 3, [only_once]) == [[], [4, 4, 4]]
